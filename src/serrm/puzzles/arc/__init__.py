"""ARC-AGI: grids, published files; its records."""
