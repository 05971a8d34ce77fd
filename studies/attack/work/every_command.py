"""Every command with any of its options, good and hostile values, beside files of all kinds."""

from __future__ import annotations

import random
import shutil
import socket
from functools import cache
from pathlib import Path

import click

import studies
from cranfield.cli.main import app
from studies.attack.grammar import hostile_measure
from studies.attack.work.cases import pick, words

EXAMPLES = Path(studies.__path__[0]).parent / "docs" / "examples"
GOOD = {
    "qrels": (
        *(("qrels.txt",), ("qrels.txt",), ("subtopics.txt",), ("sampled.txt",), ("classes.txt",)),
    ),
    "runs": (("bm25.run",), ("bm25.run", "dense.run"), ("bm25.run", "dense.run"), ("*.run",)),
    "run": (("bm25.run",),),
    "answers": (("answers.csv",), ("one.matches",), ("assignments.jsonl",), ("summaries.csv",)),
    "judges": (("gpt.jsonl",), ("gpt.jsonl", "llama.txt")),
    "labels": (("crowd.csv",),),
    "sessions": (("sessions.csv",), ("log.xml",)),
    "data": (("experiment.csv",),),
    "units": (("experiment.csv",),),
    "logs": (("log.csv",),),
    "names": (("AP",), ("nDCG", "tukey"), ("Moffat2008",), ()),
    "name": (("AP",), ("nDCG",), ("map",)),
    "measure": (("P@3",), ("AP@2",), ("nDCG@3",)),
    "shell": (("bash",), ("zsh",), ("fish",)),
    "kind": tuple((one,) for one in words("box means pairs scores tau forest risk difficulty x")),
}
"""Arguments by their name."""
FILES = words(
    "missing sub empty no*match [ ** - hostile.txt irds:x . / ~ junk.gz junk.json junk.parquet"
    " dangling sock /proc/self/mem /dev/null qrels.txt bm25.run nuggets.csv ndcg.csv scores.csv"
    " http://[::1 file://x memory://x zip://a::b s3:// log.xml two.gz"
)
NUMBERS = words(
    "1 2 3 10 0 -1 0.5 0.05 1.5 x nan inf -inf 1e400 1e-400 1_0 0x1 １ +-1 1,5 100%"
    " 99999999999999999999 9223372036854775808 2147483648 -0 1e3 5%"
)
TEXTS = (
    *("", "x", "-", "--", "[/]", "\x1b[2J", "a\nb", "é", "\u202e", "x" * 3_000, "a=b", "a=1,b=2"),
    *("=",),
    *words(", : 1:2 AP P@3 bm25 dense all holm tukey d01 1 {} %s"),
    *("<b>", "\x85", "\u2028", "$(x)", "*", "\\", '"', "'", "topic=doc", "0.5,0.5", "10:100%,50:2"),
)
OUTPUTS = ("out.txt", "out.csv", "out.html", "out.svg", "out.parquet", "sub/out.json", "made")
BAD_OUTPUTS = ("no/such/out", "sub", "", "qrels.txt/out", "x" * 300, "sub/", "dangling/x", "\x1b")
SLOW = {"backend", "scheduler", "jobs", "workers"}
"""Options that make processes; what they do is attacked elsewhere."""
LONG = {("demo",), ("study", "scales")}
"""Commands that take more than a few seconds with any input."""
XML = (
    '<sessiontrack2013><session num="1"><topic num="1"/><interaction num="1" starttime="0">'
    '<query>a</query><results><result rank="1"><docno>d01</docno></result></results></interaction>'
    '<currentquery starttime="1"><query>b</query></currentquery></session></sessiontrack2013>'
)
LOG = "page,query,user,rank,doc,clicked\np1,a,u1,1,d1,1\np1,a,u1,2,d2,0\np2,b,u2,1,d1,0\n"


@cache
def commands() -> dict[tuple[str, ...], click.Command]:
    """Return all commands by their words."""
    found: dict[tuple[str, ...], click.Command] = {}

    def below(group: click.Command, called: tuple[str, ...], context: click.Context) -> None:
        if not isinstance(group, click.Group):
            found[called] = group
            return
        for name in group.list_commands(context):
            one = group.get_command(context, name)
            assert one is not None
            below(one, (*called, name), click.Context(one, parent=context, info_name=name))

    below(app, (), click.Context(app))
    # Campaigns are attacked with data of their own.
    return {name: one for name, one in found.items() if name[0] != "campaign" and name not in LONG}


def prepare(folder: Path) -> None:
    """Copy the files that commands read to a folder, once."""
    if (folder / "qrels.txt").exists():
        return
    for path in EXAMPLES.iterdir():
        shutil.copy(path, folder / path.name)
    (folder / "log.xml").write_text(XML)
    (folder / "log.csv").write_text(LOG)
    (folder / "two.gz").write_bytes(b"\x1f\x8b\x08\0")
    (folder / "dangling").symlink_to("nowhere")
    with socket.socket(socket.AF_UNIX) as one:
        one.bind("sock")


def some_command(rng: random.Random, folder: Path) -> list[str]:
    called = rng.choice([*commands()])
    command = commands()[called]
    words: list[str] = []
    rest = [one for one in command.params if isinstance(one, click.Argument)]
    options = [one for one in command.params if isinstance(one, click.Option)]
    for one in rest:
        bad = rng.random() < 0.08
        good = GOOD.get(str(one.name), (("x",),))
        words += [rng.choice((*FILES, *TEXTS))] if bad else rng.choice(good)
    if rng.random() < 0.03:
        words += ["-"] * rng.choice((1, 2))
    given: list[str] = []
    for option in rng.sample(options, min(len(options), rng.choice((0, 1, 1, 2, 3, 5)))):
        if option.name not in SLOW:
            given += _given(rng, option, folder)
    if any(one.name == "measure" for one in options) and rng.random() < 0.6:
        given += ["-m", rng.choice(("P@3", "AP", "nDCG@5", "RR"))]
    made = [*given, *words] if rng.random() < 0.7 else [*words, *given]
    if rng.random() < 0.03 and made:
        made.pop(rng.randrange(len(made)))
    if rng.random() < 0.03:
        made.insert(rng.randrange(len(made) + 1), rng.choice(("--nope", "-x", "--help", "--", "")))
    return [*called, *(one.replace("\0", "") for one in made)]


def _given(rng: random.Random, option: click.Option, folder: Path) -> list[str]:
    name = rng.choice([*option.opts, *option.secondary_opts])
    if option.is_flag or option.count:
        return [name]
    kind, bad = option.type, rng.random() < 0.15
    if isinstance(kind, click.Choice) and not bad:
        value = str(rng.choice([*kind.choices]))
    elif name in {"-o", "--output", "--report", "--save"}:
        value = rng.choice(BAD_OUTPUTS if bad else OUTPUTS)
    elif name in {"-m", "--measure", "--measures"} and not bad:
        value = rng.choice(("P@3", "AP", "nDCG@5", "RR", hostile_measure(rng, folder)))
    else:
        how = pick(rng, number=4, text=2, file=2)
        value = rng.choice({"number": NUMBERS, "text": TEXTS, "file": FILES}[how])
        if not bad and isinstance(kind, (click.types.IntParamType, click.types.FloatParamType)):
            value = rng.choice(NUMBERS[:8])
    return [f"{name}={value}"] if name.startswith("--") and rng.random() < 0.3 else [name, value]
