"""Score runs by a small program in C, as what is possible: `limit.py QRELS RUN...`.

Prints a line of run, measure and mean for each. The program is compiled when it is first needed,
by the compiler of the machine; runs must have the lines of each topic together. It checks nothing,
so it is a yardstick and no tool.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import subprocess
import sys
from pathlib import Path

MEASURES = ("AP", "P@10", "nDCG@10", "nDCG", "RR", "R@100", "Bpref")
"""In the order of the program."""

SOURCE = Path(__file__).with_name("limit.c")
LIBRARY = SOURCE.with_name("data") / "limit.so"


def library() -> ctypes.CDLL:
    """Load the program, compiled anew if its source is newer."""
    if not LIBRARY.exists() or LIBRARY.stat().st_mtime < SOURCE.stat().st_mtime:
        compiler = os.environ.get("CC") or shutil.which("cc")
        if not compiler:
            sys.exit("there is no C compiler here")
        LIBRARY.parent.mkdir(exist_ok=True)
        flags = ["-std=gnu11", "-O3", "-march=native", "-shared", "-fPIC"]
        subprocess.run([compiler, *flags, str(SOURCE), "-o", str(LIBRARY), "-lm"], check=True)
    loaded = ctypes.CDLL(str(LIBRARY))
    loaded.read_qrels.restype = ctypes.c_void_p
    loaded.score_run.restype = ctypes.c_long
    return loaded


def main(qrels_path: str, *run_paths: str) -> None:
    limit = library()
    read = limit.read_qrels(os.fsencode(qrels_path))
    qrels = ctypes.c_void_p(read)
    means = (ctypes.c_double * len(MEASURES))()
    for path in run_paths:
        if not read or limit.score_run(qrels, os.fsencode(path), means) < 0:
            sys.exit(f"{path} or the judgments cannot be read")
        for measure, mean in zip(MEASURES, means, strict=True):
            print(Path(path).stem, measure, repr(mean), sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:])
