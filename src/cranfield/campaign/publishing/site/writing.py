"""The site as a folder: made beside its place, then put there whole."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from os import fspath
from pathlib import Path

from cranfield.base.errors import InputError, PolicyError, quoted
from cranfield.base.text import bibtex, counted
from cranfield.campaign.opened import Opened, PathName
from cranfield.campaign.publishing.bag import validate
from cranfield.campaign.publishing.site.pages import Links, Page, file_names, link
from cranfield.campaign.publishing.site.releases import (
    TABLES,
    Board,
    Released,
    entered,
    newest,
    read_releases,
)
from cranfield.campaign.publishing.site.task_pages import (
    board_page,
    run_link,
    run_pages,
    topics_page,
)
from cranfield.campaign.results.history import History, history
from cranfield.campaign.store.records import RELEASES, ReleaseRecord
from cranfield.reporting.page.html import Html, el, joined, label, named, text
from cranfield.reporting.page.sections import Rows, table

SAID = (
    "A record beats every run of the task that was handed in on an earlier day; of a day the best"
    " run counts, and an equal score is no record. Tasks have topics and judgments of their own:"
    " scores of two of them are not compared."
)


def history_page(boards: Mapping[str, Board], links: Links) -> Page:
    """Make the page of records, a section a task; `boards` are by the folder of their pages."""
    parts = {
        f"task-{k}": (label(board.release.title), _records(folder, board))
        for k, (folder, board) in enumerate(boards.items(), 1)
    }
    return Page("history.html", "Records", el("p", SAID, class_="counts"), parts, links)


def _records(folder: str, board: Board) -> Html:
    if not all(row.get("received") for row in board.rows):
        return el("p", "This release does not say when each run was handed in.")
    # Which releases are shown was decided by the records of the campaign, where there are any.
    found = history([board.release.folder], board.measure, retracted=True)
    return joined(_table(found, folder, board), *(el("p", f"{one}.") for one in found.notes))


def _table(found: History, folder: str, board: Board) -> Html:
    rows: Rows = [
        [
            el("span", str(row["date"]), class_="date"),
            run_link(board, row["entry"], start=link(folder, "")),
            named(row["team"]) if row["team"] else "–",
            f"{row['score']:.{board.places}f}",
        ]
        for row in found.records().iter_rows(named=True)
    ]
    number = f"{len(rows):,} of {found.frame.height:,} runs"
    caption = f"{label(board.release.title)}: records by {label(board.measure)}, {number}"
    head = ["handed in", "run", "team", label(board.measure)]
    return table(caption, head, rows, left=(0, 1, 2), name="narrow")


def front_page(
    boards: Mapping[str, Board],
    releases: Sequence[Released],
    copies: Sequence[tuple[str, str]],
    links: Links,
) -> Page:
    """Make the first page.

    Parameters
    ----------
    boards
        The board of each task, by the folder of its pages.
    copies
        Path and SHA-256 of each table that was copied.
    """
    about = (next(iter(boards.values())).release if boards else releases[0]).about
    title = label(str(about.get("campaign_title") or about.get("campaign") or "Campaign"))
    standing = sum(one.retracted is None for one in releases)
    lead = f"{counted(len(boards), 'task')}, {counted(standing, 'release')}"
    parts = {
        "tasks": ("Tasks", _tasks(boards)),
        "releases": ("Releases", _releases(releases)),
        "cite": ("How to cite", _cite(title, boards) if boards else None),
        "data": ("Data", _data(copies) if copies else None),
    }
    return Page("index.html", title, el("p", lead, class_="counts"), parts, links)


def _tasks(boards: Mapping[str, Board]) -> Html:
    if not boards:
        return el("p", "All releases were retracted.")
    parts: list[Html] = []
    for folder, board in boards.items():
        first = board.not_separated[:1] or tuple(row["tag"] for row in board.rows[:1])
        others = len(board.not_separated) - 1
        said: list[object] = [counted(len(board.rows), "run"), f", by {label(board.measure)}. "]
        if first:
            said += ["First: ", named(first[0])]
            said.append(f"; {counted(others, 'run')} not separated from it." if others > 0 else ".")
        parts += [
            el("h3", el("a", label(board.release.title), href=link(folder, "index.html"))),
            el("p", *said),
            el(
                "p",
                el("a", "Board", href=link(folder, "index.html")),
                ", ",
                el("a", "topics", href=link(folder, "topics.html")),
            ),
        ]
    return joined(*parts)


def _releases(releases: Sequence[Released]) -> Html:
    rows: Rows = [
        [
            named(one.id),
            _state(one),
            label(one.title),
            el("span", label(str(one.about.get("date") or "–")), class_="date"),
            label(str(one.about.get("judgments") or "–")),
            el("code", one.manifest or "–"),
        ]
        for one in releases
    ]
    head = ["release", "state", "task", "date", "judgments", "SHA-256 of tagmanifest-sha256.txt"]
    made = table(
        "Releases, the newest of each task first", head, rows, left=range(6), name="prose file"
    )
    note = (
        "A release is a bag (BagIt 1.0). In its folder, sha256sum -c tagmanifest-sha256.txt"
        " manifest-sha256.txt checks every file, and the checksum above the first of these lists."
    )
    return joined(made, el("p", note, class_="small"))


def _state(release: Released) -> Html | str:
    if release.retracted is None:
        return "released"
    note = label(str(release.retracted.get("reason") or "no reason given"))
    date = str(release.retracted.get("retracted") or "")
    said = f"retracted {date[:10]}: {note}"
    return el("span", said, class_="retracted")


def _cite(title: str, boards: Mapping[str, Board]) -> Html:
    said = "Cite a release by its name and its checksum, which say exactly which data were meant."
    releases = [board.release for board in boards.values()]
    return joined(el("p", said), *(el("pre", el("code", _bibtex(title, one))) for one in releases))


def _bibtex(title: str, release: Released) -> Html:
    """Write an entry for BibTeX; its key is plain whatever the names are."""
    year = re.match(r"[0-9]{4}(?=-)", str(release.about.get("date") or ""))
    fields = {
        "title": f"{{{bibtex(_full(title, release))}}}",
        **({"year": year[0]} if year else {}),
        "note": f"Release {bibtex(release.id)}; SHA-256 of its tag manifest {release.manifest}",
    }
    key = re.sub(r"[^A-Za-z0-9-]+", "-", release.id)
    lines = [f"@misc{{{key},", *(f"  {name} = {{{one}}}," for name, one in fields.items()), "}"]
    return Html("\n".join(map(text, lines)))


def _full(title: str, release: Released) -> str:
    return release.title if release.title.startswith(title) else f"{title}: {release.title}"


def _data(copies: Sequence[tuple[str, str]]) -> Html:
    rows: Rows = [
        [el("a", path, href=link(*path.split("/"))), el("code", code)] for path, code in copies
    ]
    return table("Tables, as they are in the releases", ["file", "SHA-256"], rows, left=(0, 1),
                 name="prose file")  # fmt: skip


MARK = ".cranfield-site"
"""A file with the paths of all others: a folder that has it is a site, and may be replaced."""

MAIN = {"Campaign": "index.html", "Records": "history.html"}
"""The pages that are about all tasks."""

TAKEN = ("data", "index", "history")
"""Names that no task's folder has."""


