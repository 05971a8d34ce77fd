"""Where a process of its own begins and ends, with no time lost at either end."""

from __future__ import annotations

import os
import sys


def entry() -> None:
    from cranfield.cli.main import run

    status = run()
    sys.stderr.flush()
    # All is written; taking down the interpreter piece by piece would only take time.
    os._exit(status)
