"""`cranfield campaign release`, `retract`, `site`: what leaves the campaign, or is taken back."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from cranfield.base.escape import plain
from cranfield.base.words import counted
from cranfield.cli.campaign.arguments import (
    folder_argument,
    judgments_option,
    output_folder,
    status_of,
    task_option,
)
from cranfield.cli.options.declaring import command, option
from cranfield.cli.options.judging import seed_option

RELEASE = """\b
Examples:
  cranfield campaign release news
  cranfield campaign release news --task adhoc --date 2026-11-20
  cranfield campaign release news --anonymous --seed 7
  cranfield campaign release news --scores-only --judgments 1
"""

RETRACT = """\b
Example:
  cranfield campaign retract news adhoc-1 --reason "Judgments of topic 12 were those of topic 21."
"""

SITE = """\b
Examples:
  cranfield campaign site news -o public
  cranfield campaign site news/releases -o public
"""


@command(epilog=RELEASE)
@folder_argument
@task_option
@judgments_option
@option("--anonymous", is_flag=True, help="No team is named.")
@seed_option("Of the order in which teams that are not named are numbered.")
@option("--scores-only", is_flag=True, help="Leave out runs and judgments.")
@option(
    "--date",
    metavar="DAY",
    help="Day of the release, written into it, by which embargoes end; else today, not written.",
)
@option("--note", default="", metavar="TEXT", help="A text for its README.")
def release(folder: str, **options: Any) -> int:
    """Release a task: runs, judgments, scores, sheets.

    A release is a folder that never changes: a bag (BagIt 1.0) in the campaign's folder `releases`.
    It holds what may be shown, and nothing else. The same campaign and options give the same bytes.
    """
    from cranfield import campaign

    opened = campaign.open(folder)
    made = opened.release(**options)
    print(plain(f"{made.path}: {made.said}"))
    print(f"SHA-256 of tagmanifest-sha256.txt, to be published: {made.manifest}")
    for one in made.left_out:
        print(f"not in it: {one}")
    return status_of(opened)


@command(epilog=RETRACT)
@folder_argument
@click.argument("release", metavar="RELEASE")
@option("--reason", metavar="TEXT", required=True, help="Why; everybody can read it.")
def retract(folder: str, release: str, reason: str) -> None:
    """Retract a release, with a reason that everybody can read.

    It stays as it is, with a note beside it that says why.
    """
    from cranfield import campaign

    campaign.open(folder).retract(release, reason)
    print(plain(f"{release} is retracted: releases/{release}.retracted.json says why"))


@command(epilog=SITE)
@folder_argument
@output_folder("Folder to write, whole or not at all; an older site there is replaced.")
def site(folder: str, output: str) -> None:
    """Write the static site, from releases alone.

    Boards, topics, a page for each run. FOLDER is a campaign's, or one of releases; of a campaign,
    only those that it has a record of are shown. The pages need no server, no network and no
    scripts: they can be opened from the folder, copied, or served from anywhere.
    """
    from cranfield import campaign
    from cranfield.campaign.publishing.site.entered import not_entered
    from cranfield.campaign.publishing.site.writing import write_site, write_site_of
    from cranfield.campaign.store.layout import REGISTRY, RELEASES

    given = Path(folder).resolve()
    owner = given.parent if given.name == RELEASES else given
    unknown: tuple[str, ...] = ()
    if (owner / REGISTRY).exists():
        opened = campaign.open(Path(folder) if owner == given else owner)
        made = write_site(opened, output)
        unknown = not_entered(owner / RELEASES, opened.registry.releases())
    else:
        releases = Path(folder) / RELEASES
        made = write_site_of(
            releases if releases.is_dir() else Path(folder), output, private=Path(folder)
        )
    size = sum(path.stat().st_size for path in made) / 1e6
    pages = sum(path.suffix == ".html" for path in made)
    print(plain(f"{output}: {counted(pages, 'page')}, {size:.1f} MB; open {output}/index.html"))
    for one in unknown:
        print(
            plain(f"left out: {one}, which is in no record (a kill left it, or it was put there)")
        )
