"""All online measures of a log, from its XML and from every export of it: are they the same?

    python -m studies.log_forms sessiontrack2013.xml.gz

Prints the counts and the measures of the log of TREC Session 2013, and for each form in which it
was written and read back how many tables, counts and values are other ones, to the last digit.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import polars as pl

import cranfield as cf
from cranfield.online.log.query_log import FORMATS

MEASURES = [
    *(
        "UCTR",
        "Abandonment",
        "CTR",
        "ClickRank",
        "ClickRank(first='rank')",
        "MaxRR",
        "PLC",
        "pSkip",
    ),
    *("QCTR", "Dwell", "SATClicks", "TimeToClick", "QueriesPerSession", "Reformulation"),
    *(f"CTR(ranks='at')@{k}" for k in range(1, 11)),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("file")
    source = cf.online.read_log(parser.parse_args().file)
    print(source)
    wanted = cf.online.measure(source).to_polars()
    with pl.Config(tbl_rows=-1, float_precision=6):
        print(cf.online.measure(source, MEASURES).to_polars())
        print(wanted)
    for form in FORMATS:
        with tempfile.TemporaryDirectory() as folder:
            source.write(Path(folder), format=form)
            log = cf.online.read_log(folder)
        tables = [
            getattr(log, name).equals(getattr(source, name))
            for name in ("pages", "results", "clicks")
        ]
        found = cf.online.measure(log).to_polars()
        print(
            f"{form:8} tables equal: {sum(tables)} of 3; counts of anomalies equal:"
            f" {log.anomalies == source.anomalies}; values equal: {found.equals(wanted)}"
        )


if __name__ == "__main__":
    main()
