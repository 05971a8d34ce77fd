"""Compare cranfield with everything that NTCIREVAL printed, value by value.

    python -m studies.ntcireval_agreement FOLDER

FOLDER holds the sample data of NTCIREVAL (version 190111): runs, judgments, its READMEs, and a
folder `oracle_outputs` with the outputs of its diversity and 1CLICK scripts. The table has a row a
measure and a column a file; a cell is the number of values that are equal to the printed digits, or
how many of how many are not.
"""

from __future__ import annotations

import re
import sys
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import cranfield as cf
from cranfield import evaluate_answers
from cranfield.texts import judge_answers

Values = dict[tuple[str, str], float]
Cells = dict[tuple[str, str], list[bool]]


def adhoc(
    gains: str, end: str, cutoffs: Iterable[int], shares: str | None = None
) -> dict[str, str]:
    """Names of the program's measures with ours."""
    own = f"gains={gains}"
    rbp = (
        f"RBP(p=0.95, gains={shares})"
        if shares
        else "RBP(gains='graded', max_grade='topic', p=0.95)"
    )
    found = {
        "RR": "RR",
        "O-measure": f"OMeasure({own})",
        "P-measure": f"PMeasure({own})",
        "P-plus": f"PPlus({own})",
        "AP": "AP",
        "Q-measure": f"Q({own})",
        "NCUgu,P": f"NCU({own}, stopping='graded', utility='P')",
        "NCUgu,BR": f"NCU({own}, stopping='graded')",
        "NCUrb,P": f"NCU({own}, utility='P')",
        "NCUrb,BR": f"NCU({own})",
        "RBP": rbp,
        "ERR": f"ERR({own}, max_grade={end})",
        "EBR": f"EBR({own}, max_grade={end})",
    }
    for k in cutoffs:
        found |= {
            f"AP@{k:04}": f"AP(denominator='min')@{k}",
            f"Q@{k:04}": f"Q({own})@{k}",
            f"nDCG@{k:04}": f"nDCG({own}, discount='max(1,log2(rank))')@{k}",
            f"MSnDCG@{k:04}": f"nDCG({own})@{k}",
            f"P@{k:04}": f"P@{k}",
            f"RBP@{k:04}": f"{rbp}@{k}",
            f"ERR@{k:04}": f"ERR({own}, max_grade={end})@{k}",
            f"nERR@{k:04}": f"nERR({own}, max_grade={end})@{k}",
            f"EBR@{k:04}": f"EBR({own}, max_grade={end})@{k}",
            f"Hit@{k:04}": f"Success@{k}",
        }
    return found


def printed(text: str) -> Values:
    """Values by topic and name; the name of an intent is part of the topic."""
    found: Values = {}
    for line in text.splitlines():
        match = re.fullmatch(
            r"(?P<topic>\S+(?: \d+(?: nav| inf)? [\d.]+)?) (?:SUMp= \S+ )?(?P<name>\S+)=\s+"
            r"(?P<value>[\d.]+)",
            line.strip(),
        )
        if match and not match["name"].startswith("#") and match["name"] != "SUMp":
            found[match["topic"], match["name"]] = float(match["value"])
    return found


def listing(readme: Path, start: str) -> Values:
    """Values of one topic that a README shows below a line; up to the next empty line."""
    text = readme.read_text(encoding="utf-8")
    below = text[text.index(start) + len(start) :].splitlines()
    found: Values = {}
    for line in below:
        match = re.fullmatch(r"\s*(\S+)=\s+([\d.]+)", line)
        if match:
            found["", match[1]] = float(match[2])
        elif found and not line.strip().startswith("#"):
            break
    return found


def equal(value: float, shown: float, digits: int = 4) -> bool:
    """Whether a value prints as it was printed; a float may fall on either side of a half."""
    return abs(value - shown) <= 0.5 * 10.0**-digits + 1e-9


def compare(
    cells: Cells,
    file: str,
    expected: Values,
    forms: Mapping[str, str],
    judged: cf.JudgedRuns,
    system: int = 0,
    rename: Mapping[str, str] | None = None,
) -> None:
    """Enter each value that a file prints."""
    used = {name for _, name in expected if name in forms}
    scores = cf.score(judged, [forms[name] for name in sorted(used)])
    for (topic, name), shown in expected.items():
        if name not in forms:
            cells.setdefault((name, file), []).append(False)
            continue
        found = scores[forms[name]]
        label = (rename or {}).get(topic, topic) or found.topics[0]
        value = found.values[found.topics.index(label), system] if label in found.topics else 0.0
        cells.setdefault((name, file), []).append(equal(float(value), shown))


