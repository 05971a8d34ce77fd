"""Headers of runs: found in all their forms, taken off, and their lines counted."""

from __future__ import annotations

import contextlib
import gzip
import time
from pathlib import Path

import pytest

import cranfield as cf
from cranfield.collection import read_metadata
from cranfield.collection.metadata.reading import find_header
from tests.collection.refusals import refuses

LINES = b"1 Q0 d1 1 2.0 a\n1 Q0 d2 2 1.0 a\n"
YAML = "tag: a\nactor:\n  team: padua\n"


def commented(prefix: str = "# ", end: str = "\n") -> bytes:
    lines = ["ir_metadata.start", *YAML.splitlines(), "ir_metadata.end"]
    return "".join(f"{prefix}{line}{end}" for line in lines).encode()


FORMS = {
    "comments": commented(),
    "comments without a blank": commented("#"),
    "bare, as tirex-tracker writes it": commented(""),
    "CR LF": commented(end="\r\n"),
    "CR LF, bare": commented("", "\r\n"),
    "blanks at the end": commented(end=" \n"),
    "a mark of UTF-8": b"\xef\xbb\xbf" + commented(),
    "a mark of UTF-8, bare": b"\xef\xbb\xbf" + commented(""),
    "after other comments": b"# made by hand\n\n" + commented(),
}


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("packed", [False, True])
def test_every_form_of_a_header_is_read(tmp_path: Path, form: str, packed: bool) -> None:
    header = FORMS[form]
    path = tmp_path / ("a.run.gz" if packed else "a.run")
    path.write_bytes(gzip.compress(header + LINES) if packed else header + LINES)
    run = cf.read_run(path)
    assert run.name == "a"
    assert run.origin.get_line(0) == header.count(b"\n") + 1
    assert run.metadata is not None
    assert run.metadata.values == {"tag": "a", "actor": {"team": "padua"}}
    assert run.metadata is run.metadata
    same = read_metadata(path)
    assert same is not None
    assert same.values == run.metadata.values


@pytest.mark.parametrize("lines", [LINES, b"1;0;d1;1;2.0;a\n1;0;d2;2;1.0;a\n"])
def test_the_description_of_a_run_of_ntcir(tmp_path: Path, lines: bytes) -> None:
    (tmp_path / "a.txt").write_bytes(b"<SYSDESC>BM25 & <b>more</b></SYSDESC>\n" + lines)
    run = cf.read_run(tmp_path / "a.txt")
    assert run.to_polars()["doc"].to_list() == ["d1", "d2"]
    assert run.origin.get_line(0) == 2
    assert run.metadata is not None
    assert run.metadata.values == {"description": "BM25 & <b>more</b>"}


