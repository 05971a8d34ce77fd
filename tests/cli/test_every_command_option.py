# ruff: noqa: E501 - tables of inputs and of command lines
"""Every option of every command changes the output, or is refused.

The pairs of commands and options are found by walking the commands, so that a new option needs an
entry in option_uses.txt: the words that give the option. Words before `::` are given without the
option too, where `a>b` takes file b in place of file a.
"""

from __future__ import annotations

import functools
import os
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import numpy as np
import pytest

from tests.cli.running import SETTINGS, commands, ended_with, in_settings

DOCS = [f"d{k:02}" for k in range(14)]


def trec(seed: int, tag: str, topics: Sequence[int] = range(1, 7)) -> str:
    """Make a run with ties, documents that nobody judged, and a topic without judgments."""
    draw = np.random.default_rng(seed)
    lines = []
    for topic in topics:
        docs = draw.permutation(DOCS)[: int(draw.integers(6, 10))]
        scores = np.sort(draw.integers(1, 7, len(docs)))[::-1]
        rows = zip(docs.tolist(), scores.tolist(), strict=True)
        lines += [f"q{topic} Q0 {d} {r} {s} {tag}" for r, (d, s) in enumerate(rows, 1)]
    return "\n".join(lines) + "\n"


def judgments(seed: int) -> str:
    draw = np.random.default_rng(seed)
    grades = [-1, 0, 0, 1, 1, 2, 3]
    lines = [f"q{t} 0 {d} {draw.choice(grades)}" for t in range(1, 6) for d in DOCS[:11]]
    return "\n".join([*lines, "q7 0 d01 1", "q8 0 d01 0"]) + "\n"


def as_csv(text: str, header: str, *fields: int) -> str:
    rows = (line.split() for line in text.splitlines())
    return "\n".join([header, *(",".join(row[k] for k in fields) for row in rows)]) + "\n"