def preset(cells: Cells, file: str, expected: Values, run: Path, qrels: cf.Qrels) -> None:
    """Enter each value under the preset, by the names that the program prints."""
    asked = {name: f"{name} -g 1:2" for _, name in expected}
    scores = cf.evaluate(run, qrels, list(asked.values()), compat="ntcireval")
    for (topic, name), shown in expected.items():
        found = scores[asked[name]]
        value = float(found.values[found.topics.index(topic), 0])
        cells.setdefault((name, file), []).append(equal(value, shown))


def ad_hoc_files(folder: Path, cells: Cells) -> None:
    """TRECRUN, TRECRUN2 and the run on CACM, and the listing of the README."""
    forms = adhoc("{1: 1, 2: 2}", "2", (10, 1000), "{1: 0.5, 2: 1}")
    qrels = cf.read_qrels(folder / "test.qrels", format="ntcir")
    for name, path in (
        ("TRECRUN", folder / "TRECRUN.test.nev"),
        ("TRECRUN2", folder / "oracle_outputs" / "TRECRUN2.test.nev"),
    ):
        judged = cf.judge(folder / name, qrels, ties="file", depth=1000)
        compare(cells, path.name, printed(path.read_text()), forms, judged)
        preset(cells, f"{name}, preset", printed(path.read_text()), folder / name, qrels)
    qrels = cf.read_qrels(folder / "cacm" / "qrels", format="ntcir")
    judged = cf.judge(folder / "cacm" / "query_results", qrels, ties="file", depth=1000)
    path = folder / "cacm" / "NTCIREVAL_results.test.nev"
    expected = printed(path.read_text())
    compare(cells, "cacm", expected, forms, judged)
    for theirs in ("AP", "nDCG@1000"):
        shown = (folder / "cacm" / f"runl.qrels.test.nev.{theirs}").read_text().split()[1]
        found = cf.score(judged, forms[theirs])[forms[theirs]]
        # The script takes the mean of numbers that are rounded already.
        mean = float(found.values.round(4).mean())
        cells.setdefault((f"mean of {theirs}", "cacm"), []).append(equal(mean, float(shown)))
    rel = [line.split() for line in (folder / "sample.rel").read_text().splitlines()]
    res = (folder / "sample.res").read_text().split()
    judged = cf.judge(
        {"1": {doc: -float(rank) for rank, doc in enumerate(res)}},
        {"1": {doc: int(level[1:]) for doc, level in rel}},
    )
    shares = "{1: 0.3333333333333333, 2: 0.6666666666666666, 3: 1}"
    forms = adhoc("{1: 1, 2: 2, 3: 3}", "3", (1000,), shares)
    values = listing(folder / "README", "compute -r sample.rel -g 1:2:3")
    compare(cells, "README", values, forms, judged)


def diversity_files(folder: Path, cells: Cells) -> None:
    """D-, DIN- and intent-aware measures and P+Q of both runs, and the listings of the README."""
    rows = []
    for line in (folder / "Dtest.Dqrels").read_text().splitlines():
        topic, intent, doc, level = line.split()
        rows.append({"topic": topic, "doc": doc, "grade": int(level[1:]), "subtopic": intent})
    qrels = cf.read_qrels(rows, subtopics=True)
    given = folder / "Dtest.DINprob"
    topic_end = adhoc("'linear'", "'topic'", (10,))
    for name in ("TRECRUN", "TRECRUN2"):
        run = cf.read_run(folder / name)
        judged = cf.judge([run], qrels, intents=given, ties="file", depth=10)
        for wrap, ending in (("D", "Dnev"), ("DIN", "DINnev")):
            forms = {theirs: f"{wrap}({ours})" for theirs, ours in topic_end.items()}
            forms |= {"I-rec@n": "StRecall(upto='intents')", "I-rec@0010": "StRecall@10"}
            path = folder / "oracle_outputs" / f"{name}.l10.{ending}"
            expected = printed(path.read_text())
            sharp = {key: value for key, value in expected.items() if "#-" in key[1]}
            plain = {key: value for key, value in expected.items() if key not in sharp}
            compare(cells, path.name, plain, forms, judged)
            for (topic, theirs), shown in sharp.items():
                inner = {"Q@0010": "Q@10", "nDCG@0010": "nDCG@10"}[theirs.split("#-")[1]]
                found = cf.score(judged, ["StRecall@10", f"{wrap}({inner})"])
                # The script adds up numbers of four digits.
                parts = [float(one.values[one.topics.index(topic), 0]) for one in found.values()]
                value = sum(round(part, 4) for part in parts) / 2
                cells.setdefault((theirs, path.name), []).append(equal(value, shown))
        by_intent_files(folder, name, judged, topic_end, cells)
    whole = cf.judge([cf.read_run(folder / "TRECRUN")], qrels, intents=given, ties="file")
    forms = {theirs: f"D({ours})" for theirs, ours in topic_end.items()}
    readme = folder / "README.diversity"
    command = "gcompute -I 0001.test.Grelv  -cutoffs 10"
    compare(cells, "README.diversity", listing(readme, command), forms, whole)
    forms = {f"I-rec@{k:04}": f"StRecall@{k}" for k in (10, 1000)}
    forms["I-rec@n"] = "StRecall(upto='intents')"
    command = "0001.test.Irelv3"
    compare(cells, "README.diversity", listing(readme, command), forms, whole)


