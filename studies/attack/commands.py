"""Hostile command lines: exit status 0 or 2, an error in one line, no file half written."""

from __future__ import annotations

import os
import random
import subprocess
import sys
from pathlib import Path

import cranfield
from studies.attack.grammar import hostile_measure
from studies.attack.reading.spoil import hostile_text
from studies.attack.work import every_command
from studies.attack.work.cases import FindingError, pick, words
from studies.attack.work.in_process import check, files_in, in_this_process
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
    "-m": words("AP nDCG@10 P@5 all_trec official map num_q RBP(p=0.5) success ERR"),
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
    *("", "-1", "0", "x", "99999999999999999999", "9223372036854775808", "nan", "1e3", "é"),
    *("[/]", "--", "-"),
)
BAD_OUTPUT = ("no/such/out", "sub", "", "qrels/out", "x" * 300, "sub/")
BAD_ENCODING = ("nonsense", "utf-16", "rot13", "base64", "ascii", "utf-7", "idna", "é")
BAD_FILES = (
    *("missing", "sub", "empty", "no*match", "[", "**", "", "-", "x" * 5000, "hostile.txt"),
    *("irds:x",),
)
MORE_FILES = (
    *("hostile.qrels", ".", "/", "a\nb", "~", "[a", "junk.gz", "junk.json", "junk.parquet"),
    *("qrels",),
)
FLAGS = words("-q --coverage --by-topic --help --nope -x --version -m --format --")


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
    """Run a command in this process, or sometimes in one of its own."""
    how = pick(rng, runs=5, every=5, process=0.03)
    if how == "process":
        return process_case(rng, folder)
    if how == "every":
        every_command.prepare(folder)
        arguments = every_command.some_command(rng, folder)
        given = rng.choice((b"", (every_command.EXAMPLES / "bm25.run").read_bytes()))
        return in_this_process(rng, folder, arguments, given, "", refusals=True)
    prepare(rng, folder)
    arguments = some_arguments(rng, folder)
    given = rng.choice((QRELS, RUN.format("stdin").encode(), b""))
    return in_this_process(rng, folder, arguments, given, _contents(folder, arguments))


STREAMS = (">/dev/null", ">/dev/full", ">&-", "2>&-", ">&- 2>&-", "<&-", "| head -c 1")


def process_case(rng: random.Random, folder: Path) -> bool:
    """Run the command as users do, with streams that are closed, full, endless, or not read."""
    prepare(rng, folder)
    before = files_in(folder)
    arguments = some_arguments(rng, folder)
    arguments = [os.fsdecode(one.encode("utf-8", "replace")) for one in arguments]
    streams = rng.choice(STREAMS)
    reproducer = f"cranfield {arguments!r} {streams}, {_contents(folder, arguments)}"
    command = ["bash", "-c", f'set -o pipefail; "$@" {streams}', "bash"]
    done = subprocess.run(
        [*command, sys.executable, "-m", "cranfield", *arguments],
        input=rng.choice((QRELS, RUN.format("stdin").encode(), b"")),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        cwd=folder,
        env=os.environ | {"PYTHONPATH": str(Path(cranfield.__file__).parents[1])},
        check=False,
    )
    said = done.stderr.decode("utf-8", "replace")
    if "2>" in streams:
        if done.returncode not in {0, 2}:
            raise FindingError(f"exit status {done.returncode}", reproducer, "status")
        return done.returncode == 0
    check(done.returncode, said, before, folder, arguments, reproducer)
    return done.returncode == 0


def _contents(folder: Path, arguments: list[str]) -> str:
    wild = any("*" in one or one in {".", "sub"} for one in arguments)
    names = [
        n
        for n in ("tag.run", "hostile.txt", "hostile.qrels", "junk.json")
        if n in arguments or wild
    ]
    return ", ".join(f"{name}: {(folder / name).read_bytes()!r}" for name in names)


attack = Cases("commands", command_case)
