"""What scripts of studies share: arguments by signature, tables in Markdown, and coverage."""

from __future__ import annotations

import argparse
import inspect
import sys
from collections.abc import Callable, Iterable
from typing import Annotated, Any, get_args, get_origin, get_type_hints

import numpy as np

from cranfield.base.arrays import Bools


def run_main(main: Callable[..., Any]) -> None:
    """Call a function with the arguments of the command line.

    Its parameters are the arguments; those that are keywords only are options, such as `--samples`.
    `Annotated[str, CHOICES]` lists the choices of an argument.
    """
    parser = argparse.ArgumentParser(
        description=sys.modules[main.__module__].__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    hints = get_type_hints(main, include_extras=True)
    for name, parameter in inspect.signature(main).parameters.items():
        hint, options = hints[name], dict[str, Any]()
        if get_origin(hint) is Annotated:
            hint, choices = get_args(hint)
            # No arguments are an empty list, which argparse looks up, too.
            options |= {"choices": [[], *choices], "metavar": name.upper()}
        # The first type of `tuple[int, ...]` or `Path | None`.
        options["type"] = (*get_args(hint), hint)[0]
        is_option = parameter.kind is parameter.KEYWORD_ONLY
        has_default = parameter.default is not parameter.empty
        if get_origin(hint) is tuple:
            options["nargs"] = "*" if has_default else "+"
        elif has_default and not is_option:
            options["nargs"] = "?"
        short = ["-o"] if name == "output" else []
        parser.add_argument(*short, f"--{name}" if is_option else name, **options)
    arguments = vars(parser.parse_args()).items()
    main(**{name: value for name, value in arguments if value not in (None, [])})


def print_head(*cells: str) -> None:
    """Print the head of a table in Markdown."""
    print(f"\n| {' | '.join(cells)} |\n|{' --- |' * len(cells)}", flush=True)


def print_row(*cells: Any) -> None:
    """Print a row of a table in Markdown."""
    texts = (f"{cell:.4f}" if isinstance(cell, float) else str(cell) for cell in cells)
    # A name such as `kappa 0|12` contains the separator of columns.
    escaped = (text.replace("|", r"\|") for text in texts)
    print(f"| {' | '.join(escaped)} |", flush=True)


def covers(low: Any, high: Any, truth: Any) -> Bools:
    """Return which intervals contain the truth, up to rounding; none does without bounds."""
    return np.asarray((low <= truth + 1e-12) & (truth - 1e-12 <= high))


def rounded(numbers: Iterable[Any], places: int = 3) -> list[float]:
    return [round(float(number), places) for number in numbers]
