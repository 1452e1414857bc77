"""The positional encodings by name.

A custom one is a separate module and an entry here, so that adding it trains no other run again
(docs/decisions/021-code-by-hash.md). Nothing here imports torch.
"""

from typing import Final

from serrm.core.entries import Entries
from serrm.models.angles import (
    no_angles,
    rope,
    rope2d,
    rope2d_boxes,
    rope2d_in_boxes,
    rope2d_linear,
    rope2d_odd,
)
from serrm.models.learned import learned
from serrm.models.positional_encoding import PositionalEncoding

# The number divides the features of a head: two for each coordinate, as features turn in pairs. With 16 in place of 8
# every head of `rope2d_in_boxes` tells apart the rows and columns of boxes up to 5×5, which 25×25 has.
# With "rope" HRM and TRM rotate the prefix too; with all others they do not. The encodings after "none" are extensions.
POSITIONS: Final = Entries[PositionalEncoding](
    {
        "rope": PositionalEncoding(rope, 2),
        "rope2d": PositionalEncoding(rope2d, 4),
        "none": PositionalEncoding(no_angles, 1),
        "rope2d_linear": PositionalEncoding(rope2d_linear, 4),
        "rope2d_odd": PositionalEncoding(rope2d_odd, 4),
        "rope2d_boxes": PositionalEncoding(rope2d_boxes, 8),
        "rope2d_in_boxes": PositionalEncoding(rope2d_in_boxes, 16),
        "learned": PositionalEncoding(learned=learned),
    }
)
