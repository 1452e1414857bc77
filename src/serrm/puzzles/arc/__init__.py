"""ARC-AGI: puzzles of coloured grids, the published files, the canvas, colour symmetries, the leakage audit."""
