"""`cranfield completion`: what makes a shell complete commands, options, measures and files."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

from cranfield.cli.options.declaring import command

EPILOG = """\b
Examples:
  eval "$(cranfield completion bash)"     in ~/.bashrc
  eval "$(cranfield completion zsh)"      in ~/.zshrc
  cranfield completion fish > ~/.config/fish/completions/cranfield.fish
"""


@command(epilog=EPILOG)
@click.argument("shell", type=click.Choice(("bash", "zsh", "fish")))
@click.pass_context
def completion(context: click.Context, shell: str) -> None:
    """Print what makes a shell complete commands, options, measures, tests and files."""
    found = get_completion_class(shell)
    assert found is not None
    root = context.find_root().command
    print(found(root, {}, "cranfield", "_CRANFIELD_COMPLETE").source())
