"""Every command writes every format that it offers: no traceback, and what the format promises."""

from __future__ import annotations

import csv
import io
import json
import math
from datetime import date, datetime
from pathlib import Path

import click
import numpy as np
import polars as pl
import pytest

from cranfield.base.text import format_json
from tests.campaign.results.made import handed_in, judged, lines, made, qrels, rankings
from tests.cli.running import commands, cranfield

RUN = "q1 Q0 d1 1 3 {0}\nq1 Q0 d2 2 2 {0}\nq2 Q0 d3 1 3 {0}\nq2 Q0 d1 2 2 {0}\nq3 Q0 d2 1 1 {0}\n"
FILES = {
    "q.txt": "q1 0 d1 1\nq1 0 d2 0\nq2 0 d1 2\nq2 0 d3 1\nq3 0 d2 1\n",
    "j.txt": "q1 0 d1 1\nq1 0 d2 1\nq2 0 d1 1\nq2 0 d3 0\nq3 0 d2 1\n",
    "a.run": RUN.format("a"),
    "b.run": RUN.format("b").replace("d1", "d9").replace("q3 Q0 d2", "q3 Q0 d8"),
    # A topic without a score, a system without any, names to escape, a measure in text.
    "s.csv": 'topic,"x, y","z&""_%"\nq1,0.5,0.1\nq2,,0.2\nq3,0.25,0.4\nq4,0.75,0.1\n',
    "predictors.csv": "topic,wig,nqc\nq1,1,2\nq3,3,2\nq4,2,5\n",
    "n.csv": "topic,nugget,importance\nq,born,vital\np,height,okay\n",
    "answers.csv": "topic,system,nugget,length\nq,one,born,100\nq,two,,50\np,two,height,50\n",
    "sessions.csv": "session,topic,query,rank,doc\ns,q1,1,1,d1\ns,q1,2,1,d2\nr,q2,1,1,d3\n",
    "labels.csv": "worker,topic,doc,grade\nw1,q1,d1,1\nw2,q1,d1,0\nw1,q1,d2,1\nw2,q1,d2,1\n",
    "users.csv": "user,variant,m\n" + "".join(f"u{k},{'ab'[k % 2]},{k % 3}\n" for k in range(12)),
    "board.csv": "date,run,MRR\n2020-08-01,a,0.2\n2020-08-02,b,0.3\n",
    "units.csv": "unit\nu1\nu2\n",
    "log.csv": "page,session,user,query,rank,doc,team,clicked\n"
    + "".join(
        f"p{k},s{k},u{k % 4},q1,{r},d{r},{'ab'[r - 1]},{int(r == 1 + k % 2)}\n"
        for k in range(8)
        for r in (1, 2)
    ),
}
COMMANDS = {
    "answers": "answers --nuggets n.csv answers.csv",
    "campaign run list": "campaign run list news",
    "campaign run show": "campaign run show news bm25",
    "campaign pool": "campaign pool news --unjudged",
    "campaign score": "campaign score news",
    "campaign standing": "campaign standing news new.run",
    "campaign history": "campaign history board.csv -m MRR",
    "campaign verify": "campaign verify news",
    "campaign judgments": "campaign judgments news",
    "campaign team list": "campaign team list news",
    "check": "check q.txt a.run b.run",
    "cite": "cite AP nDCG@10",
    "compare": "compare --scores s.csv --missing drop --seed 1",
    "evaluate": "evaluate q.txt a.run b.run -m AP -m P@5",
    "judges": "judges q.txt j.txt",
    "labels": "labels labels.csv",
    "online assign": "online assign units.csv --name e",
    "online experiment": "online experiment users.csv --metric m",
    "online interleave": "online interleave a.run b.run --impressions 2",
    "online measure": "online measure log.csv",
    "online preference": "online preference log.csv --unit user",
    "online train": "online train log.csv --model CM",
    "pool": "pool a.run b.run",
    "measures": "measures AP --length 3",
    "sessions": "sessions q.txt sessions.csv",
    "study collection": "study collection q.txt a.run b.run --repeats 3",
    "study interleaving": "study interleaving q.txt a.run b.run --impressions 10",
    "study measures": "study measures q.txt a.run b.run -m AP -m P@5 --repeats 3",
    "study pooling": "study pooling q.txt a.run b.run -m AP",
    "study prediction": "study prediction s.csv predictors.csv",
    "study reproduction": "study reproduction q.txt --original-baseline a.run --original-advanced"
    " b.run --baseline a.run --advanced b.run -m AP",
    "study scales": "study scales q.txt a.run b.run -m AP --cutoffs 2",
    "study tests": "study tests --scores s.csv --missing drop --repeats 3",
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("formats")
    for name, text in FILES.items():
        (found / name).write_text(text)
    campaign = made(found / "news")
    judged(campaign, qrels())
    for k, tag in enumerate(("bm25", "dense")):
        handed_in(campaign, tag, rankings(k), late=tag == "dense")
    (found / "new.run").write_bytes(lines("new", rankings(9)))
    return found


def refuse(name: str) -> None:
    raise AssertionError(f"{name} is not JSON")


CHOICES = {
    name: [str(choice) for choice in option.type.choices]
    for name, command, _ in commands()
    for option in command.params
    if "--format" in option.opts and isinstance(option.type, click.Choice)
}
"""The choices of --format, by command."""


def test_there_is_a_call_of_each_command() -> None:
    assert CHOICES.keys() == COMMANDS.keys()


@pytest.mark.parametrize("name", COMMANDS)
def test_formats(name: str, folder: Path) -> None:
    for form in CHOICES[name]:
        call = COMMANDS[name]
        status = 0
        if name == "pool" and form in {"auto", "trec", "tsv", "jsonl"}:
            call += " --next 2"
        if name == "pool" and form in {"prels", "xqrels"}:
            status = 2
        if form == "prototext":
            call = call.replace(" b.run", "")
        if form == "parquet":
            cranfield(folder, *call.split(), "--format", form, "-o", "out.parquet")
            assert pl.read_parquet(folder / "out.parquet").height
            continue
        out, err = cranfield(folder, *call.split(), "--format", form, status=status)
        assert "Traceback" not in err
        if status == 2 or form == "errlog":
            continue
        assert out.strip(), form
        if form == "json":
            json.loads(out, parse_constant=refuse)
        elif form == "jsonl":
            [json.loads(line, parse_constant=refuse) for line in out.splitlines()]
        elif form in {"csv", "tsv"}:
            mark = "\t" if form == "tsv" else ","
            for table in out.split("\n\n"):
                widths = {len(row) for row in csv.reader(io.StringIO(table), delimiter=mark) if row}
                assert len(widths) == 1, (form, table)


def test_dates_and_missing_values() -> None:
    content = {"at": date(2020, 8, 1), "time": datetime(2020, 8, 1, 12), "p": [math.nan, np.inf]}
    found = json.loads(format_json(content), parse_constant=refuse)
    assert found == {"at": "2020-08-01", "time": "2020-08-01T12:00:00", "p": [None, None]}
