"""Sheets as files: a page, text and JSON of each run, and an index of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from os import fspath
from pathlib import Path
from urllib.parse import quote

from cranfield.base.errors import InputError, PolicyError, quoted
from cranfield.base.whole_files import whole_file
from cranfield.base.words import counted
from cranfield.campaign.opened import Opened, PathName
from cranfield.campaign.results.sheets.making import sheets_of
from cranfield.campaign.results.sheets.page import STYLES, sheet_page
from cranfield.campaign.results.sheets.sheet import Sheet
from cranfield.reporting.page.html import el, label, named
from cranfield.reporting.page.sections import Rows, table
from cranfield.reporting.page.shell import page_of_parts
from cranfield.tabular import number

RUNS = "runs"
"""The folder of single sheets: beside it no tag can take the name of the index."""


def write_sheets(
    opened: Opened,
    task: str | None,
    folder: PathName,
    *,
    judgments: str | None = None,
    measure: str | None = None,
    others: str = "named",
) -> tuple[Path, ...]:
    """Write the sheets of a task's accepted runs: HTML, text and JSON, and an index.

    Parameters
    ----------
    opened, task, judgments, measure, others
        As for :func:`~cranfield.campaign.results.sheets.making.sheets_of`.
    folder
        Where to; it is made where it is not there. Sheets of a former time are written over.

    Returns
    -------
    tuple of Path
        The index, and then all others.

    Raises
    ------
    PolicyError
        When the folder holds sheets of runs that are no longer among these, or lies in that of the
        campaign.
    """
    target = opened.outside(folder)
    found = sheets_of(opened, task, judgments, measure=measure, others=others)
    return write_files(target, dict(index_and_sheets(found)))


def index_and_sheets(sheets: Sequence[Sheet]) -> Iterator[tuple[str, bytes]]:
    """Yield names and bytes: the index, and for each sheet a page, text and JSON."""
    yield "index.html", as_bytes(_index(sheets))
    for name, content in files_of(sheets):
        yield f"{RUNS}/{name}", content


def files_of(sheets: Iterable[Sheet]) -> Iterator[tuple[str, bytes]]:
    """Yield `TAG.html`, `TAG.txt` and `TAG.json` of each sheet, with their bytes."""
    for sheet in sheets:
        for suffix, text in (
            ("html", sheet_page(sheet)),
            ("txt", sheet.to_text()),
            ("json", sheet.to_json()),
        ):
            yield f"{sheet.tag}.{suffix}", as_bytes(text)


def as_bytes(text: str) -> bytes:
    # What is no character, as a name of a file may have, is written by its code; in JSON too.
    return text.encode("utf-8", "backslashreplace")


def write_files(
    folder: PathName, files: Mapping[str, bytes], *, private: bool = False
) -> tuple[Path, ...]:
    """Write files by their names into a folder, which holds no others of the same kind."""
    target = Path(fspath(folder))
    for inner in sorted({(target / name).parent for name in files}):
        if inner.name == RUNS and inner.is_dir():
            late = sorted({one.name for one in inner.iterdir()} - {Path(n).name for n in files})
            if late:
                raise PolicyError(
                    f"{inner} has {quoted(late[0])}, which is of no run that is there now: remove"
                    " it, or name another folder"
                )
        make_folder(inner)
    made = []
    for name, content in files.items():
        with whole_file(target / name, private=private) as out:
            out.write(content)
        made.append(target / name)
    return tuple(made)


def make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except (OSError, ValueError) as error:
        # Names that hold a NUL are no ordinary error of the system.
        reason = (getattr(error, "strerror", None) or str(error)).lower()
        raise InputError(f"cannot be made: {reason}", source=str(folder)) from error


def _index(sheets: Sequence[Sheet]) -> str:
    """Write a page with links to all sheets, in order of place."""
    if not sheets:
        part = el("p", "There are no accepted runs.")
        return page_of_parts("Sheets", "", {"runs": ("Runs", part)}, styles=STYLES)
    first = sheets[0]
    measures = [*first.measures]
    head = ["run", "place", "team", "type", *map(label, measures)]
    rows: Rows = [
        [
            el("a", named(one.tag), href=f"{RUNS}/{quote(one.tag)}.html"),
            f"{one.sure.place:,}",
            named(one.team),
            label(one.type) if one.type else "",
            *(number(one.measures[name]) for name in measures),
        ]
        for one in sorted(sheets, key=lambda one: (one.sure.place, one.tag))
    ]
    title = label(first.task_title or first.task)
    counts = f"{label(first.campaign_title or first.campaign)}. {counted(len(sheets), 'run')}."
    caption = f"Runs by {label(first.measure)}"
    part = table(caption, head, rows, left=(0, 2, 3), name="topics")
    return page_of_parts(
        title, counts, {"runs": ("Sheets", part)}, styles=STYLES, skip="Skip to the runs"
    )
