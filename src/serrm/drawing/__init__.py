"""Pictures of puzzles, answers and predictions.

Tokens become `panels`, which hold the content of each cell; `svg` and `terminal` draw them, `files` reads what to draw.
"""