def write_site(opened: Opened, folder: PathName) -> tuple[Path, ...]:
    """Write the static site of a campaign's releases.

    The registry is asked for one thing: which releases there are, and their hashes.

    Parameters
    ----------
    opened
        The campaign.
    folder
        Where it is written, whole or not at all. What is there must be a site of this program,
        with nothing else in it, an empty folder, or nothing.

    Returns
    -------
    tuple of Path
        All files, in order.

    Raises
    ------
    PolicyError
        If the folder is something else, or lies in the campaign's own.
    InputError
        If there are no releases, or one is damaged or missing, or cannot be read.
    """
    records = opened.registry.releases()
    return write_site_of(opened.folder / RELEASES, folder, private=opened.folder, records=records)


def write_site_of(
    releases: Path,
    folder: PathName,
    *,
    private: Path | None = None,
    records: Sequence[ReleaseRecord] | None = None,
) -> tuple[Path, ...]:
    """Write the site of a folder of releases; `private` is a folder that it must not lie in.

    Where there are `records`, only releases that have one are shown.
    """
    target = Path(fspath(folder)).resolve()
    _check(target, Path(fspath(folder)), private)
    made: dict[str, bytes] = {}
    for path, content in site_files(releases, records):
        if path.casefold() in {one.casefold() for one in made}:
            raise InputError(f"two pages would be called {quoted(path)}", source=str(releases))
        made[path] = content
    made[MARK] = "".join(f"{path}\n" for path in sorted(made)).encode()
    try:
        _put(target, made)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot be written: {reason}", source=str(folder)) from None
    return tuple(Path(fspath(folder)) / path for path in sorted(made))


