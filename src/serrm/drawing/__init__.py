"""Pictures of puzzles, answers and predictions.

Files of puzzles become `scenes`, tokens become panels (`puzzles`), and `svg` and `terminal` draw panels.
"""