def by_intent_files(
    folder: Path, name: str, judged: cf.JudgedRuns, forms: Mapping[str, str], cells: Cells
) -> None:
    """Values of every intent by itself, and of the topics."""
    from cranfield.collection.judged.judged_runs import by_intent

    [view] = (part.judged for part in by_intent(judged, "the study"))
    for ending in ("nevIA", "nevPQ"):
        path = folder / "oracle_outputs" / f"{name}.l10.{ending}"
        expected = printed(path.read_text())
        of_intents = {key: value for key, value in expected.items() if " " in key[0]}
        labels = {key[0]: "/".join(key[0].split()[:2]) for key in of_intents}
        compare(cells, path.name, of_intents, forms, view, rename=labels)
        of_topics = {key: value for key, value in expected.items() if " " not in key[0]}
        whole = {f"IA-{theirs}": f"IA({ours})" for theirs, ours in forms.items()}
        whole["PplusQ@0010"] = "PQ@10"
        compare(cells, path.name, of_topics, whole, judged)


def class_listing(folder: Path, cells: Cells) -> None:
    """The example of README.equivalence: two documents of one class."""
    from dataclasses import replace

    import numpy as np

    qrels = cf.read_qrels({"1": {"aaa": 3, "bbb": 1, "ccc": 0}})
    qrels = replace(qrels, columns={"class": np.array(["1", "1", "2"])})
    judged = cf.judge({"1": {"bbb": 2.0, "aaa": 1.0}}, qrels)
    shares = "{1: 0.2, 2: 0.4, 3: 0.6, 4: 0.8, 5: 1}"
    inside = adhoc("{1: 1, 2: 2, 3: 3, 4: 4, 5: 5}", "5", (10, 1000), shares)
    forms = {theirs: f"Classes({ours})" for theirs, ours in inside.items()}
    command = "compute -r esample.erel -ec -g 1:2:3:4:5 -cutoffs 10,1000"
    values = listing(folder / "README.equivalence", command)
    compare(cells, "README.equivalence", values, forms, judged)


def one_click_files(folder: Path, cells: Cells) -> None:
    """S- and T-measures and their like; the outputs were made with L = 500."""
    forms = {
        "Recall": "NuggetRecall",
        "W-recall": "WRecall",
        "S-measure": "SMeasure(L=500)",
        "S-flat": "SFlat(L=500)",
        "T-measure": "TMeasure",
        "T-flat": "TFlat",
        "F-flat": "SSharp(L=500)",
    }
    for name in ("1CLICKRUN-D-1", "1CLICKRUN-D-2"):
        judged = judge_answers(folder / name, folder / "1C0-test.nuggets")
        scores = evaluate_answers(judged, list(forms.values()))
        path = folder / "oracle_outputs" / f"{name}.test.1cl"
        for (topic, theirs), shown in printed(path.read_text()).items():
            found = scores[forms[theirs]]
            value = float(found.values[found.topics.index(topic), 0])
            cells.setdefault((theirs, path.name), []).append(equal(value, shown, 3))


def table(cells: Cells) -> str:
    """Write a row a measure and a column a file."""
    names = list(dict.fromkeys(name for name, _ in cells))
    files = list(dict.fromkeys(file for _, file in cells))
    lines = ["| measure | " + " | ".join(files) + " |", "| --- " * (len(files) + 1) + "|"]
    for name in names:
        row = []
        for file in files:
            one = cells.get((name, file), [])
            wrong = one.count(False)
            row.append(
                "" if not one else f"{len(one)}" if not wrong else f"{wrong} of {len(one)} not"
            )
        lines.append(f"| `{name}` | " + " | ".join(row) + " |")
    return "\n".join(lines)


def main(folder: Path) -> int:
    """Compare, print the table, and tell by the exit status whether all is equal."""
    cells: Cells = defaultdict(list)
    ad_hoc_files(folder, cells)
    diversity_files(folder, cells)
    class_listing(folder, cells)
    one_click_files(folder, cells)
    sys.stdout.write(table(cells) + "\n")
    values = [one for cell in cells.values() for one in cell]
    wrong = values.count(False)
    sys.stdout.write(f"\n{len(values):,} values, {wrong} not equal to the printed digits\n")
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(Path(sys.argv[1])))
