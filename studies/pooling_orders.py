"""Orders of the pool of TREC-8: relevant documents found, beside what is expected, and the speed.

Run `python -m studies.pooling_orders FOLDER`, with the folder that holds the runs (`runs/`) and the
judgments (`qrels.trec8.adhoc.txt.gz`). Of the runs it takes the 62 whose first 100 documents are
all judged, and then all 115.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

import cranfield as cf

BUDGETS = (50, 100, 200, 300, 500, 1000)

OF_62 = {
    "depth": (588, 921, 1394, 1744, 2282, 3127),
    "RRF": (934, 1415, 2044, 2432, 2833, 3267),
    "Borda": (924, 1408, 2072, 2443, 2838, 3267),
    "RBP-A": (793, 1081, 1475, 1787, 2305, 3136),
    "RBP-B": (644, 950, 1379, 1724, 2267, 3116),
    "RBP-C": (781, 1144, 1620, 1978, 2527, 3305),
    # Small weights are lost in what all documents share; by default they keep their digits.
    "Hedge(sums='plain')": (1031, 1594, 2216, 2490, 2791, 3203),
    "MTF": (843, 1334, 2020, 2490, 3022, 3473),
    "MTF(seen='skip')": (934, 1406, 2081, 2536, 3033, 3466),
    "MaxMean": (883, 1544, 2294, 2725, 3144, 3513),
    "MaxMean(reward='pulled')": (928, 1499, 2216, 2677, 3112, 3481),
    "MaxMean(rate=0.9)": (855, 1476, 2210, 2698, 3164, 3504),
    "MaxMean(rate=0)": (519, 720, 1128, 1675, 2580, 3254),
}
OF_115 = {
    "MaxMean": (847, 1497, 2299, 2734, 3151, 3559),
    "MTF(seen='skip')": (886, 1377, 2018, 2477, 3024, 3499),
    "RRF": (928, 1418, 2044, 2424, 2881, 3339),
}
RANGES = {
    "MaxMean(rate=0, ties='random')": ("761-783 1292-1306 1997-2029 2481-2506 2995-3004 3433-3438"),
    "Thompson": "788-791 1337-1349 2124-2130 2604-2620 3093-3113 3486-3490",
}


def main(folder: Path) -> None:
    qrels = cf.read_qrels(folder / "qrels.trec8.adhoc.txt.gz")
    whole = cf.assess.pool(folder / "runs", 100)
    found = cf.meta.pools(folder / "runs", qrels, depth=100, contributors="judged").by_system()
    names = found.filter(found["contributes"])["system"].to_list()
    of_62 = whole.of_systems(names)
    for pool, expected in ((of_62, OF_62), (whole, OF_115)):
        print(f"\n{pool}")
        for method in cf.assess.methods()["method"]:
            if method not in expected:
                show(pool, method, qrels)
        for method, wanted in expected.items():
            same = show(pool, method, qrels) == wanted
            print("    as expected" if same else f"    EXPECTED {wanted}")
    print(f"\nwith random numbers, {of_62}")
    for method, text in RANGES.items():
        print(f"    other implementation, three seeds: {text}")
        for seed in range(3):
            show(of_62, method, qrels, seed)


def show(pool: cf.assess.Pool, method: str, qrels: cf.Qrels, seed: int = 0) -> tuple[int, ...]:
    began = time.process_time()
    order = cf.assess.order(pool, method, qrels, seed=seed)
    seconds = time.process_time() - began
    counts = tuple(order.n_relevant(BUDGETS).tolist())
    print(f"{method:32}{''.join(f'{count:6}' for count in counts)}  {seconds:6.2f} s CPU")
    return counts


if __name__ == "__main__":
    main(Path(sys.argv[1]))
