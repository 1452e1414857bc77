"""Sources of raw files: the `download` stage and its settings."""
