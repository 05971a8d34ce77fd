"""What all outputs of one comparison must agree on."""

from __future__ import annotations

import re

import numpy as np

import cranfield as cf
from cranfield.campaign.results.leaderboard import separation
from cranfield.significance import rank_sets


def contradictions(found: cf.PairwiseComparison) -> list[str]:
    """Return what contradicts the decisions, which are p-values of at most alpha."""
    significant = found.adjusted_pvalues <= found.alpha
    low, high = found.interval
    shown = ~np.isnan(low)
    leaves_out = (low > 0) | (high < 0)
    wrong = []
    if (significant & shown & ~leaves_out).any():
        wrong.append("significant, and the interval contains 0")
    if (~significant & shown & leaves_out).any():
        wrong.append("not significant, and the interval excludes 0")
    frame = found.to_polars()
    if frame["significant"].to_list() != significant.tolist():
        wrong.append("the table has other decisions")
    if found.half_widths is not None and (bars := found.around(0)) is not None:
        [lower, upper], first, second = bars, found.first, found.second
        if ((lower[first] > upper[second]) | (lower[second] > upper[first]) != significant).any():
            wrong.append("bars that do not overlap have other decisions")
    if found.baselines or found.alternative != "two-sided":
        return wrong
    letters = found.groups()
    # With more groups than letters, names of groups have two, and commas between them.
    many = any("," in some for some in letters.values())
    groups = {name: set(some.split(",") if many else some) for name, some in letters.items()}
    shares = [
        bool(groups[found.systems[i]] & groups[found.systems[j]])
        for i, j in zip(found.first, found.second, strict=True)
    ]
    if (np.array(shares) == significant).any():
        wrong.append("letters have other decisions")
    sign = -1 if found.lower_is_better else 1
    better = np.where(sign * found.difference > 0, found.first, found.second)[significant]
    worse = np.where(sign * found.difference > 0, found.second, found.first)[significant]
    by_means = (found.difference != 0)[significant]
    ranking = found.ranking()
    if "ranks" in ranking.columns:
        systems = len(found.systems)
        best = 1 + np.bincount(worse[by_means], minlength=systems)
        last = systems - np.bincount(better[by_means], minlength=systems)
        expected = {
            name: str(a) if a == b else f"{a}-{b}"
            for name, a, b in zip(found.systems, best, last, strict=True)
        }
        if dict(zip(ranking["system"], ranking["ranks"], strict=True)) != expected:
            wrong.append("ranks have other decisions")
    first = found.order[0]
    beaten = {found.systems[k] for k in worse[better == first]}
    beaten |= {found.systems[k] for k in better[worse == first]}
    if set(found.top_group) != set(found.systems) - beaten:
        wrong.append("the top group is another one")
    return wrong


def contradictions_of_default(scores: cf.Scores) -> list[str]:
    """Return what `--as ranks`, prose and a campaign's board say otherwise than `compare`."""
    found = cf.compare(scores)
    wrong = contradictions(found)
    board = rank_sets(scores)
    if not np.array_equal(board.interval, found.rank_sets().interval):
        wrong.append("rank_sets has other ranks")
    in_prose = re.search(r"Of ([\d,]+) pairs, ([\d,]+|none)", found.prose())
    number = 0 if in_prose and in_prose[2] == "none" else int(in_prose[2]) if in_prose else -1
    if len(found) > 1 and number != found.count():
        wrong.append("prose has another number of pairs")
    published = separation(scores)
    assert not isinstance(published, str)
    if dict(published.frame.select("tag", "groups").iter_rows()) != found.groups():
        wrong.append("the board has other groups")
    return wrong
