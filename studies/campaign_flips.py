"""Is one flipped bit found, whichever file of a campaign it is in?

    python -m studies.campaign_flips FOLDER [--positions N] [--seed N]

FOLDER is made, and must not be there. It gets a campaign with everything in it: runs that were
accepted, refused, replaced, withdrawn and purged, two versions of judgments, scores, and releases,
one of them retracted. Then one bit is flipped in each file in turn, in the first byte, in the last,
and at random positions; in the registry in each page and in each byte of its header. Each time
`verify` has to name the file; of the registry, where a row is another one than before. Each file is
put back; in the end all is well.
"""

from __future__ import annotations

import argparse
import sqlite3
import sys
import time
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

import numpy as np

import cranfield as cf
from cranfield import campaign
from cranfield.base.streams import stream
from cranfield.campaign.store.events import KEYS
from cranfield.campaign.store.records import REGISTRY

RULES = """\
[campaign]
id = "flipped"
title = "A campaign whose bits flip"
keep_refused = false
[tasks.adhoc]
topics = "given/topics.txt"
runs_per_team = 10
missing_topics = "allow"
max_per_topic = 1000
types = ["automatic", "feedback", "manual"]
measures = ["AP", "nDCG@10"]
"""

PAGE, HEADER = 4096, 100


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--positions", type=int, default=5)
    options.add_argument("--seed", type=int, default=11)
    given = options.parse_args()
    news = prepared(given.folder)
    found = news.verify()
    print(found)
    random = stream(given.seed)
    tried: dict[str, list[int]] = defaultdict(lambda: [0, 0, 0, 0])
    missed: list[str] = []
    alone = harmless = 0
    tables = rows(news.folder / REGISTRY)
    started = time.perf_counter()
    for path in sorted(path for path in news.folder.rglob("*") if path.is_file()):
        data = path.read_bytes()
        name = path.relative_to(news.folder).as_posix()
        row = tried[kind_of(name)]
        row[0] += 1
        row[1] += len(data)
        for place in positions(name, len(data), given.positions, random):
            flipped = bytearray(data)
            flipped[place] ^= 1 << int(random.integers(8))
            path.write_bytes(flipped)
            named = {one.file for one in news.verify().problems}
            row[2] += 1
            row[3] += name in named
            alone += named == {name}
            if name in named:
                continue
            if name == REGISTRY and rows(path) == tables:
                harmless += 1
            else:
                missed.append(f"{name}: byte {place} of {len(data)}; named: {sorted(named)}")
        path.write_bytes(data)
    print(f"{'kind':30} files     bytes  flips  named")
    for kind, (files, size, flips, hits) in sorted(tried.items()):
        print(f"{kind:30} {files:5} {size:9,} {flips:6} {hits:6}")
    flips = sum(row[2] for row in tried.values())
    files = sum(row[0] for row in tried.values())
    print(
        f"{files} files, {flips:,} flips, {len(missed)} not named, {alone:,} named alone,"
        f" {harmless:,} without effect on rows, ",
        end="",
    )
    print(f"{time.perf_counter() - started:.0f} s; at the end {news.verify().heading()[0]}")
    print(*missed[:20], sep="\n")
    sys.exit(bool(missed) or not news.verify().ok)


def rows(path: Path) -> list[list[tuple[object, ...]]]:
    """Return the rows of all tables of a registry."""
    connection = sqlite3.connect(path)
    try:
        return [connection.execute(f"SELECT * FROM {name}").fetchall() for name in (*KEYS, "event")]
    finally:
        connection.close()


def positions(name: str, size: int, number: int, random: np.random.Generator) -> Iterator[int]:
    """Where bits are flipped in a file."""
    if size == 0:
        return
    if name == REGISTRY:
        yield from range(HEADER)
        for page in range(0, size, PAGE):
            yield page + int(random.integers(PAGE))
    yield from sorted({0, size - 1, *random.integers(size, size=number).tolist()})


def kind_of(name: str) -> str:
    """What a file is, for the table."""
    parts = name.split("/")
    if parts[0] == "releases" and len(parts) > 2:
        return "bag: " + "/".join(parts[2:4]) + "/*" * (len(parts) > 4)
    return parts[0] if len(parts) == 1 else f"{parts[0]}/*"


def prepared(folder: Path) -> campaign.Campaign:
    """Make a campaign with everything in it, from the collection that comes with the package."""
    covid = cf.bundled.trec_covid()
    (folder / "given").mkdir(parents=True)
    (folder / "given" / "topics.txt").write_text("\n".join(covid.qrels.topics))
    (folder / "campaign.toml").write_text(RULES)
    news = campaign.create(folder / "campaign", folder / "campaign.toml", actor="nicola")
    paths = []
    for run in covid.runs[:6]:
        paths.append(folder / f"{run.name}.run")
        cf.write_run(run, paths[-1], limit=50)
    for number, path in enumerate(paths):
        team = f"team{number // 2}"
        if number % 2 == 0:
            news.add_team(team, f"Team {number // 2}", contact=f"{team}@example.org")
        news.submit(path, team=team, type="automatic")
    broken = folder / "broken.run"
    broken.write_text("1 Q0 a 1 nan broken\n")
    news.submit(broken, team="team0", type="automatic")
    better = folder / "better.run"
    cf.write_run(covid.runs[0], better, limit=40)
    news.submit(better, team="team0", type="automatic", replaces=covid.runs[0].name)
    news.withdraw(covid.runs[5].name, "it was trained on the judgments")
    news.withdraw(covid.runs[4].name, "sent by mistake")
    news.purge(covid.runs[4].name, "the team asks for it")
    qrels = folder / "covid.qrels"
    cf.write_qrels(covid.qrels, qrels)
    for version in ("1", "2"):
        news.add_judgments(qrels, version=version)
    news.score()
    first = news.release(judgments="1")
    news.release(judgments="2", anonymous=True)
    news.retract(first.id, "the judgments were corrected")
    return news


if __name__ == "__main__":
    main()
