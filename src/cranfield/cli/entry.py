"""Entry point of the process `cranfield`, with a fast start and end."""

from __future__ import annotations

import gc
import os
import sys


def entry() -> None:
    """Run the command line, and end the process without the teardown of the interpreter."""
    # Modules create thousands of permanent objects; collecting garbage while they load takes a
    # tenth of the time of a short command.
    gc.set_threshold(100_000)
    try:
        from cranfield.cli.main import run

        status = run()
    except KeyboardInterrupt:
        # The interrupt came before the command started, or while it ended.
        status = 130
    if "joblib.externals.loky.reusable_executor" in sys.modules:
        from cranfield.base.parallel import end_workers

        end_workers()
    sys.stderr.flush()
    # All output is written, and the teardown is slow.
    os._exit(status)
