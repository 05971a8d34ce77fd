"""The section of the page that lets others make it again."""

from __future__ import annotations

import hashlib
import platform
from collections.abc import Iterable
from os import PathLike, fspath
from pathlib import Path
from typing import Any

import numpy
import polars
import scipy

from cranfield.base.errors import InputError
from cranfield.base.version import __version__
from cranfield.collection.judged.policies import ABOUT_NUMBERS, CHOICES
from cranfield.reporting.page.contents import Contents
from cranfield.reporting.page.html import Html, el, joined, named
from cranfield.reporting.page.sections import Columns, Rows, by_measure, table
from cranfield.significance.corrections.catalogue import CORRECTIONS
from cranfield.sources.remote import is_url, shown

NO_FILE = "not a file"
"""What stands in place of the hash of standard input, of an id of ir_datasets, or of a URL."""


def hashed(paths: Iterable[str | PathLike[str]]) -> tuple[tuple[str, str | None], ...]:
    """Return name and SHA-256 of files; None for what is no file here."""
    found: list[tuple[str, str | None]] = []
    for path in paths:
        name = fspath(path)
        if name == "-" or name.startswith("irds:") or is_url(name):
            found.append(("standard input" if name == "-" else shown(name), None))
            continue
        try:
            with Path(name).open("rb") as file:
                digest = hashlib.file_digest(file, "sha256").hexdigest()
        except (OSError, ValueError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise InputError(f"cannot be read: {reason.lower()}", source=name) from error
        found.append((Path(name).name, digest))
    return tuple(found)


def versions() -> dict[str, str]:
    return {
        "cranfield": __version__,
        "Python": platform.python_version(),
        "NumPy": numpy.__version__,
        "SciPy": scipy.__version__,
        "polars": polars.__version__,
    }


def settings(contents: Contents) -> Html:
    pieces: list[object] = []
    if contents.command:
        command = el("pre", el("code", contents.command), tabindex=0)
        pieces += [el("p", "The command that makes this page again:"), command]
    if contents.date:
        pieces.append(el("p", f"Date: {contents.date}"))
    pieces += [_policies(contents), _tests(contents)]
    made: Rows = [[name, version] for name, version in versions().items()]
    pieces.append(table("Versions", ["program", "version"], made, left=(0, 1), name="narrow"))
    if contents.inputs:
        rows: Rows = [
            [named(name), el("code", digest) if digest else NO_FILE]
            for name, digest in contents.inputs
        ]
        pieces.append(
            table("Input files", ["name", "SHA-256"], rows, left=(0, 1), name="tall hashes")
        )
    return joined(*pieces)


_READ = {
    "duplicates": "which of a document that is twice in one topic is kept",
    "skipped runs": "they could not be read",
}
"""What is said of runs that were not read as usual."""


def _policies(contents: Contents) -> Html | None:
    if contents.evaluation is None:
        return None
    chosen = contents.evaluation.judged.policies.describe()
    rows: Rows = [
        [
            name,
            "all" if value is None else str(value),
            ABOUT_NUMBERS.get(name) or CHOICES[name][str(value)],
        ]
        for name, value in chosen.items()
        if value is not None or name == "depth"
    ]
    if contents.evaluation.compat is not None:
        rows.append(["compat", contents.evaluation.compat, "policies and roundings start from it"])
    for name, value in contents.evaluation.judged.annotations.settings.items():
        said = "; ".join(value) if isinstance(value, list) else str(value)
        rows.append([name, said, _READ.get(name, "")])
    head = ["policy", "value", "what it does"]
    return table("How rankings were judged", head, rows, left=(0, 1, 2), name="prose")


def _number(number: int | None, form: str) -> str:
    return "none" if number is None else f"{number:{form}}"


def _tests(contents: Contents) -> Html | None:
    missing = contents.options.get("missing", "by default")
    columns: Columns = {
        "test": lambda part: part.comparison.info.title,
        "correction": lambda part: CORRECTIONS[part.comparison.correction].title,
        "alternative": lambda part: part.comparison.alternative,
        "alpha": lambda part: f"{part.comparison.alpha:g}",
        "missing scores": lambda _: missing,
        "random samples": lambda part: _number(part.comparison.resamples, ","),
        "seed": lambda part: _number(part.comparison.seed, "d"),
    }
    parts = [part for part in contents.parts if part.comparison is not None]
    look: dict[str, Any] = {"left": (0, 1, 2, 3, 5), "name": "prose"}
    return by_measure("How systems were compared", parts, columns, **look) if parts else None
