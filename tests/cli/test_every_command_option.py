# ruff: noqa: E501 - tables of inputs and of command lines
"""Every option of every command changes the output, or is refused.

The pairs of commands and options are found by walking the commands, so that a new option needs an
entry here. An entry is the words that give the option; words before `::` are given without the
option too, where `a>b` takes file b in place of file a.
"""

from __future__ import annotations

import functools
import re
import shutil
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import click
import numpy as np
import pytest

from cranfield.cli.main import app
from tests.cli.running import SETTINGS, ended_with, in_settings

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
        (f"p{k}", f"s{k // 2}", f"u{k % 5}", f"q{k % 3 + 1}", k, ("ctl", "new")[k % 5 % 2])
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
        "s.csv": "topic,a,b,c,d\n"
        + "".join(
            f"q{k},{','.join(f'{x:.3f}' for x in draw.random(4) ** [1, 0.6, 1.4, 2])}\n"
            for k in range(20)
        ),
        "gaps.csv": "topic,a,b,c\n"
        + "".join(
            f"q{k},{k % 7 / 10},{'' if k == 3 else k % 5 / 9},{k % 3 / 8}\n" for k in range(12)
        ),
        "teams.csv": "system,team\na,x\nb,x\nc,y\nd,y\n",
        "d.run": trec(9, "d"),
        "tags.txt": "a\nb\n",
        "kin.csv": "name,family\nj,f\na,f\nb,g\nc,g\n",
        "log.csv": log,
        "twice.csv": log + log.splitlines()[1] + "\n",
        "after.csv": "page,session,user,query,rank,doc,team,clicked,time,variant\n"
        + "\n".join(rows[60:])
        + "\n",
        "pages.csv": "page,query\np1,q1\np2,q2\n",
        "marks.csv": "page,label\n" + "".join(f"p{k},{k % 2}\n" for k in range(40)),
        "users.csv": "user,variant,arm,m,n,pre,big,day,seg\n"
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
        + "q1,a,b,b\nq1,a,b,b\n",
        "shards.csv": "doc,shard\n" + "".join(f"{d},{k % 2}\n" for k, d in enumerate(DOCS)),
        "z.txt": "map 0.3 0.1\n",
        "long.run": a + "q1 Q0 d\n" * 40,
        "high.q": j.replace(" 3", " 4"),
        "half.q": "".join(line + "\n" for k, line in enumerate(q.splitlines()) if k % 2),
        "keys.csv": "page,query\np1,q1\n",
        "groups-of-topics.csv": "topic,group\nq1,x\nq2,y\nq3,x\n",
    }
    for name, text in files.items():
        (folder / name).write_text(text)
    for name, text in {"lat.run": a, "lat.q": q, "lat.j": j}.items():
        (folder / name).write_bytes(text.replace("d01", "dé").encode("latin-1"))
    (folder / "lat.gold").write_bytes(files["gold.q"].replace("d01", "dé").encode("latin-1"))
    (folder / "lat.csv").write_bytes((files["labels.csv"].replace("d01", "dé")).encode("latin-1"))


TWO = "q.txt a.run b.run c.run"
FEW = "--repeats 3"
BASES = {
    "answers": "answers --nuggets nuggets.csv answers.csv",
    "check": f"check {TWO}",
    "cite": "cite -m AP",
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
    "report": f"report {TWO} -m AP --resamples 100",
    "sessions": "sessions q.txt sessions.csv",
    "study collection": f"study collection {TWO} {FEW} --pool-depth 3",
    "study interleaving": f"study interleaving {TWO} --rel 1 --impressions 10 --methods Balanced,TeamDraft"
    " --users perfect,navigational",
    "study measures": f"study measures {TWO} -m AP -m P@5 --resamples 50 {FEW} --sizes 2",
    "study pooling": f"study pooling {TWO} -m AP --methods depth,random --budgets 2,4 {FEW}"
    " --contributors all",
    "study reproduction": "study reproduction q.txt --original-baseline a.run"
    " --original-advanced b.run --baseline b.run --advanced c.run -m AP",
    "study scales": f"study scales {TWO} -m AP --cutoffs 2,3",
    "study tests": f"study tests {TWO} -m AP --sizes 2 {FEW}",
}


def commands(
    command: click.Command = app, path: tuple[str, ...] = ()
) -> Iterator[tuple[str, click.Command]]:
    if isinstance(command, click.Group):
        context = click.Context(command)
        for name in command.list_commands(context):
            below = command.get_command(context, name)
            assert below is not None
            yield from commands(below, (*path, name))
    else:
        yield " ".join(path), command


