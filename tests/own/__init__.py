"""Modules that an owner of the project would add: each is copied into a project, with a line where it is listed."""
