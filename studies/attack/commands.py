"""Hostile command lines: exit status 0 or 2, an error in one line, no file half written."""

from __future__ import annotations

import io
import os
import random
import subprocess
import sys
import traceback
import warnings
from pathlib import Path
from unittest.mock import patch

from cranfield.cli.main import main
from studies.attack.grammar import hostile_measure
from studies.attack.reading.spoil import hostile_text
from studies.attack.work.cases import FindingError, HangError, pick, shown, where
from studies.attack.work.workers import Cases

RUN = "q1 Q0 d1 1 2.5 {0}\nq1 Q0 d2 2 1.5 {0}\nq2 Q0 d1 1 0.5 {0}\n"
QRELS = b"q1 0 d1 1\nq1 0 d2 0\nq2 0 d3 2\n"
TAGS = (
    "bm25",
    "[/x]",
    "[red]",
    "é",
    "\u202e",
    "\x1b[2J",
    "$x_%&#",
    "measure",
    "system",
    "\\",
    '"',
    "a,b",
)
FORMATS = ("table", "trec", "ir_measures", "csv", "json", "latex", "markdown", "html", "parquet")
GOOD = {
    "-m": (
        "AP",
        "nDCG@10",
        "P@5",
        "all_trec",
        "official",
        "map",
        "num_q",
        "RBP(p=0.5)",
        "success",
        "ERR",
    ),
    "-f": FORMATS,
    "-p": ("0", "4", "17"),
    "--ties": ("trec", "trec_eval-9", "id-ascending", "input", "rank"),
    "--topics": ("qrels", "intersection", "run"),
    "--unjudged": ("nonrelevant", "condensed"),
    "--negative": ("judged", "unjudged"),
    "--compat": ("trec_eval", "trec_eval-9", "trec_eval-10"),
    "--depth": ("1", "10", "1000000000"),
    "--jobs": ("1", "2"),
    "--encoding": ("utf-8", "latin-1"),
    "--input-format": ("auto", "trec"),
    "-o": ("out.txt", "sub/out.txt", "out.parquet"),
}
BAD = (
    "",
    "-1",
    "0",
    "x",
    "99999999999999999999",
    "9223372036854775808",
    "nan",
    "1e3",
    "é",
    "[/]",
    "--",
    "-",
)
BAD_OUTPUT = ("no/such/out", "sub", "", "qrels/out", "x" * 300, "sub/")
BAD_ENCODING = ("nonsense", "utf-16", "rot13", "base64", "ascii", "utf-7", "idna", "é")
BAD_FILES = (
    "missing",
    "sub",
    "empty",
    "no*match",
    "[",
    "**",
    "",
    "-",
    "x" * 5000,
    "hostile.txt",
    "irds:x",
)
MORE_FILES = (
    "hostile.qrels",
    ".",
    "/",
    "a\nb",
    "~",
    "[a",
    "junk.gz",
    "junk.json",
    "junk.parquet",
    "qrels",
)
FLAGS = (
    "-q",
    "--coverage",
    "--by-topic",
    "--help",
    "--nope",
    "-x",
    "--version",
    "-m",
    "--format",
    "--",
)


def prepare(rng: random.Random, folder: Path) -> None:
    (folder / "sub").mkdir(exist_ok=True)
    (folder / "qrels").write_bytes(QRELS)
    (folder / "good.run").write_text(RUN.format("good"))
    (folder / "tag.run").write_text(RUN.format(rng.choice(TAGS)))
    (folder / "empty").write_bytes(b"")
    (folder / "junk.gz").write_bytes(b"\x1f\x8bjunk")
    (folder / "junk.json").write_bytes(
        rng.choice((b"[1, {}]", b'{"q1": {"\\ud800": 1}}', b"[{}]", b"7"))
    )
    (folder / "junk.parquet").write_bytes(b"PAR1 junk PAR1")
    (folder / "hostile.txt").write_bytes(hostile_text(rng, "run"))
    (folder / "hostile.qrels").write_bytes(hostile_text(rng, "qrels"))


def some_arguments(rng: random.Random, folder: Path) -> list[str]:
    command = pick(rng, evaluate=20, measures=1, nonsense=0.3)
    if command == "measures":
        names = (hostile_measure(rng, folder), "nDCG", "map", "IPrec", "P", "success", "", "--help")
        return ["measures", *rng.sample(names, rng.choice((0, 1, 1, 1, 2)))]
    if command == "nonsense":
        return [rng.choice((*BAD, *FLAGS, "evaluate", "evalute")) for _ in range(rng.randrange(4))]
    arguments = ["qrels" if rng.random() < 0.8 else rng.choice(BAD_FILES + MORE_FILES)]
    for _ in range(rng.choice((1, 1, 1, 1, 2, 3))):
        usual = ("good.run", "tag.run", "*.run", "./good.run")
        arguments.append(rng.choice(usual if rng.random() < 0.9 else BAD_FILES + MORE_FILES))
    for _ in range(rng.choice((0, 1, 2, 3, 5))):
        option = rng.choice(("-m", "-m", "-f", "-o", *GOOD))
        odd = {"-o": BAD_OUTPUT, "--encoding": BAD_ENCODING, "-m": (hostile_measure(rng, folder),)}
        bad = rng.random() < 0.1
        arguments += [option, rng.choice(odd.get(option, BAD) if bad else GOOD[option])]
    if rng.random() < 0.15:
        arguments.insert(rng.randrange(len(arguments) + 1), rng.choice(FLAGS))
    if rng.random() < 0.05:
        arguments.pop(rng.randrange(len(arguments)))
    return ["evaluate", *(one.replace("\x00", "") for one in arguments)]


