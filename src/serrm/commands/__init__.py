"""The commands of `serrm` that are more than a few lines, one a module; `serrm.cli` registers them."""
