"""ARC-AGI: puzzles of coloured grids, the published files, the canvas, colour symmetries and the leakage audit.

`encode`, `decode`, `inverse` and the like are left in their modules: without those they would say too little.
"""

from serrm.puzzles.arc.grid import COLLECTIONS, MAX_SIDE, NUM_COLOURS, ArcPuzzle, Collection, Grid, Pair

__all__ = ["COLLECTIONS", "MAX_SIDE", "NUM_COLOURS", "ArcPuzzle", "Collection", "Grid", "Pair"]
