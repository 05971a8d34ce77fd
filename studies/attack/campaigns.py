"""Hostile command lines of `cranfield campaign`: one line of error, and a campaign that is whole.

Each case works on a copy of a small campaign that has been through its whole life. After the
command the campaign is verified: whatever was asked, nothing may be half there.
"""

from __future__ import annotations

import random
import shutil
from datetime import UTC, datetime
from functools import cache
from pathlib import Path

from cranfield import campaign
from studies.attack.reading.spoil import hostile_text, spoil_bytes
from studies.attack.work.cases import FindingError
from studies.attack.work.in_process import in_this_process
from studies.attack.work.workers import Cases

RULES = """
[campaign]
id = "news"
title = "News <b>2026</b>"
[tasks.adhoc]
topics = "topics.txt"
documents = {pattern = "d[0-9]+"}
types = ["automatic", "manual"]
priorities = 2
runs_per_team = 3
max_per_topic = 4
opens = 2026-01-01T00:00:00Z
closes = 2026-02-01T00:00:00Z
late = "mark"
pool = {depth = 2, priorities = [1]}
measures = ["nDCG@3", "P@2"]
categories = ["type"]
min_category = 1
[tasks.adhoc.questions.fields]
ask = "Which fields?"
choices = ["title", "all"]
"""
QRELS = "".join(f"{t} 0 d{d} {(t * d) % 3}\n" for t in range(1, 6) for d in range(6))
TAGS = (
    *("bm25", "dense", "BM25", "0", "CON", "../x", "<b>x</b>", "\x1b[2J", "a\u202eb", ""),
    *("x" * 300,),
)
TEAMS = ("padua", "lab", "LAB", "nobody", "..", "é", "", "<i>", "CON")
TIMES = ("2026-01-10T00:00:00Z", "2026-03-01T00:00:00+02:00", "2026-01-10", "x", "", "9999-99-99")
NUMBERS = ("1", "2", "0", "-1", "x", "99999999999999999999", "nan", "")
MEASURES = ("nDCG@3", "AP", "P@0", "nonsense", "", "URisk", "nDCG@3,P@2", "Judged@10")
TABLES = (
    "tag,team,type\nbm25,padua,automatic\nnew,lab,manual\n",
    "tag,team\nnew,stranger\nnew,lab\n",
    "tag\nnew\n",
    "team,type\nlab,manual\n",
    "",
    'tag,team,received\n"new\n",lab,2026-01-01\n',
)


def run_text(rng: random.Random, tag: str) -> str:
    return "".join(
        f"{t} Q0 d{d} {k} {9 - k + rng.random():.3f} {tag}\n"
        for t in range(1, 6)
        for k, d in enumerate(rng.sample(range(8), 4), 1)
    )


@cache
def finished(place: Path) -> Path:
    """Make a campaign that has everything in it, once."""
    folder = place / "finished"
    folder.mkdir()
    rng = random.Random(0)
    (folder / "topics.txt").write_text("".join(f"{t}\n" for t in range(1, 6)))
    (folder / "rules.toml").write_text(RULES)
    (folder / "qrels").write_text(QRELS)
    made = campaign.create(folder / "news", folder / "rules.toml")
    for team in ("padua", "lab"):
        made.add_team(team, contact="someone@example.org")
    day = datetime(2026, 1, 10, tzinfo=UTC)
    for number, tag in enumerate(("bm25", "dense", "sparse", "gone", "wrong")):
        path = folder / "run"
        path.write_text(run_text(rng, tag if tag != "wrong" else "a/b"))
        team = ("padua", "lab")[number % 2]
        made.submit(
            path,
            team=team,
            type="automatic",
            priority=1,
            received=day,
        )
    made.withdraw("gone", "a mistake")
    made.add_judgments(folder / "qrels", version="1")
    made.score()
    made.release()
    return folder / "news"


def campaign_case(rng: random.Random, folder: Path) -> bool:
    # Beside the folder that is looked at for files left behind: a campaign keeps what it makes.
    place = folder.parent / "worked-on"
    if not place.exists():
        shutil.copytree(finished(folder.parent), place)
    before = _state(place)
    (folder / "pack").mkdir()
    (folder / "pack" / "rules.toml").write_text(RULES)
    (folder / "pack" / "topics.txt").write_text("1\n2\n3\n4\n5\n")
    files = {
        "new.run": run_text(rng, rng.choice(("new", "new", *TAGS))).encode(),
        "other.run": run_text(rng, "other").encode("utf-8"),
        "hostile.run": hostile_text(rng, "run"),
        "qrels": QRELS.encode(),
        "table.csv": rng.choice(TABLES).encode(),
        "rules.toml": RULES.encode(),
        "board.csv": b"date,score,description\n2026-01-01,0.1,a\n2026-01-02,x,b\n",
    }
    for name, content in files.items():
        spoil = rng.random() < 0.15
        (folder / name).write_bytes(spoil_bytes(rng, content) if spoil else content)
    arguments = [one.replace("\x00", "") for one in _arguments(rng, str(place))]
    named = [name for name in files if name in arguments]
    told = ", ".join(f"{name}: {(folder / name).read_bytes()!r}" for name in named)
    try:
        done = in_this_process(rng, folder, ["campaign", *arguments], b"", told, refusals=True)
        if _state(place) != before:
            found = campaign.open(place).verify()
            if not found.ok:
                raise FindingError(f"not whole: {found}", f"{arguments}, {told}", "verify")
        return done
    finally:
        # What no command has changed is as good as another copy.
        if _state(place) != before:
            shutil.rmtree(place)
        for one in folder.iterdir():
            shutil.rmtree(one) if one.is_dir() else one.unlink()