def command_case(rng: random.Random, folder: Path) -> bool:
    """Run a command of runs and judgments."""
    prepare(rng, folder)
    arguments = some_arguments(rng, folder)
    given = rng.choice((QRELS, RUN.format("stdin").encode(), b""))
    return in_this_process(rng, folder, arguments, given, _contents(folder, arguments))


def in_this_process(
    rng: random.Random,
    folder: Path,
    arguments: list[str],
    given: bytes,
    contents: str,
    *,
    refusals: bool = False,
) -> bool:
    """Run a command in this process, streams and arguments replaced.

    Some commands may also end in 1, which says that what they looked at was refused.
    """
    before = _files(folder)
    inputs = io.TextIOWrapper(io.BytesIO(given))
    encoding = rng.choice(("utf-8", "utf-8", "utf-8", "ascii", "cp1252"))
    out = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    err = io.TextIOWrapper(io.BytesIO(), encoding=encoding, errors="backslashreplace")
    status: object = 0
    reproducer = f"cranfield {arguments!r}, output in {encoding}, {contents}"
    with (
        patch.multiple(sys, argv=["cranfield", *arguments], stdin=inputs, stdout=out, stderr=err),
        warnings.catch_warnings(),
    ):
        try:
            main()
        except SystemExit as stop:
            status = stop.code or 0
        except (HangError, KeyboardInterrupt):
            raise
        except BaseException as error:
            text = traceback.format_exception_only(error)[-1].strip()
            key = f"{type(error).__name__} at {where(error)}"
            raise FindingError(f"{shown(text)} at {where(error)}", reproducer, key) from None
    err.flush()
    said = err.buffer.getvalue().decode("utf-8", "replace")
    _check(0 if refusals and status == 1 else status, said, before, folder, arguments, reproducer)
    return status == 0


def process_case(rng: random.Random, folder: Path) -> bool:
    """Run the command as users do, in a process of its own."""
    prepare(rng, folder)
    before = _files(folder)
    arguments = some_arguments(rng, folder)
    arguments = [os.fsdecode(one.encode("utf-8", "replace")) for one in arguments]
    given = rng.choice((QRELS, RUN.format("stdin").encode(), b""))
    reproducer = f"cranfield {arguments!r}, {_contents(folder, arguments)}"
    command = [sys.executable, "-m", "cranfield", *arguments]
    full = rng.random() < 0.1 and Path("/dev/full").exists()
    with Path("/dev/full" if full else os.devnull).open("wb") as out:
        done = subprocess.run(
            command, input=given, stdout=out, stderr=subprocess.PIPE, cwd=folder, check=False
        )
    reproducer += ", output to /dev/full" if full else ""
    said = done.stderr.decode("utf-8", "replace")
    _check(done.returncode, said, before, folder, arguments, reproducer)
    return done.returncode == 0


def _check(
    status: object, said: str, before: set[str], folder: Path, arguments: list[str], reproducer: str
) -> None:
    added = _files(folder) - before
    for name in added:
        (folder / name).unlink()
    if "Traceback" in said:
        raise FindingError(f"a traceback: {said.strip().splitlines()[-1]}", reproducer, "traceback")
    if status not in {0, 2}:
        raise FindingError(f"exit status {status}: {said}", reproducer, f"status {status}")
    if status == 2 and added:
        raise FindingError(f"an error, and yet a file {added}", reproducer, "file left")
    hidden = [name for name in added if name.rpartition("/")[2].startswith(".")]
    # A site says by a file of its own that it may be written over.
    if any(not name.endswith("/.cranfield-site") for name in hidden):
        raise FindingError(f"a temporary file {added} stays", reproducer, "temporary file")
    lines = [line for line in said.splitlines() if not line.startswith("cranfield: warning: ")]
    # What the parser of options refuses comes with the usage, and no command at all with the help.
    ours = status == 2 and lines and not lines[0].startswith(("Usage: ", "Error: "))
    if ours and (len(lines) != 1 or not lines[0].startswith("cranfield: error: ")):
        raise FindingError(f"the error is {said!r}", reproducer, "not one line")


def _files(folder: Path) -> set[str]:
    return {str(file.relative_to(folder)) for file in folder.rglob("*") if file.is_file()}


def _contents(folder: Path, arguments: list[str]) -> str:
    wild = any("*" in one or one in {".", "sub"} for one in arguments)
    names = [
        n
        for n in ("tag.run", "hostile.txt", "hostile.qrels", "junk.json")
        if n in arguments or wild
    ]
    return ", ".join(f"{name}: {(folder / name).read_bytes()!r}" for name in names)


attack = Cases("commands", command_case)
