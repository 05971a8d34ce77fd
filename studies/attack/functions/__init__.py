"""Public functions, constructors, methods and properties, called with odd and extreme arguments.

Calls that work, and objects of all kinds, are noted while the examples of the documentation run.
A case is one of them (`calls`) with arguments replaced (`values`): by something of a wrong type, by
the right type with an extreme value, deep inside a dict or a list, or left out. What comes out is
looked at, too: printed, iterated, its properties and methods.

The methods of measures take what measures hand them; only their operators are attacked. What is
in a result goes together: its constructor is given wrong types only, and is not looked at.

Right is any result, as what an odd argument should give is seldom known; refused is one printable
line by an error of ours. A finding is any other exception, a warning of NumPy, Polars or Python,
what takes too long, and the end of the process.
"""

from __future__ import annotations

import os
import random
import tempfile
from functools import cache
from pathlib import Path
from unittest.mock import patch

from studies.attack.functions.calls import Pool, Target, noted
from studies.attack.functions.cases import case, outcome
from studies.attack.work.workers import Cases


@cache
def _known() -> tuple[list[Target], Pool]:
    from cranfield.measures.base import REGISTRY

    with patch.object(tempfile, "tempdir", str(Path.cwd())):
        targets, pool = noted()
    # All families of measures are loaded, and stay.
    list(REGISTRY)
    return [one for one in targets if one.calls], pool


def function_case(rng: random.Random, folder: Path) -> bool:
    from cranfield.measures.base import REGISTRY
    from cranfield.measures.families import ALIASES

    targets, pool = _known()
    own = os.getpid()
    # Copies of campaigns are large.
    with (
        tempfile.TemporaryDirectory(dir=folder) as place,
        patch.object(tempfile, "tempdir", place),
        # Measures that a case defines end with it.
        patch.dict(REGISTRY.known),
        patch.dict(ALIASES),
    ):
        made, run = case(rng.choice(targets), pool, rng)
        try:
            return outcome(made, run)
        finally:
            if os.getpid() != own:
                # A process that was forked in a case has no cases to do.
                os._exit(1)


attack = Cases("functions", function_case, _known)
