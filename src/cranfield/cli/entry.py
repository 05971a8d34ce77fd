"""Where a process of its own begins and ends, with no time lost at either end."""

from __future__ import annotations

import gc
import os
import sys


def entry() -> None:
    # Modules make thousands of objects that stay; to go through them again and again while others
    # are loaded is a tenth of the time of a short command.
    gc.set_threshold(100_000)
    try:
        from cranfield.cli.main import run

        status = run()
    except KeyboardInterrupt:
        # Before anything could begin, or while it ended.
        status = 130
    if "joblib.externals.loky.reusable_executor" in sys.modules:
        from cranfield.base.parallel import end_workers

        end_workers()
    sys.stderr.flush()
    # All is written; taking down the interpreter piece by piece would only take time.
    os._exit(status)
