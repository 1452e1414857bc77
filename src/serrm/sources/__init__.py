"""Where the raw files come from: `fetch` is the way in, `settings` are its parameters, a module a source."""
