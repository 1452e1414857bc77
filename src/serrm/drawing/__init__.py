"""Pictures of puzzles, answers and predictions.

`panels` turns tokens into panels, which hold the content of each cell, and draws them as SVG and PNG; `terminal` draws
them as text; `scenes` says what to draw for a puzzle or a stored prediction.
"""
