"""A campaign of thousands of runs: how long its commands take, and how large its folder is.

    python -m benchmarks.campaign_growth [--runs 3000] [--topics 250] [--folder DIR] [--times 3]

`benchmarks.make_campaign` makes a campaign with synthetic runs and scores by twenty measures: rows
of the registry, objects of a line each, and files of scores as scoring leaves them. Then each
command is a process of its own, whose time and peak memory are printed: the list of runs, the
board, the history, a new run of 100 documents a topic, and the board with it, which scores that
run. This process stays small, since a child's peak memory is never below its parent's.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.process import Failure, timed

DOCS = 100
"""Documents of each topic in the new run."""

OPENED = """
import sys
import cranfield as cf
news = cf.campaign.open(sys.argv[1])
print(news.rules.title, len(news.submissions()), "runs")
loaded = [name for name in ("numpy", "polars") if name in sys.modules]
print("loaded:", ", ".join(loaded) or "neither NumPy nor polars")
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--runs", type=int, default=3000)
    options.add_argument("--topics", type=int, default=250)
    options.add_argument("--times", type=int, default=3)
    options.add_argument("--folder", type=Path)
    given = options.parse_args()
    with tempfile.TemporaryDirectory() as made_here:
        folder = given.folder or Path(made_here)
        if not (folder / "news").is_dir():
            sizes = [str(given.runs), str(given.topics)]
            maker = [sys.executable, "-m", "benchmarks.make_campaign", str(folder), *sizes]
            subprocess.run(maker, check=True)
        measured(folder, given.topics, given.times)


def measured(folder: Path, topics: int, times: int) -> None:
    """Run each command some times, as a process of its own."""
    news = folder / "news"
    size = sum(path.stat().st_size for path in news.rglob("*") if path.is_file())
    parts = {
        part.name: sum(p.stat().st_size for p in [part, *part.rglob("*")] if p.is_file())
        for part in news.iterdir()
    }
    shown = ", ".join(f"{name} {bytes_ / 2**20:.1f}" for name, bytes_ in sorted(parts.items()))
    print(f"folder: {size / 2**20:.1f} MiB ({shown})")
    subprocess.run([sys.executable, "-c", OPENED, str(news)], check=True)
    command = [sys.executable, "-m", "cranfield", "campaign"]
    kept = {
        "list": [*command, "run", "list", str(news)],
        "board": [*command, "score", str(news)],
        "history": [*command, "history", str(news), "-m", "AP"],
    }
    for what, one in kept.items():
        for _ in range(times):
            show(what, one, folder)
    number = len(list(folder.glob("new*.run")))
    for k in range(number, number + times):
        tag = f"new{k}"
        run = folder / f"{tag}.run"
        with run.open("w") as file:
            for topic in range(401, 401 + topics):
                file.writelines(
                    f"{topic} Q0 d{(d * 7 + k) % 150} {d + 1} {DOCS - d} {tag}\n"
                    for d in range(DOCS)
                )
        show(
            "submit", [*command, "run", "submit", str(news), str(run), "--team", "team000"], folder
        )
        show("board, with a run to score", kept["board"], folder)


def show(what: str, command: list[str], folder: Path) -> None:
    found = timed(command, folder / "out.txt", folder / "err.txt")
    if isinstance(found, Failure):
        print(what, found, (folder / "err.txt").read_text()[-500:])
    else:
        print(f"{what}: {found.wall:.2f} s, {found.cpu:.2f} s of CPU, {found.peak:.0f} MiB")


if __name__ == "__main__":
    main()
