"""Files whose names, columns and values hold control characters or very much text, and no table.

Whatever a command says of one, on standard error, is printable lines of bounded length.
"""

from __future__ import annotations

import contextlib
import json
import random
import tempfile
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

from studies.attack import Outcome
from studies.attack.reports import output, texts
from studies.attack.work.in_order import in_worker, work

LONGEST = 700
"""Characters of a line: 600 of a message, and who says it."""

COMMANDS = (
    *("evaluate FILE r.run -m AP", "evaluate q.qrels FILE -m AP", "check FILE FILE"),
    *("compare --scores FILE", "compare q.qrels r.run FILE -m AP", "labels FILE", "pool FILE"),
    *("sessions q.qrels FILE -m sDCG", "online measure FILE", "online preference FILE"),
    *("answers FILE FILE", "fuse FILE r.run", "judges FILE FILE", "report --scores FILE -o out"),
    *("evaluate q.qrels r.run -m FILE", "evaluate q.qrels r.run --input-format FILE", "FILE"),
    *("plot FILE q.qrels r.run", "evaluate q.qrels r.run -m AP -o FILE/x", "measures FILE"),
    *("compare q.qrels r.run r.run -m AP -b FILE", "evaluate --FILE a b"),
)

ENDINGS = (".run", ".csv", ".tsv", ".json", ".jsonl", ".xml", ".parquet", ".yaml", "")


def attack(seed: int, cases: int) -> Iterator[Outcome]:
    """Yield what commands say of such files."""
    return in_worker(__name__, seed, cases)


def content(draw: random.Random, text: str) -> str:
    """Make something that is nearly one of the formats."""
    names = draw.sample(["topic", "doc", "score", "grade", "system", "page", "query", text], 4)
    rows = [[draw.choice(["1", "a", "2.5", text]) for _ in names] for _ in range(3)]
    records = [dict(zip(names, row, strict=True)) for row in rows]
    between = draw.choice(",\t ;")
    lines = [between.join(row) for row in ([names, *rows] if draw.random() < 0.7 else rows)]
    return draw.choice(
        [
            "\n".join(lines),
            json.dumps(draw.choice([records, {text: records}, {text: {text: text}}, {"1": text}])),
            "\n".join(map(json.dumps, records)),
            f"<{text}>",
            f"<sessiontrack2013><session num='{text}'/></sessiontrack2013>",
            f"1 Q0 a 1 {text} t\n",
            f"1 0 a {text}\n",
            f"# ir_metadata.start\n# {text}: [\n# ir_metadata.end\n1 Q0 a 1 2 t\n",
            text,
        ]
    )


def cases(seed: int) -> Iterator[tuple[str, Callable[[], Outcome]]]:
    """Yield commands on files without end."""
    draw = random.Random(seed)
    every = [*texts(seed), "x" * 200_000, "\x1b[31m" * 40_000, "\n" * 200_000, "\u202e" * 60_000]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "q.qrels").write_text("1 0 a 1\n")
        (folder / "r.run").write_text("1 Q0 a 1 2.0 t\n")
        while True:
            text, command = draw.choice(every), draw.choice(COMMANDS)
            # It stays in the folder, whatever the text is.
            called = (draw.choice(["a", text]) + draw.choice(ENDINGS)).replace("/", "_") or "a"
            written = content(draw, text)
            said = f"{command} {called[:60]!a}: {written[:60]!a}"
            yield said, partial(judged, said, folder, command, called, written)


def judged(name: str, folder: Path, command: str, called: str, written: str) -> Outcome:
    """Give a file to a command, and look at what it says."""
    path = folder / called
    assert path.parent == folder, "nothing is written elsewhere"
    # Where no file can be called so, what is said of that counts.
    with contextlib.suppress(OSError, ValueError):
        path.write_bytes(written.encode("utf-8", "surrogatepass"))
    try:
        # Blanks do not part an argument.
        status, _, said = output(folder, command.replace("FILE", "TEXT"), called)
    except BaseException as error:
        return Outcome(name, "finding", f"{type(error).__name__}: {str(error)[:150]!a}")
    finally:
        with contextlib.suppress(OSError, ValueError):
            path.unlink()
    for line in said.split("\n"):
        if not line.isprintable() or len(line) > LONGEST:
            return Outcome(name, "finding", f"{len(line)} characters are said: {line[:150]!a}")
    return Outcome(name, "refused" if status else "right")


if __name__ == "__main__":
    work(cases)
