"""The first page: the campaign, its tasks, its releases, and how to cite them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from cranfield.base.escape import bibtex
from cranfield.base.words import counted
from cranfield.campaign.publishing.site.board import Board
from cranfield.campaign.publishing.site.file_names import link
from cranfield.campaign.publishing.site.pages import Links, Page
from cranfield.campaign.publishing.site.releases import Released
from cranfield.reporting.page.html import Html, el, joined, label, named, text
from cranfield.reporting.page.sections import Rows, table


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
