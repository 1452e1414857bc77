"""The positional encodings by name. A custom one is a module and an entry here. Nothing here imports torch."""

from typing import Final

from serrm.models.angles import boxes, evenly_spaced, in_boxes, no_angles, odd, rope, rope2d
from serrm.models.learned import learned
from serrm.models.positional import Positions

# Pairs turn for one, two or four coordinates. The encodings after "none" are extensions.
POSITIONS: Final = {
    "rope": Positions(rope, 2),
    "rope2d": Positions(rope2d, 4),
    "none": Positions(no_angles, 1),
    "rope2d_linear": Positions(evenly_spaced, 4),
    "rope2d_odd": Positions(odd, 4),
    "rope2d_boxes": Positions(boxes, 8),
    "rope2d_in_boxes": Positions(in_boxes, 16),
    "learned": Positions(learned=learned),
}
