"""Hostile command lines of `cranfield online`: one line of error, and nothing half written."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

from studies.attack.reading.logs import as_csv, as_lines, flat, some_log, spoilt
from studies.attack.reading.spoil import spoil_bytes
from studies.attack.work.in_process import in_this_process
from studies.attack.work.workers import Cases

NAMES = ("u1", "<b>x</b>", "\x1b[2J", "=1+1", "é", "a,b", "\u202e", "", "[/]", "0")
ODD = (None, "", "nan", "inf", -1, 0, 1, 1e308, 10**30, "x", True, 0.5, "1e-320")
WEIGHTS = ("a=0.5,b=0.5", "a,b", "a=1", "a=0.5,b=0.6", "a=-1,b=2", "a=nan,b=1", "a=1,a=1", "", "=1")
FORMATS = ("text", "markdown", "latex", "html", "csv", "json", "x")
MODEL = {"format": "cranfield click model", "version": 1, "model": "PBM"}


def user_command_case(rng: random.Random, folder: Path) -> bool:
    make = rng.choice((experiment, experiment, assign, measure, preference, train, interleave))
    files: dict[str, bytes] = {}
    arguments = ["online", *make(rng, files)]
    if rng.random() < 0.5:
        formats = ("csv", "json") if make in {assign, interleave} else FORMATS
        arguments += ["--format", rng.choice(formats)]
    if rng.random() < 0.2:
        arguments += ["-o", rng.choice(("out.txt", "no/such/out", next(iter(files), "x"), ""))]
    for name, content in files.items():
        spoil = rng.random() < 0.15
        (folder / name).write_bytes(spoil_bytes(rng, content) if spoil else content)
    told = ", ".join(f"{name}: {(folder / name).read_bytes()!r}" for name in files)
    arguments = [one.replace("\x00", "") for one in arguments]
    try:
        return in_this_process(rng, folder, arguments, b"", told)
    finally:
        for name in files:
            (folder / name).unlink(missing_ok=True)


def experiment(rng: random.Random, files: dict[str, bytes]) -> list[str]:
    if rng.random() < 0.3:
        return ["experiment", *_log(rng, files), "-m", rng.choice(("CTR", "ClickRR", "Dwell", "x"))]
    arms = rng.choice((("a",), ("a", "b"), ("a", "b"), ("a", "b"), ("a", "b", "<i>c</i>")))
    users = rng.choice((0, 1, 2, 5, 30, 80, 80))
    flatly = rng.random() < 0.15
    rows = [
        {
            "user": f"u{number}",
            "variant": rng.choice(arms),
            "x": 1 if flatly else rng.randrange(5),
            "n": rng.randrange(1, 9),
            "before": rng.random(),
            "day": rng.choice(("2026-01-01", "2026-01-02")),
        }
        for number in range(users)
    ]
    _odd_cells(rng, rows)
    files["users.csv"] = as_csv(rows)
    options = {
        "--metric": ("x", "r=x/n", "x/0", "=", "nothing"),
        "--covariate": ("x=before", "r=before/n", "y=before", "x=x"),
        "--unit": ("user", "user", "variant", "none"),
        "--control": ("a", "a", "b", "zz", "<i>c</i>"),
        "--weights": WEIGHTS,
        "--segments": ("day", "variant", "day,day", "none"),
        "--time": ("day", "x", "user"),
        "--sequential": ("CS", "mSPRT(tau=0.1)", "CS(tuned=0)", "mSPRT(tau=-1)", "x"),
        "--looks": ("20,40", "2,4", "0", "10,5", "x", "1000000000"),
        "--oec": ("x=1", "x=2", "x=0", "x=nan", "y=1", "x=0.5,r=0.5"),
        "--errors": ("delta", "bootstrap"),
        "--lift": ("log", "linear", "fieller"),
        "--theta": ("pooled", "within"),
        "--srm": ("stop", "warn"),
        "--missing": ("error", "drop", "zero"),
        "--mixed": ("drop", "error"),
        "--alpha": ("0.05", "0.1", "0", "1", "nan"),
        "--margin": ("x=0.1", "x=0", "x=-1", "x=nan"),
        "--correction": ("holm", "none", "by", "x"),
        "--table": ("effects", "looks", "segments", "x"),
        "--down": ("x", "x", "y"),
        "--report": ("report.html", "no/such/report.html"),
        "--resamples": ("10", "99", "0"),
    }
    return ["experiment", "users.csv", "--metric", "x", *_some(rng, options)]


def assign(rng: random.Random, files: dict[str, bytes]) -> list[str]:
    rows = [{"user": rng.choice((*NAMES, f"u{k}"))} for k in range(rng.choice((0, 1, 9)))]
    files["users.csv"] = as_csv(rows)
    options = {
        "--weights": WEIGHTS,
        "--layer": NAMES,
        "--traffic": ("1", "0-0.5", "0", "0.5-0.2", "nan", "2", "-"),
        "--hash": ("md5", "growthbook-1", "growthbook-2", "x"),
        "--unit": ("user", "user", "x"),
    }
    check = ["--check"] if rng.random() < 0.3 else []
    return ["assign", "users.csv", "--name", rng.choice(NAMES), *check, *_some(rng, options)]


def measure(rng: random.Random, files: dict[str, bytes]) -> list[str]:
    texts = ("CTR@3", "ClickRR", "SATRate(seconds=-1)", "AbsenceTime", "CTR@0", "Dwell", "nDCG", "")
    options = {
        "-m": texts,
        "--by": ("variant", "user", "page", "query", "x"),
        "--session-timeout": ("30m", "2h", "0", "x", "-1s"),
        "--max-queries": ("9", "1", "0"),
        "--odd": ("refuse", "count"),
    }
    survival = ["--survival"] if rng.random() < 0.1 else []
    return ["measure", *_log(rng, files), *survival, *_some(rng, options)]


def preference(rng: random.Random, files: dict[str, bytes]) -> list[str]:
    if rng.random() < 0.3:
        counts = ("1,2,3", "0,0,0", "-1,2,3", "1,2", "x", "10000000000000000000,1,1", "1.5,2,3")
        return ["preference", "--counts", rng.choice(counts)]
    options = {
        "--unit": ("user", "impression", "session", "x"),
        "--clicks": ("all", "first", "sat", "dwell", "x"),
        "--expected": ("0.28", "0.5", "0", "1", "nan", "2"),
    }
    return ["preference", *_log(rng, files), *_some(rng, options)]


def train(rng: random.Random, files: dict[str, bytes]) -> list[str]:
    texts = ("GCTR", "DBN(gamma=0.9)", "PBM(iterations=2)", "UBM(alpha=0)", "DBN(gamma=2)", "all")
    options = {"-m": texts, "--tied": ("none", "grade"), "--over": ("GCTR", "x")}
    return ["train", *_log(rng, files), *_some(rng, options)]


def interleave(rng: random.Random, files: dict[str, bytes]) -> list[str]:
    for number in range(rng.choice((1, 2, 2, 3))):
        lines = [
            f"q{topic} Q0 {rng.choice(NAMES) or 'd'}{rank} {rank} {9 - rank} run{number}"
            for topic in range(rng.choice((1, 2)))
            for rank in range(1, rng.choice((1, 3, 6)))
        ]
        files[f"{number}.run"] = "\n".join(lines).encode(errors="replace")
    options = {
        "--method": ("TeamDraft", "Balanced", "OM", "PPM", "Probabilistic(tau=-1)", "SOSM", "x"),
        "--length": ("10", "1", "0", "x"),
        "--seed": ("0", "7", "-1"),
        "--jobs": ("1", "2", "0"),
    }
    some = rng.choice(("1", "5", "5", "0", "-1"))
    return ["interleave", *files, "--impressions", some, *_some(rng, options)]


def _log(rng: random.Random, files: dict[str, bytes]) -> list[str]:
    tables = some_log(rng)
    if rng.random() < 0.5:
        spoilt(rng, tables[rng.choice((0, 1, 1, 2))])
    if rng.random() < 0.1:
        files["model.json"] = json.dumps(MODEL).encode()
        return ["model.json"]
    if rng.random() < 0.4:
        files["log.csv"] = as_csv(flat(*tables))
        return ["log.csv"]
    write, suffix = rng.choice(((as_csv, "csv"), (as_lines, "jsonl")))
    names = [f"{name}.{suffix}" for name in ("pages", "results", "clicks")]
    files.update({name: write(rows) for name, rows in zip(names, tables, strict=True)})
    return names


def _odd_cells(rng: random.Random, rows: list[dict[str, Any]]) -> None:
    if rows and rng.random() < 0.5:
        for _ in range(rng.choice((1, 1, 2, 5))):
            row = rng.choice(rows)
            row[rng.choice([*row])] = rng.choice(ODD)


def _some(rng: random.Random, options: dict[str, tuple[str, ...]]) -> list[str]:
    chosen = rng.sample([*options], rng.choice((0, 1, 2, min(4, len(options)))))
    return [
        word
        for name in chosen
        # Those in front are right.
        for word in (name, rng.choice(options[name][: 2 if rng.random() < 0.8 else None]))
    ]


attack = Cases("users", user_command_case)
