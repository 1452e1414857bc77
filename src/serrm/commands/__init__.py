"""The commands of `serrm` that are more than a few lines, one per module; `serrm.cli` registers them."""
