"""The command `cranfield`: its commands, with what all of them do with warnings or errors."""

from __future__ import annotations

import os
import sys
import warnings
from functools import partial
from io import TextIOWrapper
from pathlib import Path
from typing import Any

import click
from click.shell_completion import get_completion_class

from cranfield.base.errors import CranfieldError, CranfieldWarning
from cranfield.base.text import one_line, plain
from cranfield.base.version import __version__
from cranfield.cli.options.declaring import CommandGroup, command, group
from cranfield.cli.options.hints import as_options
from cranfield.cli.options.output import show_elapsed


@click.group(cls=CommandGroup, of="", context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, message="cranfield %(version)s")
def app() -> None:
    """Evaluate information retrieval systems: from runs and judgments to meaningful statements."""


def _show_warning(shown: set[str], message: Warning | str, *about: Any, **_: Any) -> None:
    """Show a warning, unless it was shown: a file may be read twice."""
    kind = "warning" if isinstance(message, CranfieldWarning) else "note"
    context = click.get_current_context(silent=True)
    text = as_options(str(message), None if context is None else context.command)
    line = f"cranfield: {kind}: {plain(text)}"
    if line not in shown:
        shown.add(line)
        print(line, file=sys.stderr)


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
    warnings.showwarning = partial(_show_warning, set())
    try:
        if os.environ.get("POLARS_MAX_THREADS") == "0":
            raise CranfieldError("POLARS_MAX_THREADS must be at least 1, got 0")
        with show_elapsed():
            status = app(standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        sys.stdout.flush()
        return 0
    except click.ClickException as error:
        # Click lists what there is to choose from in lines of their own.
        text = error.format_message().replace("\n\t", " ")
        print(f"cranfield: error: {one_line(text)}", file=sys.stderr)
    except CranfieldError as error:
        print(f"cranfield: error: {plain(str(error))}", file=sys.stderr)
    except BrokenPipeError:
        # The reader of our output has seen enough.
        return 0
    except SystemExit:
        # Click makes status 1 of that, and puts a wrapper around the broken stream.
        if type(sys.stdout).__name__.endswith("PacifyFlushWrapper"):
            return 0
        raise
    except OSError as error:
        reason = (error.strerror or str(error)).lower()
        print(f"cranfield: error: output failed: {plain(reason)}", file=sys.stderr)
    except (KeyboardInterrupt, click.Abort):
        return 130
    return 2


@group(
    of="campaign",
    in_order=True,
    first="init pack demo team run pool judgments score standing history release",
)
def campaign() -> None:
    """Organise an evaluation campaign: submissions, judgments, leaderboards, releases."""


@group(of="online")
def online() -> None:
    """Evaluate with users: logs, interleaving, experiments, click models."""


@group(of="study")
def study() -> None:
    """Study the evaluation itself: tests, measures, collections."""


SHELLS = """\b
Examples:
  eval "$(cranfield completion bash)"     in ~/.bashrc
  eval "$(cranfield completion zsh)"      in ~/.zshrc
  cranfield completion fish > ~/.config/fish/completions/cranfield.fish
"""


@command(epilog=SHELLS)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print the script with which a shell completes commands, options and names."""
    found = get_completion_class(shell)
    assert found is not None
    root = context.find_root().command
    print(found(root, {}, "cranfield", "_CRANFIELD_COMPLETE").source())