def pairs() -> list[tuple[str, str]]:
    """List every option of every command."""
    return [
        (name, max(option.opts, key=len))
        for name, command in commands()
        for option in command.params
        if isinstance(option, click.Option)
    ]


# Options of reading and judging. A command that lacks the measures or runs refuses some of them.
SHARED = """
--alpha: --alpha 0.9
--alternative: --test t :: --alternative greater
--aspect: -m aRBP@5 :: --aspect other=j.txt
--baseline: --baseline a
--by-topic: --by-topic
--caption: --format latex :: --caption x
--click-actions: --click-actions x
--columns: a.run>odd.csv b.run>odd-b.csv c.run>odd-c.csv :: --columns run.topic=thema,run.doc=dok,run.score=wert
--columns: q.txt>odd-q.csv :: --columns qrels.topic=thema,qrels.doc=dok,qrels.grade=note
--compat: --compat ndeval
--confidence: --confidence 0.5
--contributors: --contributors tags.txt
--correction: --correction bonferroni
--depth: --depth 2
--duplicates: a.run>dup.run :: --duplicates last
--duplicates: q.txt>dup.q :: --duplicates last
--encoding: a.run>lat.run :: --encoding latin-1
--encoding: q.txt>lat.q :: --encoding latin-1
--encoding: j.txt>lat.j :: --encoding latin-1
--exact: --test randomisation :: --exact
--format: --format json
--exclude: --exclude excluded.csv
--chunk-separator: --chunk-separator 1
--map-grades: --map-grades 0=0,1=0,2=1,3=3,-1=0
--groups: -m AWRF@5 :: --groups groups.csv
--impressions: --impressions 3
--input-format: q.txt>q.dat a.run>a.dat b.run>b.dat c.run>c.dat :: --input-format csv
--intents: q.txt>two.q -m PQ@5 :: --intents intents.csv
--label: --format latex :: --label x
--length: --length 2
--lengths: -m TBG@5 :: --lengths lengths.csv
--list: --list
--lists: --lists condensed
--log-format: --log-format yandex
--long: --format latex :: --long
--lower: --lower score
--max-grade: -m ERR@5 :: --max-grade 9
--max-queries: --max-queries 7
--measure: --measure P@3
--methods: --methods Balanced
--missing: --missing drop
--negative: --unjudged condensed :: --negative unjudged
--numbers: a.run>three.run :: --numbers ranks
--odd: log.csv>twice.csv :: --odd count
--order: --format latex :: --order given
--others: --others drop
--output: --output other.json
--places: --places 2
--plot: --plot plot.json
--rel: --rel 2
--repeats: --repeats 4
--resamples: --resamples 33
--resume: --resume work
--seed: --seed 5
--separator: --separator tab
--session-timeout: --session-timeout 10m
--sizes: --sizes 3
--skip-bad-runs: a.run>bad.run :: --skip-bad-runs
--statistic: --statistic median
--subtopics: q.txt>two.q -m alpha_nDCG@5 :: --no-subtopics
--system: a.run>many.csv b.run>odd2.csv c.run> :: --system engine
--system: a.run>tags.run b.run>c.run c.run> :: --system tag
--table: --table unknown
--teams: --teams teams.csv
--test: --test t
--threshold: --test sign :: --threshold 0.2
--ties: --ties id-ascending
--topics: --topics intersection
--topics-with-grade: --topics-with-grade 3
--ungraded: q.txt>ungraded.csv :: --ungraded drop
--unit: --unit session
--unjudged: --unjudged condensed
--weights: --weights 1,2
"""
SCORES = "q.txt> a.run> b.run> c.run>"
OWN = """answers --assignments: --assignments
answers --citations: --citations
answers --measure: --measure AllScore
answers --nuggets: --nuggets> nuggets.csv> answers.csv>citations.csv --citations :: --nuggets nuggets.csv
answers --order: -m VitalScore --format latex :: --order given
answers --references: --references references.csv
answers --system: answers.csv>unnamed.csv :: --system x
answers --tokeniser: --tokeniser whitespace
answers --tokeniser: --nuggets>--references nuggets.csv>references.csv answers.csv>texts.csv :: --tokeniser whitespace
check --all: a.run>long.run :: --all
check --numbers: a.run>vague.run :: --numbers scores
check --rules: q.txt>a.run :: --rules rules.toml --task adhoc
check --tag: --tag x
check --tag: q.txt>a.run b.run> c.run> --rules rules.toml --task adhoc :: --tag x
check --task: --task adhoc
check --task: q.txt>a.run --rules rules.toml :: --task adhoc
check --team: --team a
check --team: q.txt>a.run --rules rules.toml --task adhoc :: --team a
cite --all: --all
cite --study: --study discriminative-power
compare --as: --as prose
study pooling --measure: --table all :: --measure P@3
compare --as: --as anova
compare --as: --as ranks
compare --compat: --missing drop :: --compat ndeval
compare --exact: --baseline a --test randomisation :: --no-exact
compare --exact: --test t :: --exact
compare --exact: {SCORES} -m> AP> nDCG@5> --scores s.csv --test randomisation :: --exact
compare --fail-if-worse: --fail-if-worse
compare --fail-if-worse: --baseline b --alpha 0.9 :: --fail-if-worse
compare --joint: --joint
compare --margin: --margin 2%
compare --marks: --marks symbols
compare --missing: {SCORES} --scores gaps.csv -m> AP> nDCG@5> :: --missing drop
compare --scale: --scale ordinal
compare --scale: {SCORES} --scores s.csv -m> AP> nDCG@5> :: --scale ordinal
compare --scores: --scores s.csv
compare --scores: {SCORES} -m> AP> nDCG@5> -m> :: --scores s.csv
compare --strict: --strict
compare --topic-groups: --resamples> 200> --as summary :: --topic-groups groups-of-topics.csv
evaluate --coverage: --coverage
evaluate --groups: -m AWRF@5 :: --groups groups.csv
evaluate --groups: --groups groups.csv
evaluate --lengths: -m TBG@5 :: --lengths lengths.csv
evaluate --lengths: --lengths lengths.csv
evaluate --scores: --scores s.csv
evaluate --scores: {SCORES} -m> AP> P@5> nDCG@5> :: --scores s.csv
fuse --input-format: a.run>a.dat b.run>b.dat c.run>c.dat :: --input-format csv
fuse --limit: --limit 2
fuse --metadata: --metadata
fuse --metadata: -o f.csv :: --metadata
fuse --metadata: -o f.parquet :: --metadata
fuse --method: --method CombSUM
fuse --name: --name x
fuse --norm: --norm sum
fuse --norm: --method CombSUM :: --norm sum
fuse --weights: --weights 1,2,3
fuse --weights: --method CombMNZ :: --weights 1,2,3
fuse --weights: --method Condorcet :: --weights 1,2,3
fuse --weights: --method CombMED :: --weights 1,2,3
fuse --weights: --method CombMAX :: --weights 1,2,3
fuse --weights: --method CombANZ :: --weights 1,2,3
fuse --weights: --method Borda :: --weights 1,2,3
judges --aspect: --aspect other=j.txt
judges --correct: --correct topic
judges --cut: j.txt>high.q :: --cut
judges --fixed-topics: --fixed-topics
judges --input-format: q.txt>q.dat j.txt>j.dat a.run>a.dat b.run>b.dat c.run>c.dat :: --input-format csv
judges --intents: --intents intents.csv
judges --kin: j.txt>j=j.txt :: --kin kin.csv
judges --label-format: j.txt>j.dat :: --label-format csv
judges --level: --level nominal
judges --max-grade: -m ERR@5 :: --max-grade 9
judges --negative: --table systems --format csv --unjudged condensed :: --negative unjudged
judges --own-runs: --own-runs
judges --runs: c.run>d.run :: --runs c.run
judges --scale: j.txt>high.q :: --scale 0..4
judges --subtopics: --subtopics
judges --system: a.run>tags.run b.run>c.run c.run>d.run :: --system tag
judges --table: --table agreement
labels --against: --against w0
labels --columns: --columns grade=note
labels --encoding: labels.csv>lat.csv :: --encoding latin-1
labels --encoding: labels.csv>lat.csv --gold lat.gold :: --encoding latin-1
labels --fix-gold: --fix-gold
labels --fix-gold: --method dawid-skene --gold gold.q :: --fix-gold
labels --fix-gold: --gold gold.q :: --fix-gold
labels --fix-gold: --method mace --gold gold.q :: --fix-gold
labels --fix-gold: --method wawa --gold gold.q :: --fix-gold
labels --fix-gold: --method glad --gold gold.q :: --fix-gold
labels --fix-gold: --method one-coin --gold gold.q :: --fix-gold
labels --gold: --gold gold.q
labels --grades: --grades 0..5
labels --interval: --interval none
labels --measure: --measure fleiss
labels --method: --method wawa
labels --missing: labels.csv>nothing.csv :: --missing drop
labels --pairs: --pairs
labels --qrels: --qrels out.q
labels --rel: --rel 2
labels --repeats: labels.csv>again.csv :: --repeats last
labels --resamples: --resamples 50
labels --resamples: --interval bootstrap :: --resamples 50
labels --seed: --seed 5
labels --seed: --interval bootstrap --resamples 50 :: --seed 5
labels --seed: --tie random --qrels o.q :: --seed 5
labels --table: --table workers
labels --tie: --qrels out.q :: --tie high
labels --tie: --method dawid-skene :: --tie high
measures --family: --family diversity
measures --grades: nDCG@3 :: --grades 2
measures --judgments: nDCG@3 :: --judgments 1
measures --length: nDCG@3 :: --length 2
measures --long: --long
measures --needs: --needs lengths
online assign --check: --check
online assign --hash: --hash growthbook-2
online assign --layer: --layer x
online assign --layer: --traffic 0.5 :: --layer x
online assign --name: e>f :: --name e
online assign --traffic: --traffic 0.5
online assign --unit: --unit page
online assign --weights: --weights a=0.2,b=0.8
online experiment --alpha: --alpha 0.9
online experiment --click-actions: users.csv>log.csv --metric> m> --measure CTR --control ctl :: --click-actions x
online experiment --click-actions:  --click-actions x
online experiment --control: --control b
online experiment --correction: --metric n :: --correction bonferroni
online experiment --counts: users.csv> --metric> m> --counts a=5/20,b=7/20 :: --counts a=5/20,b=9/20
online experiment --covariate: --covariate m=pre
online experiment --covariate: users.csv>log.csv --metric> m> --measure CTR --control ctl :: --covariate CTR=rank
online experiment --down: --metric big :: --down big
online experiment --errors: --errors permutation
online experiment --lift: --lift linear
online experiment --log-format: users.csv>log.csv --metric> m> --measure CTR --control ctl :: --log-format yandex
online experiment --log-format:  --log-format yandex
online experiment --looks: --looks 20,40
online experiment --margin: --margin m=2%
online experiment --max-queries: users.csv>log.csv --metric> m> --measure CTR --control ctl :: --max-queries 7
online experiment --max-queries:  --max-queries 7
online experiment --measure: users.csv>log.csv --metric> m> --control ctl :: --measure CTR
online experiment --metric: --metric n
online experiment --missing: users.csv>holes.csv :: --missing drop
online experiment --mixed: users.csv>mixed.csv --unit user :: --mixed error
online experiment --odd: users.csv>twice.csv --metric> m> --measure CTR --control ctl :: --odd count
online experiment --odd: --odd count
online experiment --oec: --metric n :: --oec m=0.7,n=0.3
online experiment --report: --report r.html
online experiment --resamples: --errors delta :: --resamples 50
online experiment --resamples: --errors bootstrap :: --resamples 50
online experiment --seed: --errors delta :: --seed 5
online experiment --seed: --errors bootstrap --resamples 99 :: --seed 5
online experiment --segments: --segments seg
online experiment --sequential: --sequential CS(tuned=500)
online experiment --session-timeout: users.csv>log.csv --metric> m> --measure CTR --control ctl --unit session :: --session-timeout 10m
online experiment --session-timeout:  --session-timeout 10m
online experiment --srm: --weights a=0.1,b=0.9 :: --srm warn
online experiment --table: --table effects
online experiment --theta: --theta within
online experiment --theta: --covariate m=pre :: --theta within
online experiment --time: --time day
online experiment --unit: users.csv>log.csv --metric> m> --measure CTR --control ctl :: --unit session
online experiment --variant: --variant arm
online experiment --weights: --weights a=0.2,b=0.8
online interleave --columns: a.run>odd.csv b.run>odd-b.csv :: --columns topic=thema,doc=dok,score=wert
online interleave --impressions: --impressions> 2> --keys keys.csv :: --impressions 3
online interleave --impressions: --impressions> 2> :: --impressions 3
online interleave --input-format: a.run>a.dat b.run>b.dat :: --input-format csv
online interleave --keys: --impressions> 2> :: --keys pages.csv
online interleave --method: --method Balanced
online interleave --skip-bad-runs: a.run>bad.run b.run>*.run :: --skip-bad-runs
online interleave --system: a.run>tags.run b.run>c.run :: --system tag
online measure --by: --by user
online measure --labels: --labels marks.csv
online measure --measure: --measure CTR@2
online measure --survival: --survival
online measure --survival: -m CTR :: --survival
online measure --table: --table measures
online preference --clicks: --clicks first
online preference --correction: --correction bonferroni
online preference --counts: log.csv> --unit> user> --resamples> 100> :: --counts 9,3,1
online preference --counts: --counts 9,3,1
online preference --expected: --expected 0.3
online preference --rankers: --rankers b,a
online preference --resamples: 100>200 :: --resamples 100
online preference --runs: --runs a.run --runs b.run
online preference --session-timeout: user>session :: --session-timeout 10m
online preference --table: --table preference
online train --format: --format json
online train --held-out: --held-out after.csv
online train --measure: --measure P@1
online train --measure: --qrels q.txt :: --measure P@1
online train --measure: --qrels q.txt --tied grade :: --measure P@1
online train --model: --model PBM
online train --over: --model PBM :: --over CM
online train --qrels: --qrels q.txt
online train --resamples: --resamples 50
online train --resamples: --model PBM --over CM :: --resamples 50
online train --seed: --seed 5
online train --seed: --model PBM --over CM --format json :: --seed 5
online train --table: --table models
online train --tied: --tied grade
online train --tied: --qrels q.txt :: --tied grade
plot --alpha: box>intervals :: --alpha 0.3
plot --alpha:  --alpha 0.3
plot --alternative: box>matrix :: --alternative greater
plot --alternative:  --alternative greater
plot --baseline: box>intervals :: --baseline a
plot --baseline:  --baseline a
plot --correction: box>intervals :: --correction bonferroni
plot --correction:  --correction bonferroni
plot --exact: box>matrix --baseline a --test randomisation :: --no-exact
plot --exact: --exact
plot --grades: box>spacing {SCORES} --length 3 -m nDCG@3 :: --grades 2
plot --grades: --grades 3
plot --length: box>spacing {SCORES} --grades 1 :: --length 3
plot --length: --length 3
plot --measure: --measure P@3
plot --missing: box>intervals --topics intersection :: --missing drop
plot --missing: --missing drop
plot --only: box>differences :: --only a --only b
plot --only: --only a
plot --reference: box>intervals :: --reference a
plot --reference:  --reference a
plot --resamples: box>intervals :: --resamples 50
plot --resamples:  --resamples 50
plot --scores: --scores s.csv
plot --scores: {SCORES} :: --scores s.csv
plot --seed: box>intervals :: --seed 4
plot --seed:  --seed 4
plot --statistic: box>intervals --test t :: --statistic sum
plot --statistic:  --statistic sum
plot --test: box>intervals :: --test t
plot --test:  --test t
plot --threshold: box>matrix --test sign :: --threshold 0.3
plot --threshold:  --threshold 0.3
plot --topic: box>precision-recall -m> AP> :: --topic q1
plot --topic:  --topic q1
pool --arranged: --arranged id
pool --arranged: --budget 5 :: --arranged id
pool --assessors: --assessors 2
pool --assessors: --budget 5 -o s-{} :: --assessors 2
pool --budget: --budget 2
pool --by: --by topic
pool --by: --budget 5 -o s-{} --assessors 2 :: --by topic
pool --format: --format json
pool --format: --budget 2 :: --format jsonl
pool --judged: --judged> q.txt> :: --judged q.txt
pool --lower: --depth 2 --judged> q.txt> --budget 2 :: --lower score
pool --method: --next 2 :: --method MTF
pool --method: --method MTF
pool --missing: --missing nonrelevant
pool --missing: --judged> q.txt> --size 3 --sample uniform :: --missing nonrelevant
pool --next: --next 2
pool --overlap: --overlap 0.5
pool --overlap: --budget 5 -o s-{} --assessors 2 :: --overlap 0.5
pool --rel: --rel 2
pool --rel: --stop RecallTest :: --rel 2
pool --rel: --next 2 --method MTF :: --rel 2
pool --rel: --next 2 :: --rel 2
pool --rel: --missing nonrelevant --sample uniform --size 9 :: --rel 2
pool --sample: --sample uniform --size 3
pool --sample: --judged> q.txt> :: --sample uniform --size 3
pool --seed: --seed 5
pool --seed: --next 2 :: --seed 5
pool --seed: --stop Knee :: --seed 5
pool --seed: --judged> q.txt> --sample stat --size 3 :: --seed 5
pool --size: --size 3
pool --size: --judged> q.txt> --depth 3 --sample stat --size 2 :: --seed 1
pool --stop: --stop Knee
pool --strata: --strata 2:100%
pool --strata: --judged> q.txt> --depth 3 :: --sample strata --strata 3:2
pool --subtopics: q.txt>two.q :: --no-subtopics
pool --subtopics: --judged> q.txt> :: --subtopics
pool --table: --table topics
pool --table: --budget 2 :: --table topics
pool --ties: --depth 2 --judged> q.txt> --budget 2 :: --ties id-ascending
pool --ungraded: q.txt>ungraded.csv :: --ungraded error
pool --ungraded: --judged> q.txt> :: --ungraded error
pool --unjudged: --unjudged
report --cut: --cut
report --cut: --judges high.q :: --cut
report --date: --date 2026-01-01
report --judges: --judges j.txt
report --missing: --topics intersection :: --missing drop
report --output: --output other.html
report --scale: --scale ordinal
report --scales: --no-scales
report --scores: --scores s.csv
report --scores: {SCORES} -m> AP> :: --scores s.csv
report --title: --title x
sessions --by-session: --by-session
sessions --clicks: --clicks clicks.csv
sessions --clicks: -m ClickU :: --clicks clicks.csv
sessions --depth: --depth 1
sessions --duplicates: --duplicates keep
sessions --lengths: --lengths lengths.csv
sessions --lengths: -m ClickU --clicks clicks.csv :: --lengths lengths.csv
sessions --measure: --measure sDCG@3
sessions --order: --format latex --by-session :: --order given
sessions --rel: -m P@3 :: --rel 2
sessions --run-duplicates: --run-duplicates last
sessions --session-topics: sessions.csv>no-topic.csv :: --session-topics of-session.csv
sessions --skip-bad-runs: --skip-bad-runs
sessions --unjudged: -m P@3 :: --unjudged condensed
sessions --until-click: --clicks clicks.csv :: --until-click
study collection --contributors: --contributors tags.txt
study collection --depths: --depths 1
study collection --missing: --topics intersection :: --missing drop
study collection --negative: --negative unjudged
study collection --pool-depth: 3>2 :: --pool-depth 3
study collection --replace: --replace
study collection --resamples: --format json --sizes 3 --test bootstrap --alpha 0.6 :: --resamples 1
study collection --resamples: --resamples 20
study collection --scores: --scores s.csv
study collection --subtopics: q.txt>two.q --duplicates first :: --no-subtopics
study collection --target: --format json :: --target 0.5
study interleaving --negative: --negative unjudged
study interleaving --pairs: --pairs 1
study interleaving --power: --power 0.9
study interleaving --stop: --stop clicked
study interleaving --subtopics: q.txt>two.q --duplicates first :: --no-subtopics
study interleaving --users: --users perfect
study measures --bins: --format json :: --bins 0,0.3
study measures --coefficient: --coefficient spearman
study measures --compat: --missing drop :: --compat ndeval
study measures --gold: --gold P@3
study measures --majority: --majority
study measures --majority: --preferences preferences.csv :: --majority
study measures --missing: --topics intersection :: --missing drop
study measures --preferences: --preferences preferences.csv
study measures --resamples: --resamples> 50> --format json :: --resamples 20
study measures --resamples: --resamples> 50> --test t :: --resamples 20
study measures --scores: --scores s.csv
study pooling --budgets: 2,4>2 :: --budgets 2,4
study pooling --contributors: all>tags.txt :: --contributors all
study pooling --lists: --format json :: --lists condensed
study pooling --methods: depth,random>depth :: --methods depth,random
study pooling --missing: --topics intersection :: --missing drop
study pooling --negative: --format json --lists condensed :: --negative unjudged
study pooling --resamples: --format json --test bootstrap --alpha 0.6 :: --resamples 1
study pooling --resamples: --resamples 20
study pooling --subtopics: q.txt>two.q --duplicates first :: --no-subtopics
study pooling --teams: --format json :: --teams teams.csv
study reproduction --advanced: c.run>a.run :: --advanced c.run
study reproduction --baseline: b.run>c.run :: --baseline b.run
study reproduction --intents: q.txt>two.q -m PQ@5 --format json :: --intents intents.csv
study reproduction --original-advanced: b.run>c.run :: --original-advanced b.run
study reproduction --original-baseline: a.run>c.run :: --original-baseline a.run
study reproduction --other-qrels: --other-qrels j.txt
study reproduction --persistence: --persistence 0.5
study reproduction --plot: --plot plot.json
study reproduction --seed: --format json :: --seed 5
study reproduction --skip-bad-runs: --skip-bad-runs
study reproduction --system: --system unknown
study reproduction --test: --test welch
study scales --aspect: --aspect other=j.txt
study scales --compat: --topics qrels :: --compat ntcireval
study scales --cutoffs: 2,3>2 :: --cutoffs 2,3
study scales --graded: --format json -m DCG --cutoffs> 2,3> --cutoffs 3 :: --graded
study scales --groups: --groups groups.csv
study scales --intents: --intents intents.csv
study scales --interval-ties: --interval-ties min
study scales --lengths: --lengths lengths.csv
study scales --max-grade: --graded -m ERR :: --max-grade 1
study scales --max-grade: --max-grade 4
study scales --measure: --measure RBP
study scales --subtopics: q.txt>two.q --duplicates first :: --no-subtopics
study tests --aspect: -m> AP> -m aRBP@5 :: --aspect other=j.txt
study tests --compat: --missing drop :: --compat ndeval
study tests --false-alarms: --false-alarms 2
study tests --groups: -m> AP> -m AWRF@5 :: --groups groups.csv
study tests --intents: -m> AP> q.txt>two.q -m PQ@5 --format json :: --intents intents.csv
study tests --lengths: -m> AP> -m TBG@5 :: --lengths lengths.csv
study tests --max-grade: -m> AP> -m ERR@5 :: --max-grade 9
study tests --missing: --topics intersection :: --missing drop
study tests --null: --null swapped
study tests --null: --false-alarms 3 :: --null swapped
study tests --only: --only a --only b
study tests --population: --population resampled
study tests --population: --power 3 :: --population resampled
study tests --power: --power 3
study tests --resamples: --format json --test bootstrap :: --resamples 20
study tests --resamples: --test t :: --resamples 20
study tests --scores: --scores s.csv
study tests --shard-map: --shard-map shards.csv
study tests --shards: --shards 2
study tests --subtopics: q.txt>two.q --duplicates first :: --no-subtopics
study tests --ties: --format json :: --ties id-ascending
"""
"""Words that give an option to one command, a line for each way."""
TO_FAIL = {
    ("compare", "--strict"),
    ("study reproduction", "--plot"),
}
"""Options that fail by purpose, whose message does not name them."""

