"""Hold sheets of five TREC-8 runs against what `cranfield evaluate --compat trec_eval` prints.

python -m studies.trec8_sheets FOLDER [TAG...]

FOLDER has `runs/TAG.run.xz` and `qrels.trec8.adhoc.txt.gz`. A campaign is made of the runs in a
temporary folder, and its sheets are written. What the command prints of each run, to four decimals,
is compared with the overall block of its sheet.
"""

from __future__ import annotations

import gzip
import subprocess
import sys
import tempfile
from pathlib import Path

import cranfield as cf
from cranfield.campaign.results.sheet import Sheet
from cranfield.campaign.store import records
from cranfield.campaign.store.records import Submission, Team
from studies.common import run_main

TAGS = ("AntHoc1", "INQ604", "GE8ATDN1", "Flab8atdn", "Dm8TFidf")

RULES = """
[campaign]
id = "trec8"
title = "TREC-8"
[tasks.adhoc]
topics = "topics.txt"
measures = ["AP"]
judging = {compat = "trec_eval"}
pool = {depth = 100}
"""


def campaign_of(data: Path, tags: list[str], folder: Path) -> cf.campaign.Campaign:
    """Make a campaign of some runs."""
    (folder / "campaign.toml").write_text(RULES)
    (folder / "topics.txt").write_text("".join(f"{k}\n" for k in range(401, 451)))
    cf.campaign.create(folder / "trec8", folder / "campaign.toml")
    made = cf.campaign.open(folder / "trec8")
    when = "1999-08-01T12:00:00Z"
    with made.registry.change("submit", "all") as change:
        change.insert(Team("all", "All", when))
        for tag in tags:
            sha256, size = records.put_object(made.folder, data / "runs" / f"{tag}.run.xz")
            change.insert(Submission(0, "adhoc", "all", tag, sha256, size, when, "accepted"))
    qrels = folder / "qrels.txt"
    qrels.write_bytes(gzip.decompress((data / "qrels.trec8.adhoc.txt.gz").read_bytes()))
    made.add_judgments(qrels, version="1")
    return made


def printed(data: Path, tag: str) -> dict[str, float]:
    """Run the command, and read what it prints."""
    files = (data / "qrels.trec8.adhoc.txt.gz", data / "runs" / f"{tag}.run.xz")
    command = [sys.executable, "-m", "cranfield", "evaluate", *map(str, files)]
    command += ["--compat", "trec_eval", "--format", "trec"]
    command += ["-m", "official", "-m", "iprec_at_recall"]
    out = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    rows = (line.split("\t") for line in out.splitlines())
    return {row[0].strip(): float(row[2]) for row in rows if row[0].strip() != "runid"}


def on_sheet(sheet: Sheet) -> dict[str, float | None]:
    """Name the overall block as trec_eval does."""
    levels = {f"iprec_at_recall_{k / 10:.2f}": v for k, v in enumerate(sheet.precision_at_recall)}
    return {
        "num_q": sheet.n_topics,
        "num_ret": sheet.n_retrieved,
        "num_rel": sheet.n_relevant,
        "num_rel_ret": sheet.n_relevant_retrieved,
        "map": sheet.average_precision,
        "Rprec": sheet.r_precision,
        **levels,
        **{f"P_{k}": value for k, value in sheet.precision_at.items()},
    }


def main(data: Path, tags: tuple[str, ...] = TAGS) -> None:
    """Compare, and say how many values differ."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        made = campaign_of(data, list(tags), folder)
        made.sheets(None, folder / "sheets")
        total = different = 0
        for tag in tags:
            text = (folder / "sheets/runs" / f"{tag}.json").read_text()
            sheet = Sheet.from_json(text)
            command = printed(data, tag)
            shown = on_sheet(sheet)
            apart = [
                f"{key}: {shown[key]} and {command[key]}"
                for key in shown
                if f"{shown[key]:.4f}" != f"{command[key]:.4f}"
            ]
            total, different = total + len(shown), different + len(apart)
            print(f"{tag}: {len(shown)} values, {len(apart)} differ", *apart)
        print(f"{total} values, {different} differ")
    sys.exit(different > 0)


if __name__ == "__main__":
    run_main(main)
