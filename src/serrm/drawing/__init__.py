"""Pictures of puzzles, answers and predictions.

Tokens become `panels`, which say what stands in each cell; `svg` and `terminal` draw them, `files` reads what to draw.
"""
