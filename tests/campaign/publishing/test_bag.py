"""Bags of BagIt 1.0: what is written, and that every damaged, missing or extra file is named."""

from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from cranfield.campaign.publishing.bag import MANIFEST, TAG_MANIFEST, validate_bag, write_bag

FILES = {
    "data/a.txt": b"a\n",
    "data/deep/er/b.bin": bytes(range(256)),
    "data/empty": b"",
    "data/fünf 100%.txt": b"5",
}


def made(folder: Path, files: dict[str, bytes] = FILES) -> Path:
    for name, content in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(content)
    write_bag(folder, {"Source-Organization": "Somebody", "External-Description": "a\nX: b"})
    return folder


def tag_again(bag: Path) -> None:
    """Write the tag manifest of the tag files as they are."""
    hashes = {
        name: hashlib.sha256((bag / name).read_bytes()).hexdigest()
        for name in ("bag-info.txt", "bagit.txt", MANIFEST)
    }
    (bag / TAG_MANIFEST).write_text("".join(f"{sha}  {name}\n" for name, sha in hashes.items()))


@pytest.fixture
def bag(tmp_path: Path) -> Path:
    return made(tmp_path / "bag")


def test_what_is_written(bag: Path) -> None:
    """By hand, from RFC 8493."""
    assert (bag / "bagit.txt").read_bytes() == (
        b"BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
    )
    assert (bag / "bag-info.txt").read_text("utf-8").splitlines() == [
        "Source-Organization: Somebody",
        "External-Description: a X: b",
        "Payload-Oxum: 259.4",
    ]
    named = {name.replace("%", "%25"): content for name, content in FILES.items()}
    assert (bag / MANIFEST).read_text("utf-8") == "".join(
        f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in named.items()
    )
    assert [line.split()[1] for line in (bag / TAG_MANIFEST).read_text().splitlines()] == [
        *("bag-info.txt", "bagit.txt", MANIFEST)
    ]
    assert validate_bag(bag) == []


def test_a_flipped_bit_in_any_file_and_each_missing_file_are_named(bag: Path) -> None:
    """Hexadecimal digits may be capitals: those bits of the tag manifest are not looked at."""
    for path in sorted(path for path in bag.rglob("*") if path.is_file()):
        name, content = path.relative_to(bag).as_posix(), path.read_bytes()
        for place in range(0, len(content), max(1, len(content) // 50)):
            path.write_bytes(content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :])
            found = validate_bag(bag)
            if name == TAG_MANIFEST:
                assert found
            else:
                assert any(line.startswith(f"{name}: ") for line in found), (name, place, found)
        path.unlink()
        assert f"{name}: is missing" in validate_bag(bag)
        path.write_bytes(content)
    assert validate_bag(bag) == []


@pytest.mark.parametrize("name", ["data/extra", "extra.txt", "data/deep/x\ny", "tag/a"])
def test_extra_files_are_named(bag: Path, name: str) -> None:
    (bag / name).parent.mkdir(exist_ok=True)
    (bag / name).write_text("new")
    [found] = validate_bag(bag)
    assert "is not listed in a manifest" in found
    assert "\n" not in found


def test_links_are_no_files(bag: Path) -> None:
    (bag / "data/a.txt").rename(bag.parent / "a.txt")
    (bag / "data/a.txt").symlink_to(bag.parent / "a.txt")
    assert validate_bag(bag) == ["data/a.txt: is not a regular file"]


@pytest.mark.parametrize("name", [MANIFEST, TAG_MANIFEST])
def test_a_manifest_outside_the_bag_is_not_read(bag: Path, name: str) -> None:
    (bag / name).rename(bag.parent / name)
    (bag.parent / name).write_text("nonsense")
    (bag / name).symlink_to(bag.parent / name)
    found = [line for line in validate_bag(bag) if line.startswith(f"{name}: ")]
    assert found == [f"{name}: is not a regular file"]


@pytest.mark.parametrize(
    "line",
    [
        "nonsense",
        f"{'0' * 64}  ../outside",
        f"{'0' * 64}  data/../../outside",
        f"{'0' * 64}  /etc/passwd",
        f"{'0' * 64}  bagit.txt",
        f"{'0' * 63}  data/a.txt",
    ],
)
def test_lines_that_do_not_belong_in_the_manifest(bag: Path, line: str) -> None:
    with (bag / MANIFEST).open("a") as file:
        file.write(line + "\n")
    tag_again(bag)
    [found] = validate_bag(bag)
    assert found.startswith(f"{MANIFEST}: ")


def test_the_size_of_the_payload_is_compared(bag: Path) -> None:
    """A file taken out of folder and manifest alike is told by the Payload-Oxum."""
    (bag / "data/a.txt").unlink()
    kept = (bag / MANIFEST).read_text("utf-8").splitlines(keepends=True)[1:]
    (bag / MANIFEST).write_text("".join(kept), "utf-8")
    tag_again(bag)
    assert validate_bag(bag) == [
        "bag-info.txt: Payload-Oxum (bytes.files) is 259.4, but the payload has 257.3"
    ]


def test_the_same_payload_gives_the_same_bytes(tmp_path: Path) -> None:
    first, second = made(tmp_path / "a"), made(tmp_path / "b", dict(reversed(FILES.items())))
    for name in ("bagit.txt", "bag-info.txt", MANIFEST, TAG_MANIFEST):
        assert (first / name).read_bytes() == (second / name).read_bytes()


NAMES = st.text(
    st.characters(exclude_characters="/\\\0", exclude_categories=["Cs"]), min_size=1, max_size=12
).filter(lambda name: name.strip(". ") != "")


@settings(max_examples=30, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.dictionaries(NAMES, st.binary(max_size=30), max_size=4))
def test_any_names_and_contents_are_valid(
    tmp_path_factory: pytest.TempPathFactory, files: dict[str, bytes]
) -> None:
    folder = tmp_path_factory.mktemp("bag")
    (folder / "data").mkdir()
    made(folder, {f"data/{name}": content for name, content in files.items()})
    assert validate_bag(folder) == []
