"""The report: one page of HTML that opens without a network and prints well."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from os import PathLike, fspath
from pathlib import Path
from typing import Any

from cranfield.base.errors import PolicyError, quoted
from cranfield.base.whole_files import whole_file

TITLE = "Evaluation report"

OTHER = {
    *(".csv", ".docx", ".ipynb", ".json", ".md", ".parquet", ".pdf"),
    *(".png", ".svg", ".tex", ".tsv", ".txt"),
}
"""Suffixes of files that are no pages."""


def report(
    results: Any,
    path: str | PathLike[str],
    *,
    title: str = TITLE,
    baseline: str | Sequence[str] | None = None,
    test: str | None = None,
    correction: str | None = None,
    statistic: str | None = None,
    alternative: str | None = None,
    alpha: float | None = None,
    missing: str | None = None,
    exact: bool | None = None,
    threshold: float | None = None,
    resamples: int | None = None,
    seed: int | None = None,
    scales: bool = True,
    judges: Any = None,
    inputs: Iterable[str | PathLike[str]] = (),
    command: str | Sequence[str] | None = None,
    date: str | None = None,
    jobs: int | None = None,
) -> Path:
    """Write a report: one HTML file, to be opened offline, sent around, or printed.

    It says what was evaluated, which systems differ and how sure that is, lets the reader sort and
    filter systems and look at any pair topic by topic, and ends with all settings. Its numbers are
    those of the results, to the bit.

    Parameters
    ----------
    results
        An :class:`Evaluation`; or an :class:`~cranfield.online.ExperimentReport`, which has
        a page of its own and takes no options of comparisons; or scores, comparisons of the same
        systems, or meanings, by themselves, in a list or in a mapping; or whatever
        :func:`compare` takes.
    path
        The file to write; it appears whole or not at all.
    title
        Heading of the page.
    baseline, test, correction, statistic, alternative, alpha, missing
        As for :func:`compare`, for scores that are not compared yet. None is the default there.
    exact, threshold, resamples, seed
        Likewise.
    scales
        Whether measures with a cutoff are also compared by their interval-scaled versions, where
        that is quick: up to cutoff 100 for P, R, DCG, nDCG, RBP and RR, else 20.
    judges
        What was found of judges beside people, for a section of its own: what
        :func:`cranfield.assess.compare_judges`, :func:`cranfield.assess.judge_rankings` or
        :func:`cranfield.assess.kin_bias` return, or a list of these.
    inputs
        Files that the results come from: the page lists their names and SHA-256. Results do not
        know their files: without it there is no such list.
    command
        The command that makes the page again, as text or as its arguments. Without it there is
        none on the page.
    date
        A date to be shown. By default there is none: the same input gives the same bytes.
    jobs
        Threads; it never changes a result.

    Raises
    ------
    PolicyError
        For unknown options, a path, inputs or a command that are none, or options of a
        comparison for comparisons that are made already.
    CranfieldError
        When there is nothing to report, or measures are of different systems.
    InputError
        When a file cannot be read, or the page cannot be written.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> import cranfield as cf
    >>> covid = cf.bundled.trec_covid()
    >>> ev = cf.evaluate(covid.runs[:4], covid.qrels, ["nDCG@10", "P@10"])
    >>> path = pathlib.Path(tempfile.mkdtemp()) / "report.html"
    >>> cf.report(ev, path, title="TREC-COVID round 5").read_text()[:15]
    '<!doctype html>'
    """
    from cranfield.reporting.page.build import page
    from cranfield.reporting.page.contents import collect
    from cranfield.reporting.page.experiment_page import experiment_page
    from cranfield.reporting.page.judges import read_judged
    from cranfield.reporting.page.settings import hashed

    target = _named(path, "the page")
    if (suffix := Path(target).suffix.lower()) in OTHER:
        raise PolicyError(f"the report is a page of HTML, and {quoted(target)} is called {suffix}")
    files = hashed(_files(inputs))
    shown = _command(command)
    judged = () if judges is None else read_judged(judges)
    options: dict[str, Any] = {
        "baseline": baseline,
        "test": test,
        "correction": correction,
        "statistic": statistic,
        "alternative": alternative,
        "alpha": alpha,
        "missing": missing,
        "exact": exact,
        "threshold": threshold,
        "resamples": resamples,
        "seed": seed,
    }
    if _is_experiment(results):
        for name, value in {**options, "judges": judges}.items():
            if value is not None:
                raise PolicyError(f"{name}: an experiment is analysed already, and takes none")
        called = "Experiment report" if title == TITLE else title
        made = experiment_page(results, called, inputs=files, command=shown, date=date)
    else:
        contents = collect(results, title=title, scales=scales, jobs=jobs, **options)
        contents = replace(contents, inputs=files, command=shown, date=date, judges=judged)
        made = page(contents)
    with whole_file(target) as out:
        out.write(made.encode())
    return Path(target)


def _is_experiment(results: Any) -> bool:
    """Tell whether an experiment was analysed; who has one has loaded its class, which is slow."""
    loaded = sys.modules.get("cranfield.online.experiments.report")
    return loaded is not None and isinstance(results, loaded.ExperimentReport)


def _named(path: Any, what: str) -> str:
    name = fspath(path) if isinstance(path, (str, PathLike)) else None
    if not isinstance(name, str):
        raise PolicyError(f"{what} needs the path of a file, not {type(path).__name__}")
    return name


def _files(inputs: Any) -> list[str]:
    """Return the names of the files of a page; one path is one file."""
    if isinstance(inputs, (str, PathLike)):
        inputs = [inputs]
    if not isinstance(inputs, Iterable) or isinstance(inputs, (bytes, bytearray)):
        raise PolicyError(f"inputs: a list of paths is needed, not {type(inputs).__name__}")
    return [_named(one, "each of inputs") for one in inputs]


def _command(command: Any) -> str | None:
    if command is None or isinstance(command, str):
        return command
    if isinstance(command, Sequence) and all(isinstance(one, str) for one in command):
        return shlex.join(command)
    raise PolicyError("command: text is needed, or a list of its arguments as text")