def _state(place: Path) -> dict[str, tuple[int, int]]:
    """Return size and time of each file."""
    found = ((path, path.stat()) for path in place.rglob("*"))
    return {str(path): (about.st_size, about.st_mtime_ns) for path, about in found}


def _arguments(rng: random.Random, place: str) -> list[str]:
    place = rng.choice((place,) * 18 + ("nowhere", "new.run"))
    runs = rng.choice((["new.run"], ["new.run", "other.run"], ["hostile.run"], ["missing"], ["."]))
    team, tag = ["--team", rng.choice(("padua", "lab", *TEAMS))], rng.choice(("bm25", *TAGS))
    said = _some(
        rng,
        {
            "--type": ("automatic", "manual", "x", ""),
            "--priority": NUMBERS,
            "--answer": ("fields=title", "fields=x", "fields", "=", "x=y"),
            "--description": ("<script>", "\x1b[2J", "a\nb"),
            "--received": TIMES,
            "--tag": TAGS,
            "--task": ("adhoc", "x", ""),
        },
    )
    task = _some(rng, {"--task": ("adhoc", "adhoc", "x")})
    output = rng.choice((["-o", "out"], ["-o", "new.run"], ["-o", place], ["-o", "no/such"], []))
    scoring = _some(rng, {"--judgments": ("1", "2", ""), "--measure": MEASURES, "--alpha": NUMBERS})
    choices: list[list[str]] = [
        ["submit", place, *runs, *team, *said],
        ["submit", place, *runs, *team, *said],
        ["submit", place, *runs, "--from", "table.csv", "--add-teams"],
        ["submit", place, *runs, "--from", "table.csv", "--column", rng.choice(("tag=team", "x"))],
        ["replace", place, tag, *runs, *said],
        ["withdraw", place, tag, rng.choice(("a reason", "", "<b>"))],
        ["purge", place, rng.choice((tag, "gone")), "a reason"],
        ["check", *runs, "--rules", rng.choice(("pack", place)), *_form(rng, "errlog"), *output],
        ["team", "add", place, rng.choice(TEAMS), "--contact", "a@b.c"],
        ["team", "list", place],
        ["list", place, *_some(rng, {"--state": ("all", "refused", "x"), "--team": TEAMS})],
        ["show", place, tag, *_form(rng)],
        ["init", rng.choice(("made", place, "new.run", "no/such/folder")), "--rules", "rules.toml"],
        ["pack", place, *output],
        ["pool", place, *task, *_some(rng, {"--depth": NUMBERS}), *output],
        ["judgments", place, "qrels", "--version", rng.choice(("1", "2", "../x", "")), *task],
        ["score", place, *task, *scoring, *_form(rng)],
        [
            "standing",
            place,
            runs[0],
            *task,
            *scoring,
            *_some(rng, {"--baseline": ("other.run", "x")}),
        ],
        ["history", rng.choice((place, "board.csv", "x")), *_some(rng, {"--measure": MEASURES})],
        ["sheets", place, *task, *output],
        ["overview", place, *task, *output],
        ["packet", place, "--team", rng.choice(TEAMS), *output],
        ["release", place, *task, *_some(rng, {"--date": TIMES, "--seed": NUMBERS})],
        ["retract", place, rng.choice(("adhoc-1", "x", "../x")), "a reason"],
        ["site", place, *output],
        ["verify", place, *_form(rng)],
        ["export", place, *output],
    ]
    chosen = rng.choice(choices)
    if rng.random() < 0.05:
        chosen.pop(rng.randrange(1, len(chosen)))
    if rng.random() < 0.05:
        chosen.insert(rng.randrange(len(chosen) + 1), rng.choice(("--nope", "", "-", "\x1b[0m")))
    return chosen


def _form(rng: random.Random, *more: str) -> list[str]:
    return rng.choice(([], ["--format", rng.choice(("text", "json", "csv", "x", *more))]))


def _some(rng: random.Random, options: dict[str, tuple[str, ...]]) -> list[str]:
    chosen = rng.sample(
        sorted(options), rng.randrange(len(options) + 1) // 2 + (rng.random() < 0.2)
    )
    return [part for name in chosen for part in (name, rng.choice(options[name]))]


attack = Cases("campaigns", campaign_case)
