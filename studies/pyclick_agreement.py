"""Eight click models on Yandex's sample, every figure and rank beside PyClick's.

    python -m studies.pyclick_agreement DATA VALUES [--train FILE] [--test FILE] [--pyclick CODE]

DATA holds the sample in one-line form, of which `oneQueryTrain` and `oneQueryTest` are read unless
others are named. VALUES holds a file a model, such as `PBM.json`, with what PyClick (98e7e46)
prints of it: `log_likelihood`, and `perplexity` and `conditional`, each a mean and a list by rank.
With --pyclick, the folder of PyClick's source, they are made first, which takes seconds for one
query. Its DBN and CCM are no expectation-maximisation; ours are printed with what they learnt.

Clicks on no result are left out, and several clicks on a result are one, for both.
"""

from __future__ import annotations

import json
import sys
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

import cranfield as cf
from studies.common import run_main

MODELS = ("GCTR", "RCTR", "DCTR", "PBM", "CM", "UBM", "DCM", "SDBN")
OURS = {"CM": "CM(floor=1e-6)"}
EXACT = ("DBN", "CCM")
TOLERANCE = 1e-9


def sessions_of(log: cf.online.QueryLog, code: Path) -> list[Any]:
    """Make PyClick's sessions of a log."""
    sys.path.insert(0, str(code))
    session = import_module("pyclick.search_session.SearchSession").SearchSession
    result = import_module("pyclick.search_session.SearchResult").SearchResult
    sessions = [session(query) for query in log.pages["query"]]
    rows = log.results_with_clicks.select("page", "doc", "clicks")
    for page, doc, clicks in rows.iter_rows():
        sessions[page].web_results.append(result(doc, int(clicks > 0)))
    return sessions


def make_values(train: list[Any], test: list[Any], values: Path) -> None:
    evaluation = import_module("pyclick.click_models.Evaluation")
    for name in MODELS:
        home = "CTR" if name.endswith("CTR") else name
        model = getattr(import_module(f"pyclick.click_models.{home}"), name)()
        model.train(train)
        figures = {
            "log_likelihood": evaluation.LogLikelihood().evaluate(model, test),
            "perplexity": evaluation.Perplexity().evaluate(model, test),
            "conditional": evaluation.PerplexityCond().evaluate(model, test),
        }
        (values / f"{name}.json").write_text(json.dumps(figures))


def apart(found: cf.online.ModelEvaluation, theirs: dict[str, Any]) -> tuple[float, float]:
    """Return the largest relative differences of the three figures, and of those by rank."""
    row = found.to_polars().row(0, named=True)
    ours = [row["by rank of page"], row["perplexity"], row["conditional perplexity"]]
    other = [theirs["log_likelihood"], theirs["perplexity"][0], theirs["conditional"][0]]
    ranks = found.ranks.select("perplexity", "conditional perplexity").to_numpy().T
    printed = np.array([theirs["perplexity"][1], theirs["conditional"][1]])
    return (
        float(np.max(np.abs(np.subtract(ours, other)) / np.abs(other))),
        float(np.max(np.abs(ranks - printed) / printed)),
    )


def main(
    data: Path,
    values: Path,
    *,
    train: str = "oneQueryTrain",
    test: str = "oneQueryTest",
    pyclick: Path | None = None,
) -> None:
    warnings.simplefilter("ignore", cf.CranfieldWarning)
    logs = [cf.online.read_log(data / name, format="pyclick") for name in (train, test)]
    print("train {}\ntest  {}".format(*logs))
    if pyclick is not None:
        values.mkdir(parents=True, exist_ok=True)
        train_sessions, test_sessions = (sessions_of(log, pyclick) for log in logs)
        make_values(train_sessions, test_sessions, values)
    names = [OURS.get(name, name) for name in (*MODELS, *EXACT)]
    trained = cf.online.train_models(logs[0], names)
    right = True
    for name, model in zip((*MODELS, *EXACT), trained, strict=True):
        found = cf.online.evaluate_models(model, logs[1])
        row = found.to_polars().row(0, named=True)
        figures = (row["by rank of page"], row["perplexity"], row["conditional perplexity"])
        line = f"{name:5}" + "".join(f"{one:16.9f}" for one in figures)
        if name in EXACT:
            going = model.parameters["continuation"]["value"].to_list()
            steps = np.diff(model.objective)
            line += f"  continuation {' '.join(f'{one:.6f}' for one in going)}"
            line += f", least step of the objective {steps.min():.2g}"
        else:
            both = apart(found, json.loads((values / f"{name}.json").read_text()))
            right &= max(both) <= TOLERANCE
            line += f"  apart {both[0]:.1e}, at any rank {both[1]:.1e}"
        print(line)
    print("equal to PyClick" if right else "NOT equal to PyClick")
    sys.exit(not right)


if __name__ == "__main__":
    run_main(main)
