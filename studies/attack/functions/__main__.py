"""Do cases from one number to another: SEED FIRST LAST; with `--names`, list what is attacked."""

from __future__ import annotations

import json
import os
import random
import shutil
import sys
import tempfile
import warnings

from studies.attack.functions.calls import noted
from studies.attack.functions.cases import case, outcome


def main() -> None:
    """Say before and after each case what it is: a line of JSON each."""
    out, own = os.fdopen(os.dup(1), "w"), os.getpid()
    # What a case, or a process that it starts, prints by mistake goes nowhere.
    os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
    warnings.simplefilter("ignore")
    with tempfile.TemporaryDirectory() as place:
        os.chdir(place)
        # All that cases make, copies of campaigns included, goes with it.
        tempfile.tempdir = place
        targets, pool = noted()
        if sys.argv[1:] == ["--names"]:
            for target in targets:
                print(f"{len(target.calls):>3} {target.name}", file=out)
        else:
            seed, first, last = map(int, sys.argv[1:])
            targets = [one for one in targets if one.calls]
            random.Random(seed).shuffle(targets)
            for number in range(first, last):
                target = targets[number % len(targets)]
                begun, run = case(target, pool, random.Random(f"{seed} {number}"))
                begun = f"{seed}/{number} {begun}"
                print(json.dumps(["begun", begun]), file=out, flush=True)
                became = outcome(run)
                if os.getpid() != own:
                    # A process that was forked in a case, and in which the alarm went off.
                    os._exit(1)
                print(json.dumps(became), file=out, flush=True)
            print(json.dumps(["all"]), file=out, flush=True)
        os.chdir("/")
        out.flush()
        shutil.rmtree(place, ignore_errors=True)
        # Threads and pools of what was attacked have nothing more to do.
        os._exit(0)


if __name__ == "__main__":
    main()
