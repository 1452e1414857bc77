"""Pictures of puzzles, answers and predictions.

Tokens become `panels`, which say what is to be seen; `figure` and `terminal` draw them.
"""
