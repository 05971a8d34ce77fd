"""Making a recording, and comparing two."""

from __future__ import annotations

import difflib
import hashlib
import json
import os
import re
import shutil
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator
from contextlib import chdir
from pathlib import Path
from typing import Any
from urllib.parse import quote

from cranfield import __version__
from studies.behaviour.dividing import NUMBER, divide
from studies.behaviour.samples import EXAMPLES, ROOT, TEST_DATA
from studies.behaviour.showing import shown

Item = tuple[str, Callable[[], Any]]
"""A name, whose part before the first slash is the subject, and what to record.

A function is called before the next item is made, so that it may use variables of loops.
"""

PARTS = ("numbers", "words")
"""Folders of a recording, and beginnings of the names of what it compares."""

SHOWN_LINES = 14
"""Lines of a difference that are printed."""

LONGEST = 120
"""Characters of a file's name; longer ones end in a digest."""

ADDRESS = re.compile(r" at 0x[0-9a-f]+")


def file_of(name: str) -> str:
    """Return the path of the file that holds an item."""
    subject, _, rest = name.partition("/")
    safe = quote(rest, safe=" ()+,=@'-_.")
    if len(safe) > LONGEST:
        safe = f"{safe[:LONGEST]}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"
    return f"{subject}/{safe}.txt"


def record(folder: Path, items: Iterable[Item]) -> int:
    """Write what comes of each item, and the digests of all; return the number of items."""
    if folder.exists() and any(folder.iterdir()):
        raise SystemExit(f"{folder} is not empty; an old recording is not written over")
    digests: dict[str, str] = {}
    files: set[str] = set()
    spent: dict[str, list[float]] = {}
    for name, function in items:
        start = time.perf_counter()
        data = outcome(function)
        if file_of(name) in files:
            raise SystemExit(f"two items are called {name}")
        files.add(file_of(name))
        for part, text in zip(PARTS, divide(name, data), strict=True):
            path = folder / part / file_of(name)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8", "backslashreplace")
            digest = hashlib.sha256(path.read_bytes()).hexdigest()
            digests[f"{part}/{name}"] = digest
        seconds = time.perf_counter() - start
        spent.setdefault(name.partition("/")[0], []).append(seconds)
        if seconds > 5:
            print(f"{seconds:6.1f} s  {name}", file=sys.stderr)
    (folder / "digests.json").write_text(json.dumps(digests, indent=1, ensure_ascii=False) + "\n")
    for subject, times in spent.items():
        print(f"{len(times):6} {subject:12} {sum(times):7.1f} s")
    print(f"{len(files):6} items")
    return len(files)


def outcome(function: Callable[[], Any]) -> str:
    """Run an item in a fresh copy of the samples; what came of it, as text."""
    with tempfile.TemporaryDirectory(prefix="behaviour-") as place:
        folder = Path(place).resolve()
        shutil.copytree(EXAMPLES, folder, dirs_exist_ok=True)
        (folder / "data").symlink_to(TEST_DATA)
        with chdir(folder), warnings.catch_warnings(record=True) as said:
            warnings.simplefilter("always")
            try:
                found = function()
                text = found if isinstance(found, str) else shown(found)
            except Exception as error:
                text = f"error {type(error).__name__}: {error}\n"
                if os.environ.get("BEHAVIOUR_DEBUG"):
                    traceback.print_exc()
        for one in said:
            # What other packages say of themselves depends on their versions only.
            if not issubclass(one.category, (DeprecationWarning, ResourceWarning)):
                text += f"\nwarning {one.category.__name__}: {one.message}\n"
    return masked(text, folder)


def masked(text: str, folder: Path) -> str:
    """Hide what depends on the place, the process and the version."""
    for path, name in ((folder, "<folder>"), (ROOT, "<root>")):
        text = text.replace(str(path), name)
    text = re.sub(rf"\b{re.escape(__version__)}\b(?!\.\d)", "<version>", text)
    return ADDRESS.sub(" at <address>", text)


