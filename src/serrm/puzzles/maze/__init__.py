"""Mazes on a square grid: tokens and text, paths and their validity, the format of the publisher, a generator."""
