"""Public functions, constructors, methods and properties, called with odd and extreme arguments.

Calls that work, and objects of all kinds, are noted while the examples of the documentation run.
A case is one of them (`calls`) with arguments replaced (`values`): by something of a wrong type, by
the right type with an extreme value, deep inside a dict or a list, or left out. What comes out is
looked at, too: printed, iterated, its properties and methods.

The methods of measures take what measures hand them; only their operators are attacked. What is
in a result goes together: its constructor is given wrong types only, and is not looked at.

Right is any result, as what an odd argument should give is seldom known; refused is one printable
line by an error of ours. A finding is any other exception, a warning of NumPy, Polars or Python,
what takes longer than `PATIENCE`, and the end of the process. A case follows from the seed and its
number alone: `--case NUMBER` does it again.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from threading import Timer

from studies.attack import Outcome
from studies.attack.functions.cases import PATIENCE


def attack(seed: int, cases: int, first: int = 0) -> Iterator[Outcome]:
    """Yield what became of so many cases; another process does them, and may end."""
    done = first
    while done < cases:
        command = [sys.executable, "-m", "studies.attack.functions", str(seed), str(done)]
        with subprocess.Popen([*command, str(cases)], stdout=subprocess.PIPE, text=True) as worker:
            assert worker.stdout is not None
            begun = "the examples"
            # What hangs outside of Python hears no alarm.
            guard = Timer(600, worker.kill)
            guard.start()
            for line in worker.stdout:
                guard.cancel()
                kind, *told = json.loads(line)
                if kind == "all":
                    return
                if kind == "begun":
                    [begun] = told
                    guard = Timer(3 * PATIENCE, worker.kill)
                    guard.start()
                else:
                    done += 1
                    yield Outcome(begun, kind, *told)
            guard.cancel()
        if worker.returncode == 1:
            raise RuntimeError(f"the attack itself failed after {begun}")
        yield Outcome(begun, "finding", f"the process ended with {worker.returncode}")
        done += 1
