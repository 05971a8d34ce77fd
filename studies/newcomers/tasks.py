"""Ten tasks of newcomers, each solved in at most three lines."""

from __future__ import annotations

from studies.newcomers.cases import Case

TASKS = [
    Case(
        "score my run",
        "cranfield evaluate qrels.txt a.run -m AP,nDCG@10,RR",
        r"A +0\.7500 +0\.8155 +0\.7500",
    ),
    Case(
        "get trec_eval's output",
        "cranfield evaluate qrels.txt a.run -m map --compat trec_eval -f trec",
        r"map\s+all\s+0\.7500",
    ),
    Case(
        "see the scores of each topic",
        "cranfield evaluate qrels.txt a.run -m AP -q",
        r"q1 +A +0\.5000",
    ),
    Case(
        "is my system better than the baseline?",
        "cranfield compare --scores ap.csv -b A -t t",
        r"B +A +0\.3750",
    ),
    Case(
        "a table for the paper",
        "cranfield evaluate qrels.txt a.run b.run -m AP -f latex -o table.tex\n"
        "cranfield evaluate qrels.txt a.run b.run -m AP -f latex",
        r"\\toprule[\s\S]*0\.7500",
    ),
    Case(
        "a report to send around",
        "cranfield report qrels.txt a.run b.run -o r.html",
        r"r\.html",
    ),
    Case(
        "score a frame of several systems",
        "frame = pd.read_csv('system.csv')\ncf.evaluate(frame, 'qrels.txt', 'AP').means().rows()",
        r"'AP', 0\.75, 1\.0",
    ),
    Case(
        "scores as a pandas table",
        "ev = cf.evaluate(SYSTEMS, QRELS, ['AP', 'nDCG@10'])\n"
        "ev.to_pandas().score.round(4).tolist()",
        r"0\.5, 1\.0, 1\.0, 1\.0, 0\.6309",
    ),
    Case(
        "fuse two runs and score what comes out",
        "cranfield fuse a.run b.run --method rrf -o fused.run\n"
        "cranfield evaluate qrels.txt fused.run -m R@10",
        r"1\.0000",
    ),
    Case(
        "how many topics do I need?",
        "from cranfield.significance import topics_needed\n"
        "print(topics_needed('t', difference=0.05, variance=0.02))",
        r"^\d+ topics",
    ),
]
