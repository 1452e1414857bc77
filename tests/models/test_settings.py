"""A model whose heads cannot be rotated as its positions ask is refused before anything is built."""

import math
from collections.abc import Callable

import pytest
from pydantic import ValidationError

from serrm.models.settings import SeRrmSettings


@pytest.mark.parametrize(
    ("positions", "head_dim", "divisor"),
    [("rope", 7, 2), ("rope2d", 6, 4), ("rope2d_boxes", 12, 8), ("rope2d_in_boxes", 24, 16)],
)
def test_a_head_that_does_not_split_is_a_settings_error(
    make_settings: Callable[..., SeRrmSettings], positions: str, head_dim: int, divisor: int
) -> None:
    with pytest.raises(ValidationError, match=f"positions: {positions} needs heads divisible by {divisor}"):
        make_settings(positions=positions, head_dim=head_dim)


def test_a_standard_length_scales_scores_of_other_lengths(
    make_settings: Callable[..., SeRrmSettings],
) -> None:
    scales = [make_settings(standard_length=81).score_scale(num) for num in (16, 81, 256)]
    assert scales == pytest.approx([4 * math.log(2) / math.log(81), 1.0, 8 * math.log(2) / math.log(81)])
    assert make_settings().score_scale(16) == 1.0
    assert make_settings(standard_length=81, positions="none").score_scale(256) == scales[2]
    with pytest.raises(ValidationError, match="standard_length"):
        make_settings(standard_length=1)
