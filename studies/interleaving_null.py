"""Two rankers that users like equally well, interleaved 10,000 times: how often tests object.

    python -m studies.interleaving_null

40 users ask the same query again and again, from 1 to 15 times. Half of all users, on average, seek
a document that ranker A has first and B has second, the others the one that B has first: as many
prefer A as prefer B. Team draft interleaves the two, and users click as the navigational user does.
Impressions of one user are alike, so that a test that counts them as independent finds preferences
that there are not. The second part lets each user ask once.
"""

from __future__ import annotations

import numpy as np
import polars as pl

from cranfield.base.arrays import Floats, Indices
from cranfield.base.streams import draw_uniforms, make_stream
from cranfield.online import interleave, preference_by_credits, simulated_user
from cranfield.significance.pairwise.ranks import compute_binomial_pvalues
from cranfield.tabular import tabulate_frame

EXPERIMENTS = 10_000
WITH_LIMITS = 500
USERS, MOST = 40, 15
A, B = ["x", "y", "z", "w"], ["y", "x", "z", "w"]


def simulated(most: int, seed: int) -> tuple[Floats, Indices, Indices]:
    """Return credits, users and experiments of all impressions."""
    source = make_stream(seed, 0)
    users = EXPERIMENTS * USERS
    often = source.integers(1, most + 1, users)
    user = np.repeat(np.arange(users), often)
    seeks = source.integers(0, 2, users)[user]
    made = interleave([A, B], "TeamDraft", length=4)
    shown = made.draw(len(user), seed)
    grades = (shown.lists == seeks[:, None]).astype(int)
    clicked = simulated_user("navigational").draw_clicks(
        grades, draw_uniforms(seed, 0, len(user), 8, 1)
    )
    return made.credits(shown.lists, clicked, shown.teams), user, user // USERS


def rejections(most: int, seed: int) -> pl.DataFrame:
    credits, user, experiment = simulated(most, seed)
    sign = np.sign(credits[:, 0] - credits[:, 1])
    ahead = np.sign(np.bincount(user, sign))
    experiment_of = np.arange(len(ahead)) // USERS
    out = []
    for unit, signs, of in (("user", ahead, experiment_of), ("impression", sign, experiment)):
        wins, losses = (np.bincount(of[signs == one], minlength=EXPERIMENTS) for one in (1, -1))
        pvalues = compute_binomial_pvalues(wins, losses)
        found: dict[str, list[bool]] = {"sign test": (pvalues <= 0.05).tolist()}
        outside = found["Delta leaves out 0"] = []
        starts = np.searchsorted(experiment, np.arange(WITH_LIMITS + 1))
        for k in range(WITH_LIMITS):
            part = slice(starts[k], starts[k + 1])
            units = user[part] if unit == "user" else None
            one = preference_by_credits(credits[part], units, unit=unit, resamples=1000, seed=k)
            assert one.pvalue == pvalues[k]
            low, high = one.delta_interval
            outside.append(low > 0 or high < 0)
        for name, rejected in found.items():
            share = float(np.mean(rejected))
            error = float(np.sqrt(share * (1 - share) / len(rejected)))
            often = f"1 to {most}" if most > 1 else "1"
            out.append((often, unit, name, len(rejected), share, error))
    names = ["impressions a user", "unit", "test", "experiments", "rejected", "standard error"]
    return pl.DataFrame(out, schema=names, orient="row")


if __name__ == "__main__":
    made = pl.concat([rejections(MOST, seed=1), rejections(1, seed=2)])
    print(tabulate_frame(made, "Preferences found at .05 where there is none"))
