"""Where the raw files come from: the `download` stage and its settings."""