def site_files(
    folder: Path, records: Sequence[ReleaseRecord] | None = None
) -> Iterator[tuple[str, bytes]]:
    """Yield the paths of the site and what stands there: the same for the same releases."""
    releases = read_releases(folder) if records is None else entered(folder, records)
    current = newest(releases)
    for release in current:
        if problems := validate(release.folder):
            raise InputError(f"is damaged: {problems[0]}", source=str(release.folder))
    folders = file_names([one.task for one in current], TAKEN)
    boards = {folders[one.task]: Board(one) for one in current}
    copies: list[tuple[str, str]] = []
    for release in current:
        for name in TABLES:
            source = release.path(f"{name}.csv")
            if source.is_file():
                content = source.read_bytes()
                path = f"data/{release.id}-{name}.csv"
                copies.append((path, hashlib.sha256(content).hexdigest()))
                yield path, content
    front = front_page(boards, releases, copies, _links("") if boards else ())
    pages = [front]
    if boards:
        pages.append(history_page(boards, _links("")))
    for task, board in boards.items():
        links = _links("../", task, board)
        pages.append(board_page(board, f"{task}/index.html", links))
        pages.append(topics_page(board, f"{task}/topics.html", links))
        pages += run_pages(board, task, links)
    for page in pages:
        yield page.path, page.html().encode()


def _links(start: str, task: str | None = None, board: Board | None = None) -> Links:
    listed = [(word, link(name, start=start)) for word, name in MAIN.items()]
    if task is not None and board is not None:
        listed.append((label(board.release.title), link(task, "index.html", start=start)))
        listed.append(("Topics", link(task, "topics.html", start=start)))
    return listed


def _check(target: Path, named: Path, private: Path | None) -> None:
    """Refuse to put anything in the place of what is not a site of ours."""
    if private is not None and target.is_relative_to(private.resolve()):
        raise PolicyError(f"{quoted(str(named))} lies in the campaign's folder, which is private")
    if not os.path.lexists(target):
        if not target.parent.is_dir():
            raise InputError("there is no folder to write it to", source=str(named.parent))
        return
    if not target.is_dir():
        raise PolicyError(f"{quoted(str(named))} is a file, and a site is a folder")
    found = {path.relative_to(target).as_posix() for path in target.rglob("*") if not _folder(path)}
    mark = target / MARK
    ours = {MARK, *mark.read_text("utf-8").splitlines()} if mark.is_file() else set()
    if strange := sorted(found - ours):
        raise PolicyError(
            f"{quoted(str(named))} holds {quoted(strange[0])}, which is not of a site:"
            " nothing was changed"
        )


def _folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _put(target: Path, made: dict[str, bytes]) -> None:
    """Write all files to a folder beside the target, then let it take the place."""
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as work:
        fresh, old = Path(work) / "new", Path(work) / "old"
        fresh.mkdir()
        for path, content in made.items():
            place = fresh / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content)
        # It is to be served, whatever this process gives to its other files.
        for place in (fresh, *fresh.rglob("*")):
            place.chmod(0o755 if place.is_dir() else 0o644)
        if target.is_dir():
            target.rename(old)
        try:
            fresh.rename(target)
        except OSError:
            if old.is_dir():
                old.rename(target)
            raise
        shutil.rmtree(old, ignore_errors=True)
