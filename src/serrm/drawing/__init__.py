"""Pictures of puzzles, answers and predictions.

Tokens become `panels`, which say what is to be seen; `grids` and `picture` draw them as SVG, `terminal` in characters.
"""
