"""Puzzles as users have them: one reader for files, standard input, arguments and Python values."""
