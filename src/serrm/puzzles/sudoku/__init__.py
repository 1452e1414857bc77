"""Sudoku: rules, text, symmetries, exact solutions, sources; its record."""
