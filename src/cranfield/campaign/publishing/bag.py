"""Bags: folders with the checksums of all files, in the format BagIt 1.0 (RFC 8493)."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path, PurePosixPath

from cranfield.base.errors import quote
from cranfield.base.files import hash_file

DECLARATION = "BagIt-Version: 1.0\nTag-File-Character-Encoding: UTF-8\n"
PAYLOAD = "data"
MANIFEST, TAG_MANIFEST = "manifest-sha256.txt", "tagmanifest-sha256.txt"

_ESCAPES = {"%": "%25", "\r": "%0D", "\n": "%0A"}
_LINE = re.compile(r"([0-9a-f]{64})[ \t]+(.+)", re.IGNORECASE)
_OXUM = re.compile(r"^Payload-Oxum:[ \t]*(\d+)\.(\d+)[ \t]*$", re.MULTILINE | re.IGNORECASE)


def write_bag(folder: Path, info: Mapping[str, str]) -> str:
    """Turn a folder that contains only `data/` into a bag; return the SHA-256 of its tag manifest.

    `info` has the labels and values of `bag-info.txt`, in order; the size of the payload is added.
    No times are added, so that the same payload gives the same bytes.
    """
    payload = {name: folder / name for name in _list_files(folder)}
    size = sum(path.stat().st_size for path in payload.values())
    values = {**info, "Payload-Oxum": f"{size}.{len(payload)}"}
    # Each value is one line, so that no text can begin another label.
    lines = (f"{label}: {' '.join(value.split())}\n" for label, value in values.items())
    texts = {
        "bagit.txt": DECLARATION,
        "bag-info.txt": "".join(lines),
        MANIFEST: _format_manifest(payload),
    }
    for name, text in texts.items():
        (folder / name).write_bytes(text.encode())
    tag_manifest = _format_manifest({name: folder / name for name in texts})
    (folder / TAG_MANIFEST).write_bytes(tag_manifest.encode())
    return hash_file(folder / TAG_MANIFEST)


def validate_bag(folder: Path) -> list[str]:
    """Return the problems of a bag, one line per file, in order of path; empty for a valid bag.

    Every listed file must exist with its SHA-256; other files, except the tag manifest, must not.
    """
    problems: dict[str, str] = {}
    checksums: dict[str, str] = {}
    for name in (TAG_MANIFEST, MANIFEST):
        for path, sha256 in _read_manifest(folder / name, problems):
            is_payload = PurePosixPath(path).parts[:1] == (PAYLOAD,)
            if is_payload != (name == MANIFEST):
                other_name = TAG_MANIFEST if name == MANIFEST else MANIFEST
                problems[name] = f"lists {quote(path)}, which only {other_name} may list"
            elif path in checksums:
                problems[name] = f"lists {quote(path)} twice"
            else:
                checksums[path] = sha256
    files = set(_list_files(folder))
    for path in sorted(files | set(checksums)):
        file = folder / path
        if path not in files:
            problems[path] = "is missing"
        elif path not in checksums:
            if path != TAG_MANIFEST:
                problems[path] = "is not listed in a manifest"
        elif file.is_symlink() or not file.is_file():
            problems[path] = "is not a regular file"
        elif hash_file(file) != checksums[path]:
            problems[path] = "its SHA-256 differs from the manifest"
    _check_tag_files(folder, files, problems)
    names = {path: path if path.isprintable() else quote(path, 200) for path in problems}
    return [f"{names[path]}: {problems[path]}" for path in sorted(problems)]


def _check_tag_files(folder: Path, files: set[str], problems: dict[str, str]) -> None:
    """Check the declaration, and compare the size of the payload with the declared one, if any."""
    if "bagit.txt" not in files:
        problems["bagit.txt"] = "is missing"
    elif "bagit.txt" not in problems:
        text = (folder / "bagit.txt").read_bytes().replace(b"\r\n", b"\n")
        if text != DECLARATION.encode():
            problems["bagit.txt"] = "is not the declaration of BagIt 1.0 in UTF-8"
    if problems or "bag-info.txt" not in files:
        return
    oxum = _OXUM.search((folder / "bag-info.txt").read_text("utf-8", errors="replace"))
    payload = [folder / path for path in files if PurePosixPath(path).parts[0] == PAYLOAD]
    size = sum(path.stat().st_size for path in payload)
    if oxum and (int(oxum[1]), int(oxum[2])) != (size, len(payload)):
        problems["bag-info.txt"] = (
            f"Payload-Oxum (bytes.files) is {oxum[1]}.{oxum[2]}, but the payload has"
            f" {size}.{len(payload)}"
        )


def _list_files(folder: Path) -> Iterator[str]:
    """Yield the relative paths of all files and links below a folder, in order."""
    files = (path for path in folder.rglob("*") if path.is_symlink() or not path.is_dir())
    yield from sorted(path.relative_to(folder).as_posix() for path in files)


def _format_manifest(files: Mapping[str, Path]) -> str:
    """Return lines of hash and escaped path, in order of path."""
    codes = str.maketrans(_ESCAPES)
    lines = (
        f"{hash_file(path)}  {name.translate(codes)}\n" for name, path in sorted(files.items())
    )
    return "".join(lines)


def _read_manifest(manifest: Path, problems: dict[str, str]) -> Iterator[tuple[str, str]]:
    if manifest.is_symlink() or (manifest.exists() and not manifest.is_file()):
        problems[manifest.name] = "is not a regular file"
        return
    try:
        # Bytes are split, because str.splitlines splits at characters that names may contain.
        lines = [line.decode() for line in manifest.read_bytes().splitlines()]
    except FileNotFoundError:
        problems[manifest.name] = "is missing"
        return
    except (OSError, UnicodeDecodeError) as error:
        problems[manifest.name] = f"cannot be read: {type(error).__name__}"
        return
    chars = {code: char for char, code in _ESCAPES.items()}
    for k, line in enumerate(lines, 1):
        entry = _LINE.fullmatch(line)
        path = "" if entry is None else entry[2].removeprefix("./")
        path = re.sub("%(25|0[DdAa])", lambda code: chars[code[0].upper()], path)
        if entry is None or not _is_inside(path):
            problems[manifest.name] = f"line {k} is not a SHA-256 and a path inside the bag"
        else:
            yield path, entry[1].lower()


def _is_inside(path: str) -> bool:
    return not (path.startswith(("/", "~")) or "\\" in path or ".." in PurePosixPath(path).parts)
