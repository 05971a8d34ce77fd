"""How soon commands begin: help of every command, and a short evaluation.

    python -m benchmarks.startup [--repeat N] [--data DIR]

Each process follows one of `import click`, or of `import numpy, polars`, so that both see the same
load of the machine: what is told are medians of differences and of ratios of such pairs. Modules
are compiled before, as installers do, in a folder of their own, whatever the environment says.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median

from benchmarks.datasets import DATA_SETS, DEFAULT_FOLDER, HERE
from benchmarks.process import Failure, Timing, timed, warm
from benchmarks.tables import Row, ratio, table
from benchmarks.tasks import MEASURES

CLICK = [sys.executable, "-c", "import click"]
ARRAYS = [sys.executable, "-c", "import numpy, polars"]
MODULE = [sys.executable, "-m", "cranfield"]
DATA = DATA_SETS["A"]

Pairs = list[tuple[Timing, Timing]]


def commands() -> Iterator[tuple[str, ...]]:
    """Yield all commands and groups of commands, by their words."""
    import click

    from cranfield.cli.main import app

    def walk(words: tuple[str, ...], command: click.Command) -> Iterator[tuple[str, ...]]:
        yield words
        if isinstance(command, click.Group):
            context = click.Context(command)
            for name in command.list_commands(context):
                one = command.get_command(context, name)
                if one is not None:
                    yield from walk((*words, name), one)

    return walk((), app)


def started() -> dict[str, list[str]]:
    """Return what is timed beside `import click`, by name."""
    found = {"--version": [*MODULE, "--version"]}
    script = Path(sysconfig.get_path("scripts")) / "cranfield"
    if script.exists():
        found |= {f"{word}, the script": [str(script), word] for word in ("--version", "--help")}
    every = {" ".join([*words, "--help"]): [*MODULE, *words, "--help"] for words in commands()}
    wrong = {"evaluate --wrong": [sys.executable, "-c", _WRONG]}
    return found | every | wrong


_WRONG = """
import sys
from cranfield.cli.main import run
sys.argv = ["cranfield", "evaluate", "--wrong"]
assert run() == 2
"""


def evaluation(folder: Path, out: Path) -> list[str]:
    """Return the command that scores data set A."""
    words = [*MODULE, "evaluate", str(DATA.judgments.path(folder))]
    words += map(str, DATA.run_paths(folder))
    words += [word for measure in MEASURES for word in ("-m", measure)]
    return [*words, "--format", "json", "-o", str(out)]


def startup(folder: Path, repeat: int) -> str:
    """Time all commands in turn, and lay out what they take as a table."""
    with tempfile.TemporaryDirectory(prefix="cranfield-bench-") as scratch:
        given = {name: os.environ.get(name) for name in _COMPILED}
        os.environ |= {"PYTHONPYCACHEPREFIX": scratch, "PYTHONDONTWRITEBYTECODE": ""}
        try:
            rows = list(_rows(folder, repeat, Path(scratch)))
        finally:
            for name, before in given.items():
                os.environ.pop(name)
                if before is not None:
                    os.environ[name] = before
    title = "Start of commands: medians; more than `import click`, ratio to `import numpy, polars`"
    return table(title, ("wall s", "cpu s", "more wall", "more cpu", "ratio"), rows)


_COMPILED = ("PYTHONPYCACHEPREFIX", "PYTHONDONTWRITEBYTECODE")


def _rows(folder: Path, repeat: int, scratch: Path) -> Iterator[Row]:
    warm([DATA.judgments.path(folder), *DATA.run_paths(folder)])
    arrays = _beside(CLICK, ARRAYS, repeat, scratch)
    if isinstance(arrays, Failure):
        yield "import numpy, polars", arrays
        return
    whole = median(second.wall for _, second in arrays)
    yield "import numpy, polars", _cells(arrays, whole)
    for name, command in started().items():
        found = _beside(CLICK, command, repeat, scratch)
        yield name, found if isinstance(found, Failure) else _cells(found, whole)
    found = _beside(ARRAYS, evaluation(folder, scratch / "out.json"), repeat, scratch)
    if isinstance(found, Failure):
        yield "evaluate, data set A", found
        return
    told = [f"{median(getattr(one, of) for _, one in found):.3f}" for of in ("wall", "cpu")]
    pairs = [(second, first) for first, second in found]
    yield "evaluate, data set A", [*told, "", "", str(ratio(pairs))]


def _cells(pairs: Pairs, whole: float) -> Sequence[str]:
    wall = median(second.wall for _, second in pairs)
    cpu = median(second.cpu for _, second in pairs)
    more = (
        median(getattr(second, of) - getattr(first, of) for first, second in pairs)
        for of in ("wall", "cpu")
    )
    return [f"{wall:.3f}", f"{cpu:.3f}", *(f"{one:+.3f}" for one in more), f"{wall / whole:.2f}"]


def _beside(
    first: Sequence[str], second: Sequence[str], repeat: int, scratch: Path
) -> Pairs | Failure:
    """Time two commands in turn, after each was run once."""
    found: Pairs = []
    for _ in range(1 + repeat):
        pair: list[Timing] = []
        for command in (first, second):
            timing = timed(command, scratch / "stdout", scratch / "stderr")
            if isinstance(timing, Failure):
                return timing
            pair.append(timing)
        found.append((pair[0], pair[1]))
    return found[1:]


def main() -> None:
    options = _options()
    script = [sys.executable, str(HERE / "generate.py"), "--out", str(options.data)]
    subprocess.run([*script, "--only", DATA.name], check=True)
    print(startup(options.data, options.repeat), end="")


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=5)
    parser.add_argument("--data", type=Path, default=DEFAULT_FOLDER)
    return parser.parse_args()


if __name__ == "__main__":
    main()
