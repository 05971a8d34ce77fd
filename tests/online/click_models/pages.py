"""Generated pages, and what they mean written out plainly."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from random import Random
from typing import Any

import numpy as np
import polars as pl

from cranfield.online import QueryLog
from cranfield.online.log.query_log import make_log

Page = tuple[str, tuple[str, ...], tuple[int, ...]]
"""Query, documents, and 0 or 1 for each."""


def log_of(pages: Sequence[Page], grades: Any = None) -> QueryLog:
    shown = [(k, r, d) for k, (_, docs, _) in enumerate(pages) for r, d in enumerate(docs, 1)]
    clicked = [
        (k, r, docs[r - 1])
        for k, (_, docs, clicks) in enumerate(pages)
        for r, one in enumerate(clicks, 1)
        if one
    ]
    columns = ["page", "rank", "doc"]
    results = pl.DataFrame(shown, schema=columns, orient="row")
    if grades is not None:
        known = [grades.get((pages[k][0], d)) for k, _, d in shown]
        results = results.with_columns(grade=pl.Series(known, dtype=pl.Int64))
    schema = {"page": pl.Int64, "rank": pl.Int64, "doc": pl.String}
    return make_log(
        pl.DataFrame(
            [(f"p{k}", one[0]) for k, one in enumerate(pages)], schema=["id", "query"], orient="row"
        ),
        results,
        pl.DataFrame(clicked, schema=schema, orient="row"),
    )


def random_pages(
    seed: int, number: int, *, queries: int = 5, docs: int = 6, longest: int = 4
) -> list[Page]:
    """Make pages with documents in any order and clicks by a user who goes down and stops."""
    rng = np.random.default_rng(seed)
    worth = rng.random((queries, docs))
    out: list[Page] = []
    for _ in range(number):
        q = int(rng.integers(queries))
        shown = rng.permutation(docs)[: int(rng.integers(1, longest + 1))]
        clicks, on = [], True
        for d in shown:
            click = on and rng.random() < worth[q, d]
            clicks.append(int(click))
            on = on and rng.random() < (0.5 if click else 0.9)
        out.append((f"q{q}", tuple(f"d{d}" for d in shown), tuple(clicks)))
    return out


def hidden_states(
    a: Any, s: Any, going: tuple[float, float, float], clicks: Sequence[int]
) -> tuple[float, list[Any]]:
    """Enumerate all hidden states of a page.

    Returns the chance of the clicks, and by rank the chances of examination, attraction,
    satisfaction, of each of three cases, and of each case and going on.
    """
    n = len(a)
    total = 0.0
    seen, attracts, satisfies = np.zeros(n), np.zeros(n), np.zeros(n)
    could, went = np.zeros((3, n)), np.zeros((3, n))
    for examined in product((0, 1), repeat=n):
        for attracted in product((0, 1), repeat=n):
            if any(e * t != c for e, t, c in zip(examined, attracted, clicks, strict=True)):
                continue  # Its chance is 0, and so it saves time.
            for satisfied in product((0, 1), repeat=n):
                chance = float(examined[0] == 1)
                for r in range(n):
                    click = examined[r] * attracted[r]
                    chance *= a[r] if attracted[r] else 1 - a[r]
                    worth = s[r] if click else 0.0
                    chance *= worth if satisfied[r] else 1 - worth
                    if r + 1 < n:
                        case = 0 if not click else 2 if satisfied[r] else 1
                        on = going[case] if examined[r] else 0.0
                        chance *= on if examined[r + 1] else 1 - on
                if not chance:
                    continue
                total += chance
                seen += chance * np.array(examined)
                attracts += chance * np.array(attracted)
                satisfies += chance * np.array(satisfied)
                for r in range(n):
                    if examined[r]:
                        click = attracted[r]
                        case = 0 if not click else 2 if satisfied[r] else 1
                        could[case, r] += chance
                        if r + 1 < n and examined[r + 1]:
                            went[case, r] += chance
    return total, [one / total for one in (seen, attracts, satisfies, could, went)]


def pages_of_ten(seed: int, number: int, *, queries: int = 3, docs: int = 14) -> list[Page]:
    """Make pages of ten, with numbers that are the same in every version of Python and NumPy."""
    draw = Random(seed).random
    worth = [[draw() for _ in range(docs)] for _ in range(queries)]
    out: list[Page] = []
    for _ in range(number):
        q = int(draw() * queries)
        shown = sorted(range(docs), key=lambda d: d + 6 * draw())[:10]
        clicks, on = [], 1.0
        for d in shown:
            click = draw() < on * worth[q][d]
            clicks.append(int(click))
            on *= 0.45 if click else 0.85
        out.append((f"q{q}", tuple(f"d{d}" for d in shown), tuple(clicks)))
    return out
