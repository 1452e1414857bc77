"""Sudoku of any box shape: grids and rules, file formats, symmetries, exact solving, and a generator."""
