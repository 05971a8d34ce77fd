"""The command `cranfield`: its commands, and what all of them do with warnings and errors."""

from __future__ import annotations

import os
import sys
import warnings
from io import TextIOWrapper
from pathlib import Path
from typing import Annotated, Any

import typer

from cranfield import __version__
from cranfield.cli import demo, evaluate, measures
from cranfield.errors import CranfieldError, CranfieldWarning
from cranfield.report.escape import plain

app = typer.Typer(
    name="cranfield",
    help="Evaluate information retrieval systems: from runs and judgments to meaningful"
    " statements.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
app.command("evaluate", epilog=evaluate.EPILOG)(evaluate.evaluate)
app.command("measures", epilog=measures.EPILOG)(measures.measures)
app.command("demo")(demo.demo)


def _version(asked: bool) -> None:
    if asked:
        typer.echo(f"cranfield {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    del version


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
    """Run the command line; errors are one line and exit status 2."""
    _prepare_streams()
    warnings.simplefilter("ignore")
    warnings.simplefilter("always", CranfieldWarning)
    warnings.showwarning = _show_warning
    try:
        app()
    except CranfieldError as error:
        print(f"cranfield: error: {plain(str(error))}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        # The reader of our output has seen enough; what is left must not raise again.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        print(f"cranfield: error: output failed: {plain(reason)}", file=sys.stderr)
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
