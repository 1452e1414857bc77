"""Forecast and rehearsal of a profile, the code that each run uses (stage `hash_code`), and leftovers to prune."""