def compare(before: Path, after: Path, part: str) -> int:
    """Print what is missing, new and different in numbers or words; return how many items are."""
    old, new = (_digests(folder, part) for folder in (before, after))
    missing, added = [one for one in old if one not in new], [one for one in new if one not in old]
    different = [one for one in old if one in new and old[one] != new[one]]
    for title, names in (("missing", missing), ("new", added)):
        for name in names:
            print(f"{title}: {name}")
    for name in different:
        print(f"different: {name}")
        for line in _difference(before / part / file_of(name), after / part / file_of(name)):
            print(f"    {line[:200]}")
    count = len(missing) + len(added) + len(different)
    print(
        f"{len(old)} and {len(new)} items: {len(missing)} missing, {len(added)} new,"
        f" {len(different)} different"
    )
    return count


EXACT = re.compile(r"(?<![\w.])-?0x[01]\.[0-9a-f]+p[-+]\d+")


def lost(before: Path, after: Path) -> int:
    """Print which items of both recordings lack an exact value that they had; return how many.

    An object that got a method, or whose attributes moved, differs in its numbers, but keeps all
    of its values.
    """
    old, new = (_digests(folder, "numbers") for folder in (before, after))
    count = lacking = 0
    for name in [one for one in old if one in new and old[one] != new[one]]:
        values, others = (
            {*EXACT.findall((folder / "numbers" / file_of(name)).read_text("utf-8", "replace"))}
            for folder in (before, after)
        )
        count += len(values)
        if values - others:
            lacking += 1
            print(f"lost: {name}: {len(values - others)} of {len(values)} values")
    print(f"{count:,} exact values in items that differ: {lacking} items lack some")
    return lacking


def digits(before: Path, after: Path) -> None:
    """Print how far the numbers of two recordings are apart, by subject."""
    old, new = (_digests(folder, "numbers") for folder in (before, after))
    before, after = before / "numbers", after / "numbers"
    rows: dict[str, list[tuple[str, float | None]]] = {}
    for name in old.keys() & new.keys():
        apart = (
            0.0 if old[name] == new[name] else _apart(before / file_of(name), after / file_of(name))
        )
        rows.setdefault(name.partition("/")[0], []).append((name, apart))
    print(f"{'subject':<12} {'items':>6} {'same':>6} {'digits':>7} {'largest':>9} {'other':>6}")
    for subject, found in sorted(rows.items()):
        some = [(apart, name) for name, apart in found if apart]
        other = [name for name, apart in found if apart is None]
        most = max(some, default=(0.0, ""))
        print(
            f"{subject:<12} {len(found):>6} {len(found) - len(some) - len(other):>6}"
            f" {len(some):>7} {most[0]:>9.1e} {len(other):>6}  {most[1] or ', '.join(other[:2])}"
        )


def _apart(old: Path, new: Path) -> float | None:
    """Return the largest relative difference of two texts; None if not only numbers differ."""
    before, after = (one.read_text("utf-8", "replace") for one in (old, new))
    parts, numbers = [], []
    for whole in (before, after):
        text = EXACT.sub(lambda found: repr(float.fromhex(found[0])), whole)
        parts.append(NUMBER.sub("#", text))
        numbers.append([float(found) for found in NUMBER.findall(text)])
    if parts[0] != parts[1]:
        return None
    pairs = zip(*numbers, strict=True)
    return max((abs(a - b) / max(abs(a), abs(b)) for a, b in pairs if a != b), default=0.0)


def _digests(folder: Path, part: str) -> dict[str, str]:
    digests: dict[str, str] = json.loads((folder / "digests.json").read_text())
    start = f"{part}/"
    return {name[len(start) :]: one for name, one in digests.items() if name.startswith(start)}


def _difference(old: Path, new: Path) -> Iterator[str]:
    before, after = (one.read_text("utf-8", "replace").split("\n") for one in (old, new))
    # The algorithm is slow for long texts with much in common: only the part that differs goes in.
    start = next(
        (i for i, pair in enumerate(zip(before, after, strict=False)) if pair[0] != pair[1]),
        min(len(before), len(after)),
    )
    first = max(0, start - 2)
    lines = difflib.unified_diff(
        before[first : start + 200], after[first : start + 200], lineterm="", n=2
    )
    yield f"first difference in line {start + 1} of {len(before)} and {len(after)}"
    for at, line in enumerate(lines):
        if at >= SHOWN_LINES:
            yield "..."
            return
        if at >= 2:
            yield line
