"""Walls of mazes without loops: a random spanning tree of rooms (Kruskal's algorithm); every way is the only one.

Rooms stand on the even rows and columns, one cell of wall or passage between neighbours; of an even side the last
row and column are walls. Used by the generator beside walls scattered at random.
"""

import numpy as np
from jaxtyping import Bool


def tree_cells(side: int, rng: np.random.Generator) -> Bool[np.ndarray, " I"]:
    """Which cells of a side × side maze are free: rooms and the passages of a random spanning tree, uniform order."""
    num = (side + 1) // 2
    rooms = np.arange(num**2).reshape(num, num)
    passages = [
        *zip(rooms[:, :-1].flat, rooms[:, 1:].flat, strict=True),
        *zip(rooms[:-1].flat, rooms[1:].flat, strict=True),
    ]
    is_free = np.zeros((side, side), dtype=bool)
    is_free[::2, ::2] = True
    leader = list(range(num**2))
    for number in rng.permutation(len(passages)):
        ends = [int(room) for room in passages[number]]
        first, second = (_leader(leader, room) for room in ends)
        if first != second:
            leader[first] = second
            # Twice the mean of two rooms' places: the cell between them.
            row, column = (sum(part) for part in zip(*(divmod(room, num) for room in ends), strict=True))
            is_free[row, column] = True
    cells: Bool[np.ndarray, " I"] = is_free.reshape(-1)
    return cells


def _leader(leader: list[int], room: int) -> int:
    """The room that stands for all that hang together with this one."""
    while leader[room] != room:
        leader[room] = leader[leader[room]]
        room = leader[room]
    return room
