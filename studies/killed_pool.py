"""Does a campaign of judging that is killed again and again ask for what an uninterrupted one does?

    python -m studies.killed_pool FOLDER [--kills N] [--next N] [--runs N] [--topics N]
        [--methods METHOD ...]

FOLDER holds public data as subfolder `trec8-adhoc` (qrels, runs). With each of some methods
`cranfield pool --next` asks for documents, and judgments of them are put at the end of a file,
until the pool is judged. Commands are killed by SIGKILL at random moments and started again, and
sometimes only a part of a batch is judged; there is no state but the file. What was judged, in its
order, is compared with the order that the method makes in one go.
"""

from __future__ import annotations

import argparse
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

import cranfield as cf
from cranfield.assess import Order
from cranfield.base.streams import stream

METHODS = ("MaxMean", "MTF", "Thompson")
SEED = 11


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("folder", type=Path)
    options.add_argument("--kills", type=int, default=20)
    options.add_argument("--next", type=int, default=20)
    options.add_argument("--runs", type=int, default=8)
    options.add_argument("--topics", type=int, default=4)
    options.add_argument("--methods", nargs="+", default=METHODS)
    given = options.parse_args()
    folder = given.folder / "trec8-adhoc"
    qrels = cf.read_qrels(folder / "qrels.trec8.adhoc.txt.gz")
    topics = sorted(qrels.topics)[: given.topics]
    with tempfile.TemporaryDirectory() as place:
        work = Path(place)
        (work / "runs").mkdir()
        for run in cf.read_runs(folder / "runs")[: given.runs]:
            kept = np.isin(np.array(run.topics)[run.codes], topics)
            cf.write_run(run.restricted(kept), work / "runs" / f"{run.name}.run", limit=100)
        pool = cf.assess.pool(work / "runs", 100)
        print(pool)
        for method in given.methods:
            wanted = cf.assess.order(pool, method, qrels, seed=SEED, batch=given.next)
            started = time.perf_counter()
            asked, kills, calls = campaign(work, wanted, given.next, given.kills)
            same = asked == by_topic(wanted)
            print(
                f"{method}: {kills} of {calls} commands killed, {sum(map(len, asked.values())):,}"
                f" documents asked for, {'all in the same order' if same else 'NOT THE SAME'}"
                f" ({time.perf_counter() - started:.0f} s)"
            )


def by_topic(order: Order) -> dict[str, list[str]]:
    """The documents of each topic in the order of a method."""
    frame = order.to_polars()
    return {topic: frame.filter(topic=topic)["doc"].to_list() for topic in order.pool.topics}


def campaign(
    work: Path, order: Order, size: int, kills: int
) -> tuple[dict[str, list[str]], int, int]:
    """Judge the pool by what the command asks for; with the kills and the calls."""
    random = stream(SEED)
    judged, sheet = work / "judged.txt", work / "next.txt"
    judged.write_text("")
    pool = order.pool
    relevant = {
        (pool.topics[topic], doc): int(grade >= 1)
        for topic, doc, grade in zip(pool.topic, pool.docs, order.grades, strict=True)
    }
    asked: dict[str, list[str]] = {topic: [] for topic in pool.topics}
    killed = calls = 0
    longest = 1.0
    command = [
        *(sys.executable, "-m", "cranfield", "pool", str(work / "runs")),
        *("--method", str(order.method), "--seed", str(SEED), "--next", str(size)),
        *("--output", str(sheet)),
    ]
    while True:
        sheet.unlink(missing_ok=True)
        so_far = ["--judged", str(judged)] if judged.stat().st_size else []
        calls += 1
        started = time.perf_counter()
        with subprocess.Popen([*command, *so_far]) as process:
            if killed < kills and random.random() < 0.7:
                try:
                    process.wait(longest * random.random())
                except subprocess.TimeoutExpired:
                    process.kill()
                    killed += 1
            status = process.wait()
        if status == -signal.SIGKILL:
            # Nothing is written, or a whole file that nobody looks at.
            continue
        if status:
            raise SystemExit(f"the command ended with status {status}")
        longest = time.perf_counter() - started
        lines = sheet.read_text().splitlines()
        if not lines:
            return asked, killed, calls
        if random.random() < 0.3:
            lines = lines[: 1 + int(random.integers(len(lines)))]
        with judged.open("a") as file:
            for line in lines:
                topic, _, doc = line.split()
                asked[topic].append(doc)
                file.write(f"{topic} 0 {doc} {relevant[topic, doc]}\n")


if __name__ == "__main__":
    main()
