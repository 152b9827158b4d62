"""Tables of sources, a row each: the name, `` :: ``, and the lines, with `` // `` between them.

A tab stands for an indent, and a line that begins with four spaces goes on with the row above.
"""


def sources(table: str) -> dict[str, str]:
    """Return the sources of a table by their names."""
    rows = [row.split(" :: ") for row in table.strip().replace("\n    ", " ").split("\n")]
    return {name: "".join([f"{line}\n" for line in text.split(" // ")]) for name, text in rows}
