"""Files are written whole or not at all."""

import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from serrm.core.files import new_file


def test_threads_that_write_one_file_at_once_leave_it_whole(tmp_path: Path) -> None:
    together = threading.Barrier(8)

    def write(text: str) -> None:
        with new_file(tmp_path / "file") as partial:
            partial.write_text(text)
            together.wait()

    texts = [str(number) * 10**5 for number in range(8)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(write, texts))
    assert (tmp_path / "file").read_text() in texts and len(list(tmp_path.iterdir())) == 1
