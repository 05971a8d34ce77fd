"""The command `cranfield` with its groups, and the handling of warnings and errors."""

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

from cranfield.base.errors import CranfieldError, CranfieldWarning, get_system_reason
from cranfield.base.text import sanitise, shorten_message
from cranfield.base.version import __version__
from cranfield.cli import options as cli


@click.group(
    cls=cli.CommandGroup, prefix="", context_settings={"help_option_names": ["-h", "--help"]}
)
@click.version_option(__version__, message="cranfield %(version)s")
def app() -> None:
    """Evaluate information retrieval systems: from runs and judgments to meaningful statements."""


def _show_warning(printed_lines: set[str], message: Warning | str, *_: Any, **__: Any) -> None:
    """Print a warning once, as a file may be read twice."""
    kind = "warning" if isinstance(message, CranfieldWarning) else "note"
    context = click.get_current_context(silent=True)
    text = cli.as_options(str(message), None if context is None else context.command)
    line = f"cranfield: {kind}: {sanitise(text)}"
    if line not in printed_lines:
        printed_lines.add(line)
        print(line, file=sys.stderr)


def _prepare_streams() -> None:
    """Make output work with closed streams, and with encodings that lack some characters."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:
            setattr(sys, name, Path(os.devnull).open("w"))  # noqa: SIM115 (open until the process ends)
        elif isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def main() -> None:
    """Run the command line, and raise SystemExit with its status."""
    sys.exit(run())


def run() -> int:
    """Run the command line and return the exit status, 2 after an error."""
    _prepare_streams()
    warnings.simplefilter("ignore")
    warnings.simplefilter("always", CranfieldWarning)
    warnings.showwarning = partial(_show_warning, set())
    try:
        if os.environ.get("POLARS_MAX_THREADS") == "0":
            raise CranfieldError("POLARS_MAX_THREADS must be at least 1, got 0")
        with cli.show_elapsed_time():
            status = app(standalone_mode=False)
        sys.stdout.flush()
        return status if isinstance(status, int) else 0
    except click.exceptions.NoArgsIsHelpError as error:
        print(error.format_message())
        sys.stdout.flush()
        return 0
    except click.ClickException as error:
        # Click lists choices on separate lines.
        text = error.format_message().replace("\n\t", " ")
        if text.endswith("%' is not a valid float."):
            text += " Write a percentage as a proportion, such as 0.05."
        print(f"cranfield: error: {shorten_message(text)}", file=sys.stderr)
    except CranfieldError as error:
        print(f"cranfield: error: {sanitise(str(error))}", file=sys.stderr)
    except BrokenPipeError:
        # The program that reads the output, such as `head`, has ended.
        return 0
    except SystemExit:
        # Click turns a broken pipe into status 1, and wraps the stream.
        if type(sys.stdout).__name__.endswith("PacifyFlushWrapper"):
            return 0
        raise
    except OSError as error:
        reason = sanitise(get_system_reason(error))
        print(f"cranfield: error: output failed: {reason}", file=sys.stderr)
    except (KeyboardInterrupt, click.Abort):
        return 130
    return 2


@cli.group(
    prefix="campaign",
    is_ordered=True,
    start="init pack demo team run pool judgments score standing history release",
)
def campaign() -> None:
    """Organise an evaluation campaign: submissions, judgments, leaderboards, releases."""


@cli.group(prefix="online")
def online() -> None:
    """Evaluate with users: logs, interleaving, experiments, click models."""


@cli.group(prefix="study")
def study() -> None:
    """Study the evaluation itself: tests, measures, collections."""


@cli.command()
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print a script that makes a shell complete commands, options and names.

    Examples
    --------
    eval "$(cranfield completion bash)"     in ~/.bashrc
    eval "$(cranfield completion zsh)"      in ~/.zshrc
    cranfield completion fish > ~/.config/fish/completions/cranfield.fish
    """
    completer = get_completion_class(shell)
    assert completer is not None
    root = context.find_root().command
    print(completer(root, {}, "cranfield", "_CRANFIELD_COMPLETE").source())
