"""Object code on disk is used where it is right, and never fails or harms where it is not."""

import ctypes
import os
import random

import pytest

pytest.importorskip("llvmlite")

from functier._programs.machine.compiler import cache, engine
from support.basics import in_threads

pytestmark = pytest.mark.inside("Files of the cache are damaged.")

TEXT = "define i64 @f(i64 %x) nounwind { %y = mul i64 %x, NUMBER\n ret i64 %y }"
HOST = engine.host()


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """A folder for the cache; what the process has counted so far does not matter."""
    monkeypatch.setattr(cache, "COUNT", [1])
    monkeypatch.setenv("FUNCTIER_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


def load(number=3, opt=0):
    """Return a library, which is right."""
    library = engine.load(TEXT.replace("NUMBER", str(number)), ["f"], opt=opt)
    assert ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(library["f"])(5) == 5 * number
    return library


def test_the_second_load_comes_from_the_disk(folder):
    assert not load().cached
    assert load().cached
    assert not load(4).cached and not load(opt=1).cached
    assert load(4).cached and load(opt=1).cached
    names = sorted(os.listdir(folder))
    assert len(names) == 3 and all(name.endswith(cache.SUFFIX) for name in names)


TRIPLE, CPU, FEATURES = HOST
OTHERS = [
    (TRIPLE, "generic", FEATURES), (TRIPLE, CPU, FEATURES.rpartition(",")[0]),
    (f"{TRIPLE}-other", CPU, FEATURES),
]  # fmt: skip


@pytest.mark.parametrize("host", OTHERS)
def test_code_of_another_processor_is_not_run(monkeypatch, folder, host):
    with monkeypatch.context() as patch:
        patch.setattr(engine, "host", lambda: host)
        other = cache.key_of(TEXT.replace("NUMBER", "3"), engine.identity(0))
        cache.write(other, b"code that this processor does not have")
        assert cache.read(other)
    assert not load().cached  # another name
    own = cache.key_of(TEXT.replace("NUMBER", "3"), engine.identity(0))
    os.replace(folder / f"{other}{cache.SUFFIX}", folder / f"{own}{cache.SUFFIX}")
    assert not load().cached  # under the name of ours
    assert load().cached


@pytest.mark.parametrize("version", ["llvmlite", "llvm", "numpy"])
def test_code_of_another_version_is_not_run(monkeypatch, version):
    load()
    place, name = {
        "llvmlite": (engine.llvmlite, "__version__"), "numpy": (engine.np, "__version__"),
        "llvm": (engine.llvm, "llvm_version_info"),
    }[version]  # fmt: skip
    monkeypatch.setattr(place, name, "0.1")
    assert not load().cached


@pytest.mark.skipif(not hasattr(os, "getuid"), reason="no users with numbers")
def test_code_of_another_user_is_not_run(monkeypatch):
    load()
    monkeypatch.setattr(cache.os, "getuid", lambda: 12345)
    assert load().cached is (os.stat(cache.folder()).st_uid == 0)
    monkeypatch.setattr(cache, "is_own", lambda state: False)
    assert not load().cached


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="no pipes, nor bits for modes")
def test_what_others_may_write_to_is_not_run_and_a_pipe_is_not_waited_for(folder):
    load()
    (file,) = folder.iterdir()
    for place, own in ((file, 0o600), (folder, 0o700)):
        for bit in (0o020, 0o002):
            place.chmod(own | bit)
            assert not load().cached
            place.chmod(own)
            assert load().cached
    key = file.stem
    file.unlink()
    os.mkfifo(file)
    assert cache.read(key) is None
    assert not load().cached and load().cached  # which a file has replaced


def spoiled(contents, rng):
    """Return other contents of a file."""
    how = rng.randrange(4)
    if how == 0:
        return contents[: rng.randrange(len(contents))]
    if how == 1:
        place = rng.randrange(len(contents))
        return (
            contents[:place]
            + bytes([contents[place] ^ (1 << rng.randrange(8))])
            + contents[place + 1 :]
        )
    if how == 2:
        return contents + rng.randbytes(1 + rng.randrange(9))
    return rng.randbytes(rng.randrange(400))


def harm(folder, count):
    """Spoil a file again and again; return how often it was used all the same."""
    rng = random.Random(2)
    load()
    (path,) = folder.iterdir()
    contents = path.read_bytes()
    key, used = path.stem, 0
    for _ in range(count):
        path.write_bytes(spoiled(contents, rng))
        used += cache.read(key) is not None
    return used


def test_spoiled_files_are_ignored_and_written_again(folder, monkeypatch):
    assert harm(folder, 120) == 0
    assert not load().cached and load().cached
    (path,) = folder.iterdir()
    path.unlink()
    path.mkdir()  # even this
    assert not load().cached and not load().cached

    path.rmdir()
    with monkeypatch.context() as patch:  # the fault that this has to find
        patch.setattr(cache, "hash_of", lambda code: b"\0" * 32)
        assert harm(folder, 40) > 0


