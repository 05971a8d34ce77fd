"""Run cases in one process and say how each ended; prints JSON, for the state on PYTHONPATH.

python -m studies.newcomers.running
"""

from __future__ import annotations

import ast
import contextlib
import io
import json
import os
import shlex
import sys
import tempfile
import traceback
import warnings
from pathlib import Path
from typing import Any

from studies.newcomers.cases import Case
from studies.newcomers.files import QRELS, SYSTEMS, TOPIC_LISTS, A, B, write_files

LIMIT = 6000
"""Characters that are kept of what was printed."""


def outcome(code: str) -> tuple[str, str]:
    """Run a case; how it ended (works, told, traceback) and what was printed."""
    out = io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(out):
        if code.startswith("cranfield"):
            # The first line that fails ends it, as in a script.
            ended = next(
                (end for line in code.split("\n") if (end := command(line)) != "works"), "works"
            )
        else:
            ended = python(code)
    return ended, out.getvalue()[:LIMIT]


def command(line: str) -> str:
    """Run a command in this process."""
    from cranfield.cli.main import main

    sys.argv = shlex.split(line)
    try:
        main()
    except SystemExit as stop:
        return "told" if stop.code else "works"
    except BaseException:
        traceback.print_exc()
        return "traceback"
    return "works"


def python(code: str) -> str:
    """Run lines of Python and print the value of the last, as an interpreter does."""
    import numpy as np
    import pandas as pd
    import polars as pl

    import cranfield as cf

    names: dict[str, Any] = {
        **{"cf": cf, "np": np, "pd": pd, "pl": pl, "Path": Path},
        **{"A": A, "B": B, "QRELS": QRELS, "SYSTEMS": SYSTEMS, "TOPIC_LISTS": TOPIC_LISTS},
    }
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("always", cf.CranfieldWarning)
            warnings.showwarning = _shown
            tree = ast.parse(code)
            *lines, last = tree.body
            exec(compile(ast.Module(lines, []), "<case>", "exec"), names)
            if isinstance(last, ast.Expr):
                print(eval(compile(ast.Expression(last.value), "<case>", "eval"), names))
            else:
                exec(compile(ast.Module([last], []), "<case>", "exec"), names)
    except (cf.CranfieldError, KeyError) as error:
        # A mapping without a key says so by KeyError, as all mappings do.
        print(f"{type(error).__name__}: {error}")
        return "told"
    except Exception as error:
        print(f"{type(error).__name__}: {error}")
        return "traceback"
    return "works"


def _shown(message: Warning | str, *where: object, **more: object) -> None:
    print(f"warning: {message}")


def run_all(cases: list[Case]) -> list[dict[str, str]]:
    """Run cases, each in a fresh folder of files, and the advice of each."""
    os.environ.update(COLUMNS="100", NO_COLOR="1")
    return [run(case) for case in cases]


def run(case: Case) -> dict[str, str]:
    """Run a case in a folder of its own."""
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        write_files(Path(folder))
        ended, printed = outcome(case.code)
        advice, advised = outcome(case.then) if case.then else ("works", "")
    return {"ended": ended, "printed": printed, "advice": advice, "advised": advised}


def main(step: int = 1) -> None:
    """Run all cases, or each so many, and print what came of them."""
    from studies.newcomers.collected import CASES

    out = sys.stdout
    json.dump(run_all(CASES[::step]), out)


if __name__ == "__main__":
    main(*map(int, sys.argv[1:]))
