"""Write the site to a folder, completely or not at all."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from collections.abc import Iterator, Sequence
from os import fspath
from pathlib import Path

from cranfield.base.errors import InputError, PolicyError, quoted
from cranfield.base.text import bibtex, counted
from cranfield.campaign.opened_campaign import OpenedCampaign, PathName
from cranfield.campaign.pages import link
from cranfield.campaign.publishing.bag import validate
from cranfield.campaign.publishing.site.pages import Links, file_names, page
from cranfield.campaign.publishing.site.releases import (
    COPIES,
    StoredRelease,
    TaskLeaderboard,
    newest_releases,
    read_recorded_releases,
    read_releases,
    task_leaderboard,
    unrecorded_releases,
)
from cranfield.campaign.publishing.site.task_pages import describe_task, task_pages
from cranfield.campaign.store.records import (
    REGISTRY,
    RELEASES,
    ReleaseRecord,
    check_folder,
)
from cranfield.reporting.page.html import Html, label, text


def _bibtex(title: str, release: StoredRelease) -> Html:
    """Return a BibTeX entry, whose key is ASCII."""
    year = re.match(r"[0-9]{4}(?=-)", str(release.about.get("date") or ""))
    fields = {
        "title": f"{{{bibtex(_full_title(title, release))}}}",
        **({"year": year[0]} if year else {}),
        "note": f"Release {bibtex(release.id)}; SHA-256 of its tag manifest {release.manifest}",
    }
    key = re.sub(r"[^A-Za-z0-9-]+", "-", release.id)
    lines = [f"@misc{{{key},", *(f"  {name} = {{{value}}}," for name, value in fields.items()), "}"]
    return Html("\n".join(map(text, lines)))


def _full_title(title: str, release: StoredRelease) -> str:
    return release.title if release.title.startswith(title) else f"{title}: {release.title}"


RECORDS_LEAD = (
    "A record is a run that is better than all runs of the task that were submitted on earlier"
    " days; of each day, only the best run counts, and an equal score is not a record. Scores of"
    " different tasks are not compared, because their topics and judgments differ."
)
"""Text at the top of the page of records."""

MARK = ".cranfield-site"
"""File that marks a folder as a site, which may be replaced; it lists all other files."""

MAIN_PAGES = {"Campaign": "index.html", "Records": "history.html", "Data": "data.html"}
"""Pages about all tasks, by text of their links."""

MAX_RUNS = 10
"""Maximum number of runs of a leaderboard on the first page."""

RESERVED_NAMES = ("data", "index", "history")
"""Names that folders of tasks cannot have."""


def write_site(campaign: OpenedCampaign, folder: PathName) -> tuple[Path, ...]:
    """Write the static site of a campaign from its releases.

    Only the list of releases with their hashes is read from the registry.

    Parameters
    ----------
    campaign
        The campaign.
    folder
        Folder of the site, which is written completely or not at all. It must be new, empty, or a
        site that cranfield wrote.

    Returns
    -------
    tuple of Path
        Paths of all files, in order.

    Raises
    ------
    PolicyError
        If the folder contains other files, or is in the campaign's folder.
    InputError
        If there is no release, or a release is damaged, missing or unreadable.
    """
    records = campaign.registry.releases()
    return write_release_site(
        campaign.folder / RELEASES, folder, private=campaign.folder, records=records
    )


def write_site_from(folder: PathName, site: PathName) -> tuple[tuple[Path, ...], tuple[str, ...]]:
    """Write the site of a folder of a campaign or of a folder of releases.

    Return the paths of all files, in order, and the ids of releases of a campaign without a record,
    which are excluded.
    """
    folder = Path(fspath(folder))
    resolved = folder.resolve()
    owner = resolved.parent if resolved.name == RELEASES else resolved
    if (owner / REGISTRY).exists():
        check_folder(folder if owner == resolved else owner)
        campaign = OpenedCampaign(folder if owner == resolved else owner)
        files = write_site(campaign, site)
        return files, unrecorded_releases(owner / RELEASES, campaign.registry.releases())
    releases = folder / RELEASES
    source = releases if releases.is_dir() else folder
    return write_release_site(source, site, private=folder), ()


def write_release_site(
    releases: Path,
    folder: PathName,
    *,
    private: Path | None = None,
    records: Sequence[ReleaseRecord] | None = None,
) -> tuple[Path, ...]:
    """Write the site of a folder of releases, to a folder outside the folder `private`.

    With `records`, only recorded releases are included.
    """
    target = Path(fspath(folder)).resolve()
    _check_target(target, Path(fspath(folder)), private)
    files: dict[str, bytes] = {}
    for path, content in site_files(releases, records):
        if path.casefold() in {name.casefold() for name in files}:
            raise InputError(f"two pages have the same path {quoted(path)}", source=str(releases))
        files[path] = content
    files[MARK] = "".join(f"{path}\n" for path in sorted(files)).encode()
    try:
        _write_folder(target, files)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        raise InputError(f"cannot be written: {reason}", source=str(folder)) from None
    return tuple(Path(fspath(folder)) / path for path in sorted(files))


def site_files(
    folder: Path, records: Sequence[ReleaseRecord] | None = None
) -> Iterator[tuple[str, bytes]]:
    """Yield the path and the content of each file of the site, which depend only on releases."""
    releases = read_releases(folder) if records is None else read_recorded_releases(folder, records)
    newest = newest_releases(releases)
    for release in newest:
        if problems := validate(release.folder):
            raise InputError(f"is damaged: {problems[0]}", source=str(release.folder))
    folders = file_names([release.task for release in newest], RESERVED_NAMES)
    leaderboards = {folders[release.task]: task_leaderboard(release) for release in newest}
    copies: list[tuple[str, str]] = []
    for release in newest:
        paths = {name: f"data/{release.id}-{name}" for name in COPIES}
        paths["report.html"] = f"{folders[release.task]}/report.html"
        for name, path in paths.items():
            source = release.path(name)
            if source.is_file():
                content = source.read_bytes()
                copies.append((path, hashlib.sha256(content).hexdigest()))
                yield path, content
    about = (newest or releases)[0].about
    title = label(str(about.get("campaign_title") or about.get("campaign") or "Campaign"))
    n_current = sum(release.retracted is None for release in releases)
    links = [entry for entry in _links("") if leaderboards or entry[0] != "Records"]
    yield page(
        *("front.html", "index.html", title, links),
        lead=f"{counted(len(leaderboards), 'task')}, {counted(n_current, 'release')}",
        description=str(about.get("description") or ""),
        leaderboards=leaderboards,
        leads={folder: describe_task(leaderboard) for folder, leaderboard in leaderboards.items()},
        reports={path.partition("/")[0] for path, _ in copies if path.endswith("/report.html")},
        max_runs=MAX_RUNS,
        releases=releases,
    )
    yield page(
        *("data.html", "data.html", "Data", links),
        lead=title,
        releases=releases,
        copies=copies,
        citations=[_bibtex(title, release) for release in newest],
    )
    if leaderboards:
        yield page(
            "history.html",
            "history.html",
            "Records",
            links,
            lead=RECORDS_LEAD,
            leaderboards=leaderboards,
        )
    for task, leaderboard in leaderboards.items():
        yield from task_pages(leaderboard, task, _links("../", task, leaderboard))


def _links(
    start: str, task: str | None = None, leaderboard: TaskLeaderboard | None = None
) -> Links:
    links = [(word, link(name, prefix=start)) for word, name in MAIN_PAGES.items()]
    if task is not None and leaderboard is not None:
        links.append((label(leaderboard.release.title), link(task, "index.html", prefix=start)))
        links.append(("Topics", link(task, "topics.html", prefix=start)))
    return links


def _check_target(target: Path, folder: Path, private: Path | None) -> None:
    """Check that a folder does not exist, is empty, or is a site that cranfield wrote."""
    if private is not None and target.is_relative_to(private.resolve()):
        raise PolicyError(
            f"path must be outside the campaign's private folder, got {quoted(str(folder))}"
        )
    if not os.path.lexists(target):
        if not target.parent.is_dir():
            raise InputError("the parent folder does not exist", source=str(folder.parent))
        return
    if not target.is_dir():
        raise PolicyError(f"{quoted(str(folder))} is a file, expected a folder")
    paths = {
        path.relative_to(target).as_posix() for path in target.rglob("*") if not _is_folder(path)
    }
    mark = target / MARK
    written_names = {MARK, *mark.read_text("utf-8").splitlines()} if mark.is_file() else set()
    if extra := sorted(paths - written_names):
        raise PolicyError(
            f"{quoted(str(folder))} contains {quoted(extra[0])}, which does not belong to a site;"
            " nothing was changed"
        )


def _is_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink()


def _write_folder(target: Path, files: dict[str, bytes]) -> None:
    """Write all files to a temporary folder, and replace the target by it."""
    with tempfile.TemporaryDirectory(prefix=f".{target.name}.", dir=target.parent) as work:
        new_folder, old_folder = Path(work) / "new", Path(work) / "old"
        new_folder.mkdir()
        for path, content in files.items():
            file = new_folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content)
        # The site is public, unlike the other files of a campaign.
        for entry in (new_folder, *new_folder.rglob("*")):
            entry.chmod(0o755 if entry.is_dir() else 0o644)
        if target.is_dir():
            target.rename(old_folder)
        try:
            new_folder.rename(target)
        except OSError:
            if old_folder.is_dir():
                old_folder.rename(target)
            raise
        shutil.rmtree(old_folder, ignore_errors=True)