def test_code_that_llvm_does_not_take_is_written_again():
    key = cache.key_of(TEXT.replace("NUMBER", "3"), engine.identity(0))
    cache.write(key, b"no object")
    assert not load().cached
    assert load().cached


@pytest.mark.parametrize("failing", ["mkstemp", "replace", "mkdir", "utime", "folder", "scandir"])
def test_a_disk_that_fails_is_no_error(monkeypatch, tmp_path, failing):
    def fail(*args, **kwargs):
        raise PermissionError("read-only")

    load(9)
    monkeypatch.setattr(cache, "COUNT", [0])
    if failing == "folder":
        (tmp_path / "file").write_text("")
        monkeypatch.setenv("FUNCTIER_CACHE", str(tmp_path / "file" / "cache"))
    elif failing == "mkdir":
        monkeypatch.setattr(cache.Path, "mkdir", fail)
    else:
        monkeypatch.setattr(cache.tempfile if failing == "mkstemp" else cache.os, failing, fail)
    load(9)
    stored = failing in ("utime", "scandir")
    assert not load().cached
    assert load().cached is stored
    left = os.listdir(tmp_path / "cache")
    assert not [name for name in left if not name.endswith(cache.SUFFIX)]


def test_the_variable_moves_it_and_switches_it_off(monkeypatch, tmp_path):
    monkeypatch.setenv("FUNCTIER_CACHE", "0")
    assert cache.folder() is None
    load()
    assert not load().cached
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    for name in ("XDG_CACHE_HOME", "LOCALAPPDATA"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.delenv("FUNCTIER_CACHE")
    for platform, path in (
        ("linux", ".cache/functier/machine"), ("darwin", "Library/Caches/functier/machine"),
        ("win32", "AppData/Local/functier/machine"),
    ):  # fmt: skip
        monkeypatch.setattr(cache.sys, "platform", platform)
        monkeypatch.setattr(cache.Path, "home", lambda: tmp_path / "home")
        assert cache.folder() == tmp_path / "home" / path
    monkeypatch.setattr(cache.sys, "platform", "linux")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache.folder() == tmp_path / "xdg" / "functier" / "machine"
    monkeypatch.setenv("FUNCTIER_CACHE", "")
    assert cache.folder() == tmp_path / "xdg" / "functier" / "machine"
    with monkeypatch.context() as patch:
        patch.delenv("XDG_CACHE_HOME")
        patch.setattr(cache.Path, "home", nobody)
        assert cache.folder() is None


def nobody():
    raise RuntimeError("Could not determine home directory.")


def test_many_writers_at_one_time(folder):
    code = [bytes([number]) * 5000 for number in range(8)]
    key = cache.key_of("text", ["x"])

    def work(own):
        for _ in range(20):
            cache.write(key, own)
            found = cache.read(key)
            # On Windows a file that is read cannot be replaced: then there is an older one.
            assert found in code or (found is None and os.name == "nt")

    in_threads(work, code)
    assert cache.read(key) in code
    assert [path.suffix for path in folder.iterdir()] == [cache.SUFFIX]


def test_the_files_used_longest_ago_are_dropped(folder, monkeypatch):
    keys = [cache.key_of(str(number), ["x"]) for number in range(10)]
    for age, key in enumerate(keys):
        cache.write(key, b"x" * 1000)
        os.utime(folder / f"{key}{cache.SUFFIX}", (age, age))  # seconds of 1970
    (folder / "mine.txt").write_text("x" * 10**5)  # a file of somebody else
    assert cache.read(keys[0])  # it is used now
    cache.shrink(folder, 10**6)
    assert all(map(cache.read, keys[3:4]))
    cache.shrink(folder, 6000)
    kept = [key for key in keys if (folder / f"{key}{cache.SUFFIX}").exists()]
    assert keys[0] in kept and keys[1] not in kept and keys[9] in kept
    assert 3 <= len(kept) <= 5
    assert (folder / "mine.txt").exists()
    monkeypatch.setattr(cache, "MOST", 2000)
    monkeypatch.setattr(cache, "COUNT", [cache.WRITES * 7])
    cache.write(keys[1], b"y" * 1000)
    assert len(list(folder.glob(f"*{cache.SUFFIX}"))) == 1


def test_a_program_from_the_disk_is_not_read_by_the_compiler(monkeypatch):
    def refuse(*args):
        raise AssertionError

    load()
    monkeypatch.setattr(engine.llvm, "parse_assembly", refuse)
    monkeypatch.setattr(engine, "compile_object", refuse)
    assert load().cached
