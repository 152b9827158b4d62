"""Files of object code: the names that one refers to, and archives of several."""

import struct
from collections.abc import Mapping

MEMORY = frozenset({"memcpy", "memmove", "memset", "memcmp", "bcmp"})
"""Functions of the runtime of every compiler, which copy memory."""


def symbols_of(code: bytes) -> tuple[set[str], set[str]]:
    """Return the names that object code in the format ELF defines for others, and those it needs.

    Raises
    ------
    ValueError
        If it has another format.
    """
    if code[:4] != b"\x7fELF" or code[5] != 1:
        raise ValueError(
            "this is not object code in the format ELF with the lowest byte of numbers first"
        )
    wide = code[4] == 2
    place, size, count = (
        (struct.unpack_from("<Q", code, 40)[0], *struct.unpack_from("<HH", code, 58)) if wide
        else (struct.unpack_from("<I", code, 32)[0], *struct.unpack_from("<HH", code, 46))
    )  # fmt: skip
    sections = []
    for i in range(count):
        at = place + i * size
        kind = struct.unpack_from("<I", code, at + 4)[0]
        if wide:
            offset, length, link = struct.unpack_from("<QQI", code, at + 24)
        else:
            offset, length, link = struct.unpack_from("<III", code, at + 16)
        sections.append((kind, offset, length, link))
    defined: set[str] = set()
    needed: set[str] = set()
    for kind, offset, length, link in sections:
        if kind != 2:  # a table of symbols
            continue
        names = sections[link][1]
        for at in range(offset, offset + length, 24 if wide else 16):
            start = names + struct.unpack_from("<I", code, at)[0]
            name = code[start : code.index(b"\0", start)].decode()
            info = code[at + (4 if wide else 12)]
            section = struct.unpack_from("<H", code, at + (6 if wide else 14))[0]
            if name and info >> 4:  # not of this file alone
                (defined if section else needed).add(name)
    return defined, needed


def archive(members: Mapping[str, bytes], names: Mapping[str, list[str]]) -> bytes:
    """Return a static library of some objects, with an index of the names that each defines."""
    table = b"".join([f"{name}/\n".encode() for name in members])
    table += b"\n" * (len(table) % 2)
    own = [(name, member) for member in members for name in names[member]]
    text = b"".join([f"{name}\0".encode() for name, _ in own])
    length = 4 + 4 * len(own) + len(text)
    start = 8 + 60 + length + length % 2 + 60 + len(table)
    places, after = {}, start
    for member, code in members.items():
        places[member] = after
        after += 60 + len(code) + len(code) % 2
    index = struct.pack(f">{len(own) + 1}I", len(own), *[places[member] for _, member in own])
    parts = [b"!<arch>\n", member_of("/", index + text), member_of("//", table)]
    offset = 0
    for member, code in members.items():
        parts.append(member_of(f"/{offset}", code))
        offset += len(member) + 2
    return b"".join(parts)


def member_of(name: str, contents: bytes) -> bytes:
    """Return a member of an archive: its time and owner are 0, so that equal ones are equal."""
    head = f"{name:<16}{0:<12}{0:<6}{0:<6}{'644':<8}{len(contents):<10}`\n"
    return head.encode() + contents + b"\n" * (len(contents) % 2)
