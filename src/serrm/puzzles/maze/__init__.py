"""Mazes: rules, text, sources; their record."""