def test_a_run_without_a_header_has_no_metadata(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_bytes(b"# a comment\n" + LINES)
    assert cf.read_run(tmp_path / "a.txt").metadata is None
    assert cf.read_run({"q": {"d": 1.0}}).metadata is None


@pytest.mark.parametrize(
    ("header", "message"),
    [
        (b"# ir_metadata.start\n# tag: a\n", ":1: expected ir_metadata.end after"),
        (b"\nir_metadata.start\ntag: a\n", ":2: expected ir_metadata.end after"),
        (
            b"# ir_metadata.start\ntag: a\n# ir_metadata.end\n",
            ":2: expected '#' at the start of each",
        ),
        (b"ir_metadata.start\n" + b"x" * (1 << 20) + b"\n", "got none within 1 MiB"),
        (b"<SYSDESC>\nword</SYSDESC>\n", ":1: expected </SYSDESC> in the line"),
    ],
)
def test_a_header_without_its_end_is_an_error(tmp_path: Path, header: bytes, message: str) -> None:
    (tmp_path / "a.run").write_bytes(header + LINES)
    with pytest.raises(cf.InputError) as error:
        cf.read_run(tmp_path / "a.run")
    assert message in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize(
    "start",
    [
        b" " * 60_000,
        b"# " + b" " * 60_000,
        b"\r" * 60_000,
        b" \n" * 30_000,
        b"#\n" * 30_000,
        b"ir_metadata.start\n" + b" " * 900_000 + b"x\n",
        b"ir_metadata.start\n" + b"#\n" * 400_000,
        b"# ir_metadata.start\n" + b"#" * 900_000 + b"\n",
        b"<SYSDESC>" + b"<" * 900_000,
    ],
)
def test_no_beginning_takes_long(start: bytes) -> None:
    begun = time.process_time()
    with contextlib.suppress(cf.InputError):
        assert find_header(start + LINES, "a.run") is None
    assert time.process_time() - begun < 1


def test_a_header_that_is_no_yaml_does_not_stop_the_reading_of_the_run(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_bytes(
        b"# ir_metadata.start\n# tag: a\n# b: [\n# ir_metadata.end\n" + LINES
    )
    run = cf.read_run(tmp_path / "a.run")
    refuses(r"a\.run:4: is not valid YAML", lambda: run.metadata)
    assert cf.read_run(tmp_path / "a.run", metadata=False).metadata is None


def test_files_beside_a_run(tmp_path: Path) -> None:
    (tmp_path / "a.run").write_bytes(LINES)
    (tmp_path / "ir-metadata.yml").write_text("actor: {team: shared}\n")

    def team(**options: object) -> object:
        metadata = cf.read_run(tmp_path / "a.run", **options).metadata  # type: ignore[arg-type]
        return None if metadata is None else metadata.get("actor.team")

    assert team() == "shared"
    (tmp_path / "ir-metadata.yml").write_text("tag: other\nactor: {team: shared}\n")
    assert team() is None
    (tmp_path / "ir-metadata.yml").write_text("tag: a\nactor: {team: shared}\n")
    assert team() == "shared"
    (tmp_path / "a.run.ir-metadata.yml").write_text("actor: {team: own}\n")
    assert team() == "own"
    (tmp_path / "named.yml").write_text("actor: {team: named}\n")
    assert team(metadata=tmp_path / "named.yml") == "named"
    (tmp_path / "a.run").write_bytes(commented() + LINES)
    assert team() == "padua"
    assert team(metadata=False) is None
    assert cf.read_run(tmp_path / "a.run").rename("b").metadata is not None


def header_at_the_beginning(path: Path) -> bytes:
    """Take the header as repro_eval does: comments up to the end mark, two characters cut off."""
    lines = path.read_text(encoding="utf-8").split("\n")
    end = lines.index("# ir_metadata.end")
    assert lines[0] == "# ir_metadata.start"
    return "".join(f"{line[2:]}\n" for line in lines[1:end]).encode()


@pytest.mark.parametrize("form", FORMS)
def test_a_header_is_written_back(tmp_path: Path, form: str) -> None:
    (tmp_path / "a.run").write_bytes(FORMS[form] + LINES)
    run = cf.read_run(tmp_path / "a.run")
    cf.write_run(run, tmp_path / "b.run", metadata=True)
    written = (tmp_path / "b.run").read_bytes()
    if "bare" not in form:
        header = FORMS[form].removeprefix(b"\xef\xbb\xbf")
        assert written.startswith(header.removeprefix(b"# made by hand\n\n"))
    else:
        assert header_at_the_beginning(tmp_path / "b.run").decode() == YAML
    again = cf.read_run(tmp_path / "b.run")
    assert again.to_polars().equals(run.to_polars())
    assert run.metadata is not None
    assert again.metadata is not None
    assert again.metadata.values == run.metadata.values
    cf.write_run(run, tmp_path / "c.run")
    assert (tmp_path / "c.run").read_bytes().startswith(b"1 Q0 d1")


def test_metadata_of_other_places_become_a_header(tmp_path: Path) -> None:
    text = "# of mine\ntag: 'a'\n\nmethod: {name: \u00e9}\n"
    (tmp_path / "a.run").write_bytes(LINES)
    (tmp_path / "ir-metadata.yml").write_text(text, encoding="utf-8")
    cf.write_run(cf.read_run(tmp_path / "a.run"), tmp_path / "b.run.gz", metadata=True)
    (tmp_path / "b.run").write_bytes(gzip.decompress((tmp_path / "b.run.gz").read_bytes()))
    assert header_at_the_beginning(tmp_path / "b.run").decode() == text
    (tmp_path / "ir-metadata.yml").write_text("a: |\n ir_metadata.end\nb: c\n")
    with pytest.raises(cf.InputError, match="contain the line 'ir_metadata.end'"):
        cf.write_run(cf.read_run(tmp_path / "a.run"), tmp_path / "c.run", metadata=True)
    assert not (tmp_path / "c.run").exists()
    (tmp_path / "n.txt").write_bytes(b"<SYSDESC>BM25: more</SYSDESC>\n" + LINES)
    cf.write_run(cf.read_run(tmp_path / "n.txt"), tmp_path / "d.run", metadata=True)
    about = cf.read_run(tmp_path / "d.run").metadata
    assert about is not None
    assert about.get("description") == "BM25: more"
