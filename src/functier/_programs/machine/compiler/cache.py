"""Object code, and other results of compilers, on disk: by the hash of all they depend on.

NOTE [files that are not trusted]
    A file begins with the hash of all that it was made of, and with one of its contents. One that
    is cut off, or of another version, processor or user, is not used, and is written again. Nor is
    one that others may write to, or that is no regular file, as a pipe, which would never end.
    Nothing here fails: where the disk cannot be read or written, programs are compiled each time.
"""

import hashlib
import os
import stat
import sys
import tempfile
from collections.abc import Iterable
from pathlib import Path

VARIABLE = "FUNCTIER_CACHE"
"""The environment variable with the folder; ``0`` switches the cache off."""

MOST = 256 * 2**20
"""The greatest number of bytes in the cache."""

MAGIC = b"functier object 1\n"
SUFFIX = ".functier"
WRITES = 64
"""After the first file of a process, and then after so many, the folder is looked at."""

COUNT = [0]


def default_folder() -> Path:
    """Return the folder for caches of this user's."""
    home = Path.home()
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or home / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = home / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or home / ".cache")
    return base / "functier" / "machine"


def folder() -> Path | None:
    """Return the folder of the cache; None where it is switched off."""
    given = os.environ.get(VARIABLE)
    if given == "0":
        return None
    try:
        return Path(given).expanduser() if given else default_folder()
    except RuntimeError:  # a user without a home
        return None


def key_of(text: str, identity: Iterable[str]) -> str:
    """Return the name of the object code of a text."""
    whole = "\0".join([*identity, text])
    return hashlib.blake2b(whole.encode(), digest_size=20).hexdigest()


def hash_of(code: bytes) -> bytes:
    return hashlib.blake2b(code, digest_size=32).digest()


def is_own(state: os.stat_result) -> bool:
    """Tell if nobody but this user and the system may have written a file: its code may run."""
    if not hasattr(os, "getuid"):
        return True
    return state.st_uid in (os.getuid(), 0) and not state.st_mode & (stat.S_IWGRP | stat.S_IWOTH)


READING = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0)


def contents_of(path: Path) -> bytes | None:
    """Return what a regular file of this user has; None for others, which are not waited for."""
    with open(os.open(path, READING), "rb") as file:
        state = os.fstat(file.fileno())
        return file.read() if stat.S_ISREG(state.st_mode) and is_own(state) else None


def read(key: str) -> bytes | None:
    """Return object code; None where there is none that is whole."""
    place = folder()
    if place is None:
        return None
    path = place / f"{key}{SUFFIX}"
    try:
        contents = contents_of(path) if is_own(os.stat(place)) else None
    except OSError:
        return None
    if contents is None:
        return None
    head = MAGIC + key.encode()
    code = contents[len(head) + 32 :]
    if contents[: len(head) + 32] != head + hash_of(code):
        return None
    try:
        os.utime(path)  # the oldest are dropped first
    except OSError:
        pass
    return code


def write(key: str, code: bytes) -> None:
    """Store object code, whole or not at all."""
    place = folder()
    if place is None:
        return
    temporary = ""
    try:
        place.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, temporary = tempfile.mkstemp(suffix=".part", dir=place)
        with os.fdopen(handle, "wb") as file:
            file.write(MAGIC + key.encode() + hash_of(code) + code)
        os.replace(temporary, place / f"{key}{SUFFIX}")
    except OSError:
        if temporary:
            try:
                os.unlink(temporary)
            except OSError:
                pass
        return
    if COUNT[0] % WRITES == 0:
        shrink(place)
    COUNT[0] += 1


def shrink(place: Path, most: int = 0) -> None:
    """Remove the files that were not used for longest, down to three quarters of `most`."""
    most = most or MOST
    found = []
    try:
        with os.scandir(place) as entries:
            for entry in entries:
                if entry.name.endswith((SUFFIX, ".part")):
                    state = entry.stat()
                    found.append((state.st_mtime, state.st_size, entry.path))
    except OSError:
        return
    total = sum([size for _, size, _ in found])
    if total <= most:
        return
    for _, size, path in sorted(found):
        try:
            os.unlink(path)
        except OSError:
            continue
        total -= size
        if total <= most * 3 // 4:
            return
