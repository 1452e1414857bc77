"""Replies outlive their run: a line is whole or cut off, and its key is the request and nothing else."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from serrm.asking.replies import Replies, request_key

REQUEST = {"model": "m", "messages": [{"role": "user", "content": "5 × 5"}], "temperature": 0.0}
RESPONSE = {"choices": [{"message": {"content": "\u2028 ü \ud83d\n"}}]}
VALUES = st.one_of(st.text(), st.integers(), st.booleans(), st.none(), st.floats(allow_nan=False))


def fill(path: Path, num: int) -> None:
    replies = Replies(path)
    for number in range(num):
        replies.put({**REQUEST, "seed": number}, {**RESPONSE, "number": number})
        assert json.loads(path.read_bytes().splitlines()[-1])["request"]["seed"] == number  # at once


def known(path: Path, num: int) -> list[Any]:
    replies = Replies(path)
    return [replies.get({**REQUEST, "seed": number}) for number in range(num)]


def test_what_was_put_is_there_in_the_next_run(tmp_path: Path) -> None:
    path = tmp_path / "new" / "replies.jsonl"
    fill(path, 3)
    assert known(path, 4) == [*({**RESPONSE, "number": number} for number in range(3)), None]


@settings(max_examples=30)
@given(st.dictionaries(st.text(), VALUES), st.dictionaries(st.text(), VALUES))
def test_the_key_is_the_content_of_the_request(one: dict[str, Any], other: dict[str, Any]) -> None:
    assert request_key(one) == request_key(dict(reversed(one.items())))
    is_same = json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
    assert (request_key(one) == request_key(other)) == is_same


@pytest.mark.parametrize("num_bytes", [1, 30, 200])
def test_an_unfinished_line_is_cut_off_and_the_file_goes_on(
    tmp_path: Path, num_bytes: int, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "replies.jsonl"
    fill(path, 3)
    path.write_bytes(path.read_bytes()[:-num_bytes])
    assert [reply is None for reply in known(path, 3)] == [False, False, True]
    assert "replies.jsonl:3: cut off an unfinished line" in caplog.text
    fill(path, 3)
    assert None not in known(path, 3)
    assert all(json.loads(line) for line in path.read_text().splitlines())


@pytest.mark.parametrize("line", ["nonsense", "[]", "3", "{}", '{"key": "a"}', '{"key": "a", "response": 3}'])
def test_a_damaged_line_is_an_error_that_names_it(tmp_path: Path, line: str) -> None:
    path = tmp_path / "replies.jsonl"
    fill(path, 1)
    content = path.read_text() + line + "\n"
    path.write_text(content)
    with pytest.raises(ValueError, match=r"replies\.jsonl:2: no reply of a language model"):
        known(path, 1)
    assert path.read_text() == content
