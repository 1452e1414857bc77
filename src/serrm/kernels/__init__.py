"""Faster ways to the models' numbers."""
