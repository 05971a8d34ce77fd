"""Inputs that must work: what newcomers have. AP of A is .75 and that of B 1 by hand."""

from __future__ import annotations

from studies.newcomers.cases import Case

A = r"'A', 0\.75"
BOTH = r"'A', 0\.75.*'B', 1\.0"
ONE = r"0\.75\b"
PRINTED = r"0\.7500"
PRINTED_BOTH = r"(?s)B +1\.0000.*A +0\.7500"


def python(title: str, runs: str, qrels: str = "QRELS", says: str = ONE, before: str = "") -> Case:
    """Make a case of `evaluate`, after some lines."""
    call = f'cf.evaluate({runs}, {qrels}, "AP").by_system().rows()'
    return Case(title, "\n".join(filter(None, [before, call])), says)


def command(title: str, words: str, says: str = PRINTED) -> Case:
    """Make a case of `cranfield evaluate`."""
    return Case(title, f"cranfield evaluate {words} -m AP", says)


POLARS = "frame = pl.read_csv('system.csv')"
PANDAS = "frame = pd.read_csv('system.csv')"

INPUTS = [
    command("CSV of several systems, column system", "qrels.txt system.csv", PRINTED_BOTH),
    command("CSV of several systems, column run", "qrels.txt run.csv", PRINTED_BOTH),
    command("CSV of several systems, column model", "qrels.txt model.csv", PRINTED_BOTH),
    command("CSV of several systems, column tag", "qrels.txt tag.csv", PRINTED_BOTH),
    command("Parquet of several systems", "qrels.txt system.parquet", PRINTED_BOTH),
    python("polars frame of several systems", "frame", says=BOTH, before=POLARS),
    python("pandas frame of several systems", "frame", says=BOTH, before=PANDAS),
    command("another column of systems", "qrels.txt variant.csv --system variant", PRINTED_BOTH),
    Case(
        "another column of systems, in Python",
        'cf.evaluate("variant.csv", QRELS, "AP", system="variant").by_system().rows()',
        BOTH,
    ),
    command(
        "columns with names of one's own",
        "qrels.txt columns.csv --columns doc=product_id,topic=query",
        PRINTED_BOTH,
    ),
    Case(
        "the same in Python",
        'cf.evaluate("columns.csv", QRELS, "AP", columns={"doc": "product_id", "topic": "query"})'
        ".by_system().rows()",
        BOTH,
    ),
    command("judgments of BEIR", "beir.tsv a.run"),
    command("results of BEIR as JSON", "beir.tsv beir.json"),
    command("judgments of MS MARCO, no header", "marco.qrels.tsv a.run"),
    command("run of MS MARCO, no header, ranks only", "marco.qrels.tsv marco.run.tsv"),
    command("JSON of several systems", "qrels.txt systems.json", PRINTED_BOTH),
    python("rows as tuples", '[("q1", "d2", 0.9), ("q1", "d1", 0.8), ("q2", "d3", 0.7)]'),
    python("rows as lists", '[["q1", "d2", 0.9], ["q1", "d1", 0.8], ["q2", "d3", 0.7]]'),
    python(
        "frame with ranks and no scores",
        'pl.DataFrame({"topic": ["q1", "q1", "q2"], "doc": ["d2", "d1", "d3"], "rank": [1, 2, 1]})',
    ),
    python("lists of ids", '{"q1": ["d2", "d1"], "q2": ["d3"]}'),
    python("lists of ids of several systems", "TOPIC_LISTS", says=BOTH),
    python("lists of relevant ids", "A", '{"q1": ["d1"], "q2": ["d3"]}'),
    python("sets of relevant ids", "A", '{"q1": {"d1"}, "q2": {"d3"}}'),
    python("several systems as dicts", "SYSTEMS", says=BOTH),
    python("topics that are numbers", '{1: A["q1"], 2: A["q2"]}', '{"1": {"d1": 1}, 2: {"d3": 2}}'),
    python("documents that are numbers", '{"1": {7: 0.9, 8: 0.8}}', '{"1": {8: 1}}', r"0\.5\b"),
    python("scores of NumPy", '{"q1": dict(zip(["d2", "d1"], np.array([2, 1]))), "q2": A["q2"]}'),
    python(
        "grades that are true or false",
        "A",
        '{"q1": {"d1": True, "d2": False}, "q2": {"d3": True}}',
    ),
    python(
        "PyTerrier's frame, with the text of queries",
        "frame",
        before='frame = pd.DataFrame({"qid": ["q1", "q1", "q2"], "query": ["x", "x", "y"], '
        '"docid": [5, 6, 7], "docno": ["d2", "d1", "d3"], "rank": [0, 1, 0], '
        '"score": [0.9, 0.8, 0.7]})',
    ),
    python(
        "PyTerrier's judgments",
        "A",
        "frame",
        before='frame = pd.DataFrame({"qid": ["q1", "q2"], "docno": ["d1", "d3"], '
        '"label": [1, 2]})',
    ),
    python(
        "named tuples of ir_measures",
        '[ScoredDoc("q1", "d2", 0.9), ScoredDoc("q1", "d1", 0.8), ScoredDoc("q2", "d3", 0.7)]',
        '[Qrel("q1", "d1", 1), Qrel("q2", "d3", 2)]',
        before="from ir_measures import Qrel, ScoredDoc",
    ),
    python(
        "a generator of ir_measures",
        "ir_measures.read_trec_run('a.run')",
        "ir_measures.read_trec_qrels('qrels.txt')",
        before="import ir_measures",
    ),
    command("JSON lines", "qrels.txt lines.jsonl"),
    command("tabs for spaces", "qrels.txt tabs.run"),
    command("line ends and byte order mark of Windows", "qrels.txt crlf.run"),
    command("packed with gzip", "qrels.txt a.run.gz"),
    command("packed with xz", "qrels.txt a.run.xz"),
    command("a folder of runs", "qrels.txt runs", PRINTED_BOTH),
    python("a pattern", '"[ab].run"', '"qrels.txt"', BOTH),
    python("paths", '[Path("a.run"), Path("b.run")]', 'Path("qrels.txt")', BOTH),
    command("grades below 0", "minus.qrels a.run"),
    Case(
        "scores by topic from elsewhere",
        "cranfield compare --scores ap.csv -t t",
        r"A +B +-0\.3750",
    ),
    Case(
        "scores as lists",
        'cf.compare({"A": [0.5, 1, 0.25, 0], "B": [1, 1, 0.75, 0.5]}, test="t")',
        r"2 systems, 4 topics",
    ),
    Case(
        "scores as a pandas table of topics and systems",
        'cf.compare(pd.read_csv("ap.csv", index_col="topic"), test="t")',
        r"2 systems, 4 topics",
    ),
]
