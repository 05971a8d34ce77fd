"""Files of the example campaign, with runs of the bundled TREC-COVID collection."""

from __future__ import annotations

import csv
import shutil
from pathlib import Path

from cranfield.bundled import trec_covid
from cranfield.collection.files.writing import write_qrels, write_run

N_TEAMS = 5
"""Number of teams of the example, each with two runs."""

IN_TIME, LATE = "2020-07-31T12:00:00Z", "2020-08-05T09:30:00Z"
"""Times of submission before and after the deadline."""

INVALID_LINES = {
    7: "99 Q0 02f0opkr 7 9.5 {tag}",
    12: "1 Q0 02f0opkr 12 nan {tag}",
    20: "1 Q0 not-a-document 20 8.1 {tag}",
    31: "1 Q0 8.0",
    40: "1 Q0 zz24hrva 40 7.5 another",
}
"""Invalid lines that replace lines of a run, by line number."""


def write_example(folder: Path) -> dict[str, str]:
    """Write `rules`, `runs`, `runs.csv`, `qrels.txt`, `broken.run`, and a replacement `TAG-2.run`.

    Return `team`, the team of `broken.run`; `replaced`, the tag of the run to replace by
    `TAG-2.run`; and `withdrawn`, the tag of a run to withdraw.
    """
    covid = trec_covid()
    team_tags: dict[str, list[str]] = {}
    for tag, team in covid.teams.items():
        team_tags.setdefault(team, []).append(tag)
    team_runs = [
        (team, tag) for team, tags in team_tags.items() if len(tags) > 1 for tag in tags[:2]
    ][: 2 * N_TEAMS]
    for name in ("rules", "runs"):
        (folder / name).mkdir()
    rules = Path(__file__).with_name("templates") / "example.toml"
    shutil.copyfile(rules, folder / "rules/campaign.toml")
    topics = "".join(f"{topic}\n" for topic in covid.qrels.topics)
    (folder / "rules/topics.txt").write_text(topics, "utf-8")
    write_qrels(covid.qrels, folder / "qrels.txt")
    runs = {run.name: run for run in covid.runs}
    for _, tag in team_runs:
        write_run(runs[tag], folder / "runs" / f"{tag}.run")
    with (folder / "runs.csv").open("w", encoding="utf-8", newline="") as out:
        table = csv.writer(out, lineterminator="\n")
        table.writerow(["tag", "team", "type", "received"])
        for k, (team, tag) in enumerate(team_runs, 1):
            is_late = k == len(team_runs)
            table.writerow([tag, team, covid.types[tag], LATE if is_late else IN_TIME])
    team, broken_tag = team_runs[0]
    lines = (folder / "runs" / f"{broken_tag}.run").read_text("utf-8").splitlines()
    for line_number, line in INVALID_LINES.items():
        lines[line_number - 1] = line.format(tag=broken_tag)
    (folder / "broken.run").write_text("\n".join(lines) + "\n", "utf-8")
    replaced_tag = team_runs[3][1]
    write_run(runs[replaced_tag], folder / f"{replaced_tag}-2.run", limit=50)
    return {"team": team, "replaced": replaced_tag, "withdrawn": team_runs[5][1]}
