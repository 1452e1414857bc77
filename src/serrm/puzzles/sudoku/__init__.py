"""Sudoku of any box shape: grids and rules, file formats, symmetries, exact solving, and a generator.

`solve` and `apply` are left in their modules, `serrm.puzzles.sudoku.solve` and `.symmetry`: here the one
would hide its module, and the other says too little.
"""

from serrm.puzzles.sudoku.generate import (
    all_solutions_4x4,
    generate_16x16,
    generate_puzzle,
    generate_puzzles,
    iterate_puzzles,
    random_solution,
)
from serrm.puzzles.sudoku.grid import (
    Box,
    are_consistent,
    are_solutions,
    box_for_side,
    is_consistent,
    is_solution,
    unit_indices,
)
from serrm.puzzles.sudoku.parse import (
    Puzzle,
    read_csv,
    read_json,
    read_lines,
    read_puzzles,
    read_tsv,
    write_csv,
)
from serrm.puzzles.sudoku.solve import count_solutions, has_unique_solution, is_satisfiable
from serrm.puzzles.sudoku.symmetry import (
    Symmetry,
    apply_parameters,
    compose,
    draw_symmetries,
    draw_symmetry,
    identity,
    inverse,
    num_uniforms,
    random_symmetry,
    symmetries_from_uniforms,
    symmetry_from_parameters,
)
from serrm.puzzles.sudoku.text import format_grid, parse_grid

__all__ = [
    "Box",
    "Puzzle",
    "Symmetry",
    "all_solutions_4x4",
    "apply_parameters",
    "are_consistent",
    "are_solutions",
    "box_for_side",
    "compose",
    "count_solutions",
    "draw_symmetries",
    "draw_symmetry",
    "format_grid",
    "generate_16x16",
    "generate_puzzle",
    "generate_puzzles",
    "has_unique_solution",
    "identity",
    "inverse",
    "is_consistent",
    "is_satisfiable",
    "is_solution",
    "iterate_puzzles",
    "num_uniforms",
    "parse_grid",
    "random_solution",
    "random_symmetry",
    "read_csv",
    "read_json",
    "read_lines",
    "read_puzzles",
    "read_tsv",
    "symmetries_from_uniforms",
    "symmetry_from_parameters",
    "unit_indices",
    "write_csv",
]
