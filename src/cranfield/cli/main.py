"""The command `cranfield`: its commands, and what all of them do with warnings and errors."""

from __future__ import annotations

import os
import sys
import warnings
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import click

from cranfield.base.errors import CranfieldError, CranfieldWarning
from cranfield.base.escape import plain
from cranfield.base.version import __version__
from cranfield.cli import answers, cite, compare, demo, evaluate, measures, report, scale, sessions
from cranfield.cli.studies import (
    collection as study_collection,
)
from cranfield.cli.studies import (
    measures as study_measures,
)
from cranfield.cli.studies import (
    reproduction as study_reproduction,
)
from cranfield.cli.studies import (
    study,
)
from cranfield.cli.studies import (
    tests as study_tests,
)


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="cranfield %(version)s")
def app() -> None:
    """Evaluate information retrieval systems: from runs and judgments to meaningful statements."""


app.add_command(evaluate.evaluate)
app.add_command(compare.compare)
app.add_command(sessions.sessions)
app.add_command(answers.answers)
app.add_command(measures.measures)
app.add_command(scale.scale)
app.add_command(report.report)
study.study.add_command(study_tests.tests)
study.study.add_command(study_collection.collection)
study.study.add_command(study_reproduction.reproduction)
study.study.add_command(study_measures.measures)
app.add_command(study.study)
app.add_command(cite.cite)
app.add_command(demo.demo)


def _show_warning(message: Warning | str, *about: Any, **_: Any) -> None:
    kind = "warning" if isinstance(message, CranfieldWarning) else "note"
    print(f"cranfield: {kind}: {plain(str(message))}", file=sys.stderr)


def _prepare_streams() -> None:
    """Make output possible where it is closed, or in an encoding that lacks our characters."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 (open to the end)
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def main() -> None:
    """Run the command line as a function; ends in SystemExit."""
    sys.exit(run())


def run() -> int:
    """Run the command line and return the exit status; errors are one line and status 2."""
    _prepare_streams()
    warnings.simplefilter("ignore")
    warnings.simplefilter("always", CranfieldWarning)
    warnings.showwarning = _show_warning
    return _run()


def _run() -> int:
    try:
        status = app(standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        sys.stdout.flush()
        return 0
    except click.ClickException as error:
        print(f"cranfield: error: {plain(error.format_message())}", file=sys.stderr)
    except CranfieldError as error:
        print(f"cranfield: error: {plain(str(error))}", file=sys.stderr)
    except BrokenPipeError:
        # The reader of our output has seen enough.
        return 0
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        print(f"cranfield: error: output failed: {plain(reason)}", file=sys.stderr)
    except (KeyboardInterrupt, click.Abort):
        return 130
    return 2
