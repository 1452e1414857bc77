"""Mazes on a square grid: tokens and text, paths and their validity, the publisher's format, and a generator."""

from serrm.puzzles.maze.generate import generate_mazes, iterate_mazes
from serrm.puzzles.maze.grid import GOAL, PATH, SPACE, START, WALL, format_maze, parse_maze
from serrm.puzzles.maze.parse import MazePuzzle, read_csv, write_csv
from serrm.puzzles.maze.paths import (
    are_shortest_paths,
    are_valid_paths,
    has_unique_shortest_path,
    is_shortest_path,
    is_valid_path,
    shortest_length,
    shortest_path,
)

__all__ = [
    "GOAL",
    "PATH",
    "SPACE",
    "START",
    "WALL",
    "MazePuzzle",
    "are_shortest_paths",
    "are_valid_paths",
    "format_maze",
    "generate_mazes",
    "has_unique_shortest_path",
    "is_shortest_path",
    "is_valid_path",
    "iterate_mazes",
    "parse_maze",
    "read_csv",
    "shortest_length",
    "shortest_path",
    "write_csv",
]
