"""Comparisons of results: between revisions, and over all committed profiles. No stage imports this package.

- `revisions` reads the scores of a commit or experiment, `changes` finds the settings that differ, and `comparison`,
  `seeds` (spread over seeds), `sweeps` (experiments as a table) and `frame` (a pandas table) use these.
- Over several profiles: `overview`, with the pictures of `hard_sudoku`, `costs` and `symmetry`.
"""