READING = {max(option.opts, key=len) for option in dict(commands())["evaluate"].params}
"""Options of reading and judging, and those of output."""

WITHOUT: dict[str, str] = {
    "--jobs": "the number of workers changes no result",
    "--settings": "what the file sets has entries of its own",
    "--backend": "where the workers run changes no result",
}


USES: dict[str, list[str]] = {}
for line in f"{SHARED}{OWN}".strip().splitlines():
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
def links() -> Path:
    """Make a folder of links to the inputs, in which every command runs."""
    return Path(tempfile.mkdtemp())


@functools.cache
def outcome(words: tuple[str, ...]) -> tuple[int, str, str, dict[str, bytes]]:
    """Run a command where only inputs are; return its status, output, messages and files."""
    folder = links()
    for path in inputs().iterdir():
        if not (folder / path.name).is_symlink():
            (folder / path.name).symlink_to(path)
    status, out, err = ended_with(folder, *in_settings(folder, words))
    files = {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file() and not path.is_symlink() and path.name != SETTINGS
    }
    for path in folder.iterdir():
        if path.is_dir():
            shutil.rmtree(path)
        elif not path.is_symlink():
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
        about_input = any(f"{path.name}:" in given[2] for path in inputs().iterdir())
        if (
            option.strip("-").replace("_", "-") not in said
            and not about_input
            and (command, option) not in TO_FAIL
        ):
            return f"refused without a reason: {given[2].splitlines()[-1:]}"
    return ""


PAIRS = [pair for pair in pairs() if not pair[0].startswith("campaign ")]
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
