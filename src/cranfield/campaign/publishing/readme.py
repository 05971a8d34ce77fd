"""The README of a release: what it is, what its files are, what is not in it, how to check it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cranfield.base.escape import markdown
from cranfield.base.words import counted

FILES = {
    "runs/": "the runs as they were handed in, one file each, packed by xz; comments are left out",
    "runs.csv": "a row a run: tag, team, type, what was answered, SHA-256 as handed in",
    "teams.csv": "a row a team: id and name",
    "judgments.txt": "what everything here was computed by: topic, 0, document, grade",
    "rules.toml": "the rules of the campaign",
    "scores/": "a table (Parquet) of topic, run, and a column a measure",
    "leaderboard.csv": "a row a run: place, means over topics, groups that are not separated",
    "topic-statistics.csv": "best, median and worst score by measure, group and topic",
    "sheets/": "a sheet a run, as a page, as text and as JSON",
    "report.html": "comparison of all runs; a page that needs no network",
    "metadata/": "what runs say of themselves, for those that do",
    "about.json": "what this release is, for programs",
}
"""The files of a release, and what they are."""


def readme(about: Mapping[str, Any], folder: Path) -> str:
    """Write the README of a folder in Markdown; names and texts of others stay text."""
    title = f"{about['campaign_title']}: {about['title']}"
    lines = [f"# {markdown(title)}", ""]
    counts = ", ".join(
        [
            counted(about["runs"], "run"),
            counted(about["teams"], "team"),
            counted(about["topics"], "topic"),
        ]
    )
    lines += [f"{counts}. Judgments: version {markdown(about['judgments'])}.", ""]
    lines += [f"Released on {about['date']}.", ""] if about["date"] else []
    for text in (about["description"], about["note"], about["consent"]):
        if text:
            lines += [markdown(" ".join(text.split())), ""]
    files = (f"- `{name}`: {said}" for name, said in FILES.items() if (folder / name).exists())
    lines += ["## Files", "", *files, ""]
    lines += ["## What is not here", "", *(f"- {markdown(one)}" for one in about["left_out"]), ""]
    lines += [
        "## Is it whole?",
        "",
        "This folder is in the folder `data` of a bag (BagIt 1.0, RFC 8493). In the bag,",
        "`sha256sum -c manifest-sha256.txt` and `sha256sum -c tagmanifest-sha256.txt` tell whether",
        "each file is as it was released. They do not tell who made it: compare the SHA-256 of",
        "`tagmanifest-sha256.txt` with that which the organisers published.",
        "",
    ]
    return "\n".join(lines)
