"""Puzzles answered one by one, for `serrm solve`, and files of them scored."""
