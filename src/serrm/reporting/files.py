"""A page of which a part is written anew."""


def between_markers(text: str, begin: str, end: str, content: str) -> str:
    """A page with `content` between its two markers. ValueError if they are not there once each, in their order."""
    if text.count(begin) != 1 or text.count(end) != 1 or text.index(begin) > text.index(end):
        raise ValueError(f"no place for the table: {begin} and {end} are to be there once, in this order")
    before, after = text[: text.index(begin)], text[text.index(end) :]
    return f"{before}{begin}\n{content}\n{after}"
