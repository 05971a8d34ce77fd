"""Measure how long it takes from an empty machine to the first result of one's own.

    python -m studies.first_result [PYTHON]

Makes a fresh environment with PYTHON, installs this clone into it with pip, runs the demo, and
scores two files, by the command and in Python. Packages come from where pip takes them, without its
cache: installing depends on the network. Prints a table.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
QRELS = "q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 2\nq2 0 d4 0\n"
RUN = "q1 Q0 d2 1 0.9 A\nq1 Q0 d1 2 0.8 A\nq2 Q0 d3 1 0.7 A\nq2 Q0 d4 2 0.1 A\n"


def steps(python: str, folder: Path) -> list[tuple[str, list[str]]]:
    """Return the names and command lines of the steps."""
    own = str(folder / "env" / "bin" / "python")
    command = str(folder / "env" / "bin" / "cranfield")
    score = "import cranfield as cf; print(cf.evaluate('a.run', 'qrels.txt', 'AP').means())"
    install = [own, "-m", "pip", "install", "--quiet", "--no-cache-dir", str(ROOT)]
    return [
        ("an environment: python -m venv env", [python, "-m", "venv", str(folder / "env")]),
        ("pip install .", install),
        ("cranfield --help, the first time", [command, "--help"]),
        ("cranfield demo", [command, "demo"]),
        ("cranfield evaluate of two files", [command, "evaluate", "qrels.txt", "a.run"]),
        ("the same again", [command, "evaluate", "qrels.txt", "a.run"]),
        ("the same in Python", [own, "-c", score]),
    ]


def main(python: str = sys.executable) -> None:
    """Take the steps and print their times."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "qrels.txt").write_text(QRELS)
        (folder / "a.run").write_text(RUN)
        total = 0.0
        print(f"{'step':<40} {'seconds':>8} {'in all':>8}")
        for title, words in steps(python, folder):
            start = time.perf_counter()
            subprocess.run(words, cwd=folder, check=True, capture_output=True)
            spent = time.perf_counter() - start
            total += spent
            print(f"{title:<40} {spent:8.1f} {total:8.1f}", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
