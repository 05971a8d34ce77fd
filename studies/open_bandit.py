"""Off-policy estimates on the sample of the Open Bandit Dataset, beside what was published.

    python -m studies.open_bandit FOLDER

FOLDER holds `random-all.csv.gz`, `bts-all.csv.gz` and `bts-action-dist-all.csv`: 10,000 impressions
of a uniform policy and of Bernoulli Thompson sampling (Saito, Aihara, Matsutani and Narita, 2021),
and the chances of the latter. What it would be worth is estimated from the clicks under the former;
what it was worth is known. Prints estimates with limits, and the figures that obp 0.4.1 prints.
"""

from __future__ import annotations

from pathlib import Path

import polars as pl

import cranfield as cf
from studies.common import run_main

PUBLISHED = {"IPS": 0.004552880, "relative": 1.198126, "relative error": 0.084019}
"""As obp 0.4.1 prints them in its README and its quickstart, to the digits that it has."""


def main(folder: Path) -> None:
    """Estimate, and print both."""
    log = pl.read_csv(folder / "random-all.csv.gz")
    policy = pl.read_csv(folder / "bts-action-dist-all.csv")
    known = float(pl.read_csv(folder / "bts-all.csv.gz")["click"].mean())  # type: ignore[arg-type]
    for estimator, clip in (("IPS", None), ("SNIPS", None), ("IPS", 5)):
        found = cf.online.policy_value(log, policy, estimator, clip=clip)
        print(f"{found}\n  relative {found.relative:.6f}; it was worth {known:.6f}\n")
    found = cf.online.policy_value(log, policy)
    ours = {
        "IPS": found.estimate,
        "relative": found.relative,
        "relative error": abs(found.estimate - known) / known,
    }
    for name, value in PUBLISHED.items():
        print(f"{name:15} {ours[name]:.9f}  published {value:.9f}")


if __name__ == "__main__":
    run_main(main)