def world(folder: Path) -> None:
    j = judgments(2).replace("-1", "0")
    q, a, b, c = judgments(1), trec(1, "a"), trec(2, "b"), trec(3, "c", (1, 2, 3, 4, 6))
    draw = np.random.default_rng(4)
    pages = [
        (
            f"p{k}",
            f"s{k // 2}",
            f"u{k // 2 % 5}",
            f"q{k % 3 + 1}",
            k,
            ("ctl", "new")[k // 2 % 5 % 2],
        )
        for k in range(40)
    ]
    rows = [
        f"{p},{s},{u},{q_},{r},{DOCS[(k + r) % 5]},{'ab'[(r + k) % 2]},{int(draw.random() < 0.5 / r)}"
        f",2026-01-01T{k * 20 // 60:02}:{k * 20 % 60:02}:00,{v}"
        for p, s, u, q_, k, v in pages
        for r in (1, 2, 3)
    ]
    log = "page,session,user,query,rank,doc,team,clicked,time,variant\n" + "\n".join(rows) + "\n"
    workers = [
        f"w{w},q{t},{d},{int(draw.integers(0, 3))}"
        for t in (1, 2, 3)
        for d in DOCS[:6]
        for w in range(3)
    ]
    files: dict[str, str] = {
        "q.txt": q,
        "rules.toml": '[campaign]\nid = "n"\ntitle = "N"\n[tasks.adhoc]\n[tasks.other]\n',
        "a.run": a,
        "b.run": b,
        "c.run": c,
        "j.txt": j,
        "two.q": "".join(
            f"q{t} {s} {d} {int(draw.integers(0, 2))}\n"
            for t in range(1, 6)
            for d in DOCS
            for s in (1, 2)
        ),
        # What options of reading are for.
        "q.dat": as_csv(q, "topic,doc,grade", 0, 2, 3),
        "j.dat": as_csv(j, "topic,doc,grade", 0, 2, 3),
        **{
            f"{n}.dat": as_csv(t, "topic,doc,score", 0, 2, 4)
            for n, t in zip("abc", (a, b, c), strict=True)
        },
        **{
            name: as_csv(text, "thema,dok,wert", 0, 2, 4)
            for name, text in (("odd.csv", a), ("odd-b.csv", b), ("odd-c.csv", c))
        },
        "odd-q.csv": as_csv(q, "thema,dok,note", 0, 2, 3),
        "odd-j.csv": as_csv(j, "thema,dok,note", 0, 2, 3),
        "many.csv": "engine,"
        + as_csv(a, "topic,doc,score", 0, 2, 4).replace("\nq", "\nx,q").rstrip()
        + "\n"
        + as_csv(b, "", 0, 2, 4).replace("\nq", "\ny,q").strip()
        + "\n",
        "odd2.csv": "engine," + as_csv(c, "topic,doc,score", 0, 2, 4).replace("\nq", "\nc,q"),
        "tags.run": a + b,
        "three.run": re.sub(r"(?m)^(\S+) Q0 (\S+) \S+ (\S+).*", r"\1 \2 \3", a),
        "vague.run": "q1 d1 3\nq1 d2 3\nq2 d1 1\nq2 d2 2\n",
        "dup.run": a + "q1 Q0 d13 99 9 a\nq1 Q0 d13 98 8 a\n",
        "dup.q": q + "q1 0 d13 1\nq1 0 d13 2\n",
        "bad.run": "q1 Q0 d1\n",
        "ungraded.csv": "topic,doc,grade\nq1,d13,\n" + as_csv(q, "", 0, 2, 3).lstrip(),
        "lengths.csv": "doc,length\n" + "".join(f"{d},{20 * k + 10}\n" for k, d in enumerate(DOCS)),
        "excluded.csv": "topic,doc\n"
        + "".join(f"q{t},{d}\n" for t in range(1, 6) for d in DOCS[:7]),
        "groups.csv": "doc,group\n" + "".join(f"{d},{'xyz'[k % 3]}\n" for k, d in enumerate(DOCS)),
        "intents.csv": "topic,intent,probability,kind\n"
        + "".join(f"q{t},1,0.3,inf\nq{t},2,0.7,nav\n" for t in range(1, 6)),
        "probabilities.csv": "topic,doc,probability\n"
        + "".join(
            f"q{t},{d},{(3 * k + t) % 10 / 10}\n" for t in range(1, 6) for k, d in enumerate(DOCS)
        ),
        "s.csv": "topic,a,b,c,d\n"
        + "".join(
            f"q{k},{','.join(f'{x:.3f}' for x in draw.random(4) ** [1, 0.6, 1.4, 2])}\n"
            for k in range(20)
        ),
        "predictors.csv": "topic,wig,nqc\n"
        + "".join(f"q{k},{k * 7 % 11},{k * 3 % 5}\n" for k in range(20)),
        "scores.csv": "topic,system,measure,score\n"
        + "".join(f"q{k},a,AP,{k % 7}\nq{k},a,RR,{k % 3}\n" for k in range(20)),
        "gaps.csv": "topic,a,b,c\n"
        + "".join(
            f"q{k},{k % 7 / 10},{'' if k == 3 else k % 5 / 9},{k % 3 / 8}\n" for k in range(12)
        ),
        "teams.csv": "system,team\na,x\nb,x\nc,y\nd,y\n",
        "d.run": trec(9, "d"),
        "tags.txt": "a\nb\n",
        "families.csv": "name,family\nj,f\na,f\nb,g\nc,g\n",
        "log.csv": log,
        "twice.csv": log + log.splitlines()[1] + "\n",
        "after.csv": "page,session,user,query,rank,doc,team,clicked,time,variant\n"
        + "\n".join(rows[60:])
        + "\n",
        "pages.csv": "page,query\np1,q1\np2,q2\n",
        "marks.csv": "page,label\n" + "".join(f"p{k},{k % 2}\n" for k in range(40)),
        "users.csv": "user,variant,side,m,n,pre,big,day,seg\n"
        + "".join(
            f"u{k},{'ab'[k % 2]},{'ba'[k % 3 == 0]},{draw.integers(0, 9)},{k % 4 + 1},{draw.integers(0, 9)},{k % 2 * 5 + k % 3},2026-01-{k // 10 + 1:02}T10:{k % 10:02}:00,{'xy'[k // 2 % 2]}\n"
            for k in range(60)
        ),
        "mixed.csv": "user,variant,m\n"
        + "".join(f"u{k},{'ab'[k % 2]},{k % 5}\n" for k in range(30))
        + "u1,a,3\n",
        "holes.csv": "user,variant,m\n"
        + "".join(f"u{k},{'ab'[k % 2]},{k % 5 or ''}\n" for k in range(30)),
        "units.csv": "user,page\n" + "".join(f"u{k},p{k}\n" for k in range(20)),
        "labels.csv": "worker,topic,doc,grade\n" + "\n".join(workers) + "\n",
        "wide.csv": "topic,doc,ann,bob\nq1,d00,1,2\nq1,d01,0,0\n",
        "labels.txt": "\n".join(row.replace(",", " ") for row in workers) + "\n",
        "again.csv": "worker,topic,doc,grade\nw0,q1,d00,2\n"
        + "\n".join(workers[1:])
        + "\nw0,q1,d00,0\n",
        "nothing.csv": "worker,topic,doc,grade\n" + "\n".join(workers[1:]) + "\nw0,q1,d00,\n",
        "gold.q": "".join(
            f"q{t} 0 {d} {int(draw.integers(0, 3))}\n" for t in (1, 2) for d in DOCS[:6]
        ),
        "sessions.csv": "session,topic,query,rank,doc\n"
        + "".join(
            f"s{s},q{s},{n},{r},{DOCS[(5 * s + 4 * n + 4 * r) % 14]}\n"
            for s in (1, 2, 3)
            for n in (1, 2)
            for r in range(1, 6)
        ),
        "no-topic.csv": "session,query,rank,doc\n"
        + "".join(
            f"s{s},{n},{r},{DOCS[(5 * s + 4 * n + 4 * r) % 14]}\n"
            for s in (1, 2, 3)
            for n in (1, 2)
            for r in range(1, 6)
        ),
        "of-session.csv": "session,topic\ns1,q1\ns2,q2\ns3,q3\n",
        "clicks.csv": "session,query,rank\ns1,1,2\ns2,1,1\ns3,2,3\n",
        "nuggets.csv": "topic,nugget,importance\nq1,born,vital\nq1,died,okay\nq2,height,okay\nq2,age,vital\n",
        "answers.csv": "topic,system,nugget,length\nq1,one,died,100\nq1,two,born,50\nq2,two,age,50\nq2,one,height,10\n",
        "unnamed.csv": "topic,nugget,length\nq1,born,100\nq2,height,50\n",
        "assigned.jsonl": "",
        "citations.csv": "topic,system,sentence,citation,support\nq1,one,1,d1,full\nq1,two,1,d2,none\n",
        "texts.csv": "topic,system,text\nq1,one,a b-c d\nq1,two,a x y\n",
        "references.csv": "topic,text\nq1,a b c-d e\n",
        "preferences.csv": "topic,first,second,preferred\n"
        + "".join(f"q{t},{x},{y},{x}\n" for t in range(1, 6) for x, y in ("ab", "bc"))
        + "q1,a,b,b\nq1,a,b,b\nq1,a,c,c\n",
        "template.txt": "{topic} {document}",
        "topics.csv": "id,query\nq1,x\n",
        "prompts.jsonl": '{"id": "1", "topic": "q1", "doc": "d01"}\n',
        "replies.jsonl": '{"id": "1", "text": "grade 1"}\n',
        "shards.csv": "doc,shard\n" + "".join(f"{d},{k % 2}\n" for k, d in enumerate(DOCS)),
        "z.txt": "map 0.3 0.1\n",
        "long.run": a + "q1 Q0 d\n" * 40,
        "high.q": j.replace(" 3", " 4"),
        "half.q": "".join(line + "\n" for k, line in enumerate(q.splitlines()) if k % 2),
        "keys.csv": "page,query\np1,q1\n",
        "totals.csv": "query,doc,rank,impressions,clicks\nq1,d1,1,10,2\nq1,d2,2,10,1\n",
        "costs.csv": "system,seconds\na,2\nb,3\n",
        "factors.csv": "system,stem\na,none\nb,porter\n",
        "replicates.csv": "run,system,replicate\na,x,1\nb,x,2\nc,y,1\n",
        "groups-of-topics.csv": "topic,group\nq1,x\nq2,y\nq3,x\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    for name, text in {"lat.run": a, "lat.q": q, "lat.j": j}.items():
        (folder / name).write_bytes(text.replace("d01", "dé").encode("latin-1"))
    (folder / "lat.gold").write_bytes(files["gold.q"].replace("d01", "dé").encode("latin-1"))
    (folder / "lat.csv").write_bytes((files["labels.csv"].replace("d01", "dé")).encode("latin-1"))


TWO = "q.txt a.run b.run c.run"
FEW = "--repeats 1"
BASES = {
    "answers": "answers --nuggets nuggets.csv answers.csv",
    "check": f"check {TWO}",
    "cite": "cite AP",
    "compare": f"compare {TWO} -m AP -m nDCG@5 --resamples 200",
    "completion": "completion bash",
    "demo": "demo",
    "evaluate": f"evaluate {TWO} -m AP -m P@5 -m nDCG@5",
    "fuse": "fuse a.run b.run c.run",
    "judges": "judges q.txt j.txt --runs a.run --runs b.run --runs c.run -m AP",
    "labels": "labels labels.csv",
    "measures": "measures",
    "online assign": "online assign units.csv --name e",
    "online experiment": "online experiment users.csv --metric m",
    "online interleave": "online interleave a.run b.run --impressions 2",
    "online measure": "online measure log.csv",
    "online preference": "online preference log.csv --unit user --resamples 100",
    "online train": "online train log.csv --model CM",
    "plot": f"plot box {TWO} -o out.json",
    "pool": "pool a.run b.run c.run --judged q.txt",
    "prompts": "prompts prompts.jsonl replies.jsonl",
    "report": f"report {TWO} -m AP --resamples 100",
    "sessions": "sessions q.txt sessions.csv",
    "study collection": f"study collection {TWO} {FEW} --pool-depth 3",
    "study interleaving": f"study interleaving {TWO} --rel 1 --impressions 10 --methods TeamDraft"
    " --users perfect",
    "study measures": f"study measures {TWO} -m AP -m P@5 --resamples 50 {FEW} --sizes 2",
    "study pooling": f"study pooling {TWO} -m AP --methods depth,random --budgets 2,4 {FEW}"
    " --contributors all",
    "study prediction": "study prediction s.csv predictors.csv",
    "study reproduction": "study reproduction q.txt --original-baseline a.run"
    " --original-advanced b.run --baseline b.run --advanced c.run -m AP",
    "study scales": f"study scales {TWO} -m AP --cutoffs 3",
    "study tests": f"study tests {TWO} -m AP --sizes 2 {FEW}",
}


OPTIONS = [
    (name, max(option.opts, key=len))
    for name, command, _ in commands()
    for option in command.params
    if isinstance(option, click.Option)
]

SCORES = "q.txt> a.run> b.run> c.run>"
TO_FAIL = {
    ("compare", "--strict"),
    ("study reproduction", "--plot"),
}
"""Options that fail by purpose, whose message does not name them."""

READING = {option for name, option in OPTIONS if name == "evaluate"}
"""Options of reading and judging, and those of output."""

WITHOUT: dict[str, str] = {
    "--jobs": "the number of workers changes no result",
    "--settings": "what the file sets has entries of its own",
    "--backend": "where the workers run changes no result",
}


USES: dict[str, list[str]] = {}
"""Words that give an option, by option or by command and option: see option_uses.txt."""

for line in Path(__file__).with_name("option_uses.txt").read_text().splitlines():
    if line and line[0] != "#":
        pair, words = line.replace("{SCORES}", SCORES).split(": ", 1)
        USES.setdefault(pair, []).append(words)


def uses(command: str, option: str) -> list[str]:
    """Return the ways in which an option is given to a command."""
    base = BASES.get(command, "").split()
    return [
        use
        for use in USES.get(f"{command} {option}", USES.get(option, []))
        if command not in BASES
        or all(word.split(">")[0] in base for word in use.partition("::")[0].split() if ">" in word)
    ]


def call(base: str, before: str) -> list[str]:
    """Make a command line of a base, with other files and more words."""
    swaps = dict(word.split(">", 1) for word in before.split() if ">" in word)
    words = [swaps.get(word, word) for word in base.split()]
    more = [word for word in before.split() if ">" not in word]
    return [word for word in [*words, *more] if word]


@functools.cache
def inputs() -> Path:
    folder = Path(tempfile.mkdtemp())
    world(folder)
    return folder


@functools.cache
def input_files() -> list[Path]:
    return [*inputs().iterdir()]


@functools.cache
def links() -> Path:
    """Make a folder of links to the inputs, in which every command runs."""
    return Path(tempfile.mkdtemp())


@pytest.fixture(autouse=True, scope="module")
def unchecked_charts() -> Iterator[None]:
    """Do not check the specifications of charts, as tests of charts do: it takes long."""
    from altair.utils import schemapi

    with schemapi.debug_mode(False):
        yield


@functools.cache
def outcome(words: tuple[str, ...]) -> tuple[int, str, str, dict[str, bytes]]:
    """Run a command where only inputs are; return its status, output, messages and files."""
    folder = links()
    there = {entry.name for entry in os.scandir(folder)}
    for path in input_files():
        if path.name not in there:
            (folder / path.name).symlink_to(path)
    status, out, err = ended_with(folder, *in_settings(folder, words))
    new = sorted(Path(entry) for entry in os.scandir(folder) if not entry.is_symlink())
    files = {
        str(path.relative_to(folder)): path.read_bytes()
        for top in new
        for path in (sorted(top.rglob("*")) if top.is_dir() else [top])
        if path.is_file() and not path.is_symlink() and path.name != SETTINGS
    }
    for path in new:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink()
    return status, out, err, files


def problem(command: str, option: str, use: str) -> str:
    """Return how giving an option fails to change the output or to be refused, or nothing."""
    before, _, after = use.rpartition("::")
    base = call(BASES[command], before)
    first, given = outcome(tuple(base)), outcome((*base, *after.split()))
    said = given[2].replace("_", "-")
    if first == given:
        return "nothing changes"
    named = (f"cranfield: error: {option}", f"cranfield: error: setting {option.strip('-')}")
    if given[0] == 2 and not any(name in said for name in named):
        if first[0] == 2:
            return f"both fail: {first[2]} / {given[2]}"
        about_input = any(f"{path.name}:" in given[2] for path in input_files())
        if (
            option.strip("-").replace("_", "-") not in said
            and not about_input
            and (command, option) not in TO_FAIL
        ):
            return f"refused without a reason: {given[2].splitlines()[-1:]}"
    return ""


PAIRS = [pair for pair in OPTIONS if not pair[0].startswith("campaign ")]
"""Options of campaigns have a test of their own, as they change folders."""

SLOW = [
    pair
    for pair in PAIRS
    if pair[0].split()[0] in {"study", "plot", "report"} and pair[1] not in READING
]
"""Pairs that only `python -m tests.cli.test_every_command_option --all` tries."""


def faults(command: str, option: str) -> list[str]:
    """Return what is wrong with an option of a command, one line for each of its uses."""
    if option in WITHOUT or f"{command} {option}" in WITHOUT:
        return []
    listed = uses(command, option)
    if not listed:
        return [f"{command} {option}: there is no entry"]
    found = [(use, problem(command, option, use)) for use in listed]
    return [f"{command}: {use}: {said}" for use, said in found if said]


@pytest.mark.parametrize(("command", "option"), [one for one in PAIRS if one not in SLOW])
def test_an_option_is_used_or_refused(command: str, option: str) -> None:
    assert faults(command, option) == []


def test_every_option_has_an_entry() -> None:
    lacking = [
        pair
        for pair in SLOW
        if not uses(*pair) and pair[1] not in WITHOUT and " ".join(pair) not in WITHOUT
    ]
    assert lacking == []


if __name__ == "__main__":
    chosen = PAIRS if "--all" in sys.argv else [one for one in PAIRS if one not in SLOW]
    lines = [line for pair in chosen for line in faults(*pair)]
    print(*lines, f"{len(chosen)} options of commands, {len(lines)} faults", sep="\n")
    sys.exit(bool(lines))
