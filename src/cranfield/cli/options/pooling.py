"""Options of pools: what is to be judged, and how it comes onto sheets."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import click

from cranfield.base.errors import PolicyError, quoted
from cranfield.cli.options.declaring import keep_inputs, option
from cranfield.cli.options.judging import one_of
from cranfield.collection.files.format_names import OF_QRELS
from cranfield.reporting.text.studies import WRITERS

LISTED = ("--next", "--budget", "--unjudged", "--sample !--judged")
"""What lists documents."""

LISTS = ("trec", "tsv", "jsonl")
"""Formats of documents to judge."""


@dataclass(frozen=True)
class Asked:
    """What is to be listed, or asked: at most one of these."""

    following: int | None
    budget: int | None
    unjudged: bool
    sample: str | None
    rules: tuple[str, ...]

    def lists(self, judged: bool) -> bool:
        """Tell whether documents are listed; a judged sample is reported."""
        listed = bool(self.following or self.budget or self.unjudged)
        return listed or (self.sample is not None and not judged)

    def check(self, judged: bool, format: str, learns: bool) -> None:
        """Refuse what does not go together, before any file is read."""
        given = {
            "--next": self.following,
            "--budget": self.budget,
            "--unjudged": self.unjudged,
            "--sample": self.sample,
            "--stop": self.rules,
        }
        names = [name for name, value in given.items() if value]
        if len(names) > 1:
            raise PolicyError(f"{names[0]} and {names[1]} do not go together")
        if not judged:
            for name in ("--unjudged", "--stop"):
                if name in names:
                    raise PolicyError(f"{name} needs --judged")
        if self.budget and learns and not judged:
            raise PolicyError("--budget of a method that learns needs --judged; or use --next")
        listing = self.lists(judged)
        fit = LISTS if listing else (*WRITERS, *(OF_QRELS if self.sample else ()))
        if format not in {"auto", *fit}:
            what = "documents to judge are written as" if listing else "this is written as"
            raise PolicyError(f"{what} {', '.join(sorted(fit))}, not as {format}")


ASKED = (
    option(
        "--next",
        "following",
        type=click.IntRange(1),
        help="List the next documents to judge, so many of each topic, from --judged alone.",
    ),
    option(
        "--budget",
        type=click.IntRange(1),
        help="List the first documents of the order, so many of each topic.",
    ),
    option("--unjudged", is_flag=True, help="List what nobody has judged."),
    option(
        "--sample",
        metavar="DESIGN",
        help="List a sample: uniform, strata or stat. With --judged: estimate what is relevant.",
    ),
    option(
        "--stop",
        "rules",
        multiple=True,
        metavar="RULE",
        help="Ask whether to stop: RecallTest, Knee, Budget, 2399; may be given several times.",
    ),
)


@dataclass(frozen=True)
class Dealing:
    """How documents come onto sheets."""

    arranged: str
    assessors: str
    by: str
    overlap: float

    @property
    def draws(self) -> bool:
        """Whether it depends on a seed."""
        return self.arranged == "shuffled" or self.assessors != "1"

    def write(
        self,
        documents: Any,
        seed: int,
        format: str,
        output: str | None,
        inputs: Sequence[str | None],
    ) -> None:
        from cranfield.assess import sheets

        names = self.assessors.split(",")
        number = names[0].strip()
        whole = len(names) == 1 and number.isdecimal()
        if self.overlap and (int(number) if whole else len(names)) == 1:
            raise PolicyError("--overlap requires two assessors or more, got one")
        dealt = sheets(
            documents,
            arranged=self.arranged,
            assessors=int(number) if whole else [name.strip() for name in names],
            by=self.by,
            overlap=self.overlap,
            seed=seed,
        )
        path = output or "-"
        keep_inputs((path.replace("{}", name) for name in dealt.assessors), inputs)
        dealt.write(path, format=format)


def dealing_options(listed: Sequence[str]) -> tuple[Callable[[Any], Any], ...]:
    """Make the options of sheets, which go with what lists documents."""
    return (
        one_of(
            "--arranged",
            ("judging", "id", "shuffled"),
            "Order of documents.",
            "judging",
            goes_with=listed,
        ),
        option(
            "--assessors",
            default="1",
            show_default=True,
            metavar="N|NAMES",
            help="Their number, or their names with commas; {} in --output is the name of each.",
            goes_with=listed,
        ),
        one_of(
            "--by",
            ("document", "topic"),
            "What is dealt to them.",
            "document",
            goes_with="--assessors",
        ),
        option(
            "--overlap",
            type=float,
            default=0.0,
            show_default=True,
            help="Share that all of them get.",
            goes_with="--assessors",
        ),
    )


def amount(text: str, what: str) -> int | float:
    """Read a whole number, or a share in percent."""
    from cranfield.measures.parameters import fraction_of
    from cranfield.sources.values import integer_in, is_number

    number = text.strip()
    if number.endswith("%") and is_number(share := number.removesuffix("%")):
        return float(fraction_of(float(share)) / 100)
    whole = integer_in(number)
    if whole is None:
        raise PolicyError(f"{what} {quoted(text)} is no whole number and no share such as 10%")
    return whole


def read_strata(text: str) -> dict[int, int | float]:
    from cranfield.sources.values import integer_in

    strata: dict[int, int | float] = {}
    for one in text.split(","):
        end, colon, wanted = one.partition(":")
        last = integer_in(end.strip())
        if not colon or last is None:
            raise PolicyError(f"--strata {quoted(text)} is not of the form 10:100%,50:25")
        if last in strata:
            raise PolicyError(f"--strata {quoted(text)} has rank {last} twice")
        strata[last] = amount(wanted, f"--strata {end.strip()}:")
    return strata
