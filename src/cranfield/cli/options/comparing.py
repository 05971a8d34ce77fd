"""Options of commands that compare systems: with which test, and how."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any, TypeVar

import click

from cranfield.cli.options.judging import alpha_option, missing_option, one_of, resamples_option
from cranfield.significance.corrections.catalogue import CORRECTIONS, find_correction
from cranfield.significance.options import ALTERNATIVES, MISSING
from cranfield.significance.tests.catalogue import TESTS, find_test

Command = TypeVar("Command", bound=Callable[..., Any])

_TESTS = ", ".join(name for name, test in TESTS.items() if not test.info.bound)


_OPTIONS: tuple[Callable[[Any], Any], ...] = (
    click.option("--baseline", "-b", multiple=True, help="Compare with this system only."),
    click.option(
        "--test",
        "-t",
        metavar="TEST",
        help=f"{_TESTS}. Default: two-way ANOVA, which for two systems is the paired t-test.",
    ),
    click.option(
        "--correction",
        "-c",
        metavar="CORRECTION",
        help=f"For many comparisons: {', '.join(CORRECTIONS)}. By default the test's own.",
    ),
    one_of("--alternative", ALTERNATIVES, "What counts.", "two-sided"),
    alpha_option,
    missing_option(MISSING),
    click.option(
        "--exact/--no-exact", default=None, help="Exact p-values, where the test has them."
    ),
    resamples_option(10_000),
    click.option(
        "--seed", type=click.IntRange(0), default=0, show_default=True, help="Of random samples."
    ),
)


@dataclass(frozen=True)
class Comparing:
    """How systems are to be compared: options of :func:`cranfield.compare`, as they were given.

    Attributes
    ----------
    baseline
        Systems to compare with; none for all pairs.
    test, correction, alternative, alpha, missing, exact, resamples, seed
        As there.
    """

    baseline: tuple[str, ...]
    test: str | None
    correction: str | None
    alternative: str
    alpha: float
    missing: str | None
    exact: bool | None
    resamples: int
    seed: int

    def checked(self) -> dict[str, Any]:
        """Return what :func:`cranfield.compare` takes, before any file is read.

        Raises
        ------
        PolicyError
            For a test or a correction that does not exist.
        """
        test = find_test(self.test).info.name if self.test is not None else None
        correction = find_correction(self.correction) if self.correction is not None else None
        named = {"baseline": self.baseline or None, "test": test, "correction": correction}
        return asdict(self) | named


def comparing_options(command: Command) -> Command:
    """Add the options of a comparison to a command, which gets them together as `comparing`."""

    @functools.wraps(command)
    def collected(*arguments: Any, **rest: Any) -> Any:
        own = {one.name: rest.pop(one.name) for one in fields(Comparing)}
        return command(*arguments, comparing=Comparing(**own), **rest)

    wrapped: Any = collected
    for option in reversed(_OPTIONS):
        wrapped = option(wrapped)
    return wrapped  # type: ignore[no-any-return]
