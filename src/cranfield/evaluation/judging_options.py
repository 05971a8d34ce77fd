"""The options of judging by name and type, for what hands them on: editors complete them."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, TypedDict, TypeVar

from cranfield.collection.judged.each_run import Progress
from cranfield.collection.judged.judging import judge
from cranfield.collection.judged.policies import Compat, Negative, Ties, Topics, Unjudged

Function = TypeVar("Function", bound=Callable[..., Any])


class OfRankings(TypedDict, total=False):
    """What :func:`cranfield.judge` takes by name of rankings that are read already."""

    ties: Ties | None
    unjudged: Unjudged | None
    negative: Negative | None
    max_grade: int | None
    lengths: Any
    groups: Any
    intents: Any
    aspects: Mapping[str, Any] | None
    jobs: int | None
    backend: str | None
    scheduler: str | None
    progress: Progress | None


class OfSessions(OfRankings, total=False):
    """The same of sessions, whose topics and depth are said otherwise."""

    compat: Compat | None


class Judging(OfRankings, total=False):
    """What :func:`cranfield.judge` takes by name, but for `compat`."""

    topics: Topics | None
    depth: int | None
    topics_with_grade: int | None
    system: str | None
    columns: Mapping[str, str] | None
    duplicates: str
    bad_runs: str


class Sharded(Judging, total=False):
    """The same with shards, whose number or partition is known."""

    unmapped: str
    rel: int | None


class Seeded(Sharded, total=False):
    """The same with shards that may be drawn at random."""

    seed: int


_KNOWN = inspect.signature(judge).parameters
_OF_SHARDS = {"unmapped": "error", "rel": None, "seed": 0}


def _place(name: str) -> int:
    """Put options in the order in which `judge` has them, those of shards last."""
    known = [*_KNOWN, *_OF_SHARDS]
    return known.index(name)


def naming(options: type[Any]) -> Callable[[Function], Function]:
    """Show options in the signature of a function that collects them, with their defaults."""

    def named(function: Function) -> Function:
        own = inspect.signature(function)
        kept = [one for one in own.parameters.values() if one.kind is not one.VAR_KEYWORD]
        more = [
            _KNOWN.get(name)
            or inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=_OF_SHARDS[name],
                annotation=options.__annotations__[name].__forward_arg__,
            )
            for name in sorted(options.__annotations__, key=_place)
        ]
        function.__signature__ = own.replace(parameters=[*kept, *more])  # type: ignore[attr-defined]
        return function

    return named
