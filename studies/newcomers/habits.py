"""Habits and mistakes that were met with silence, or with advice that led nowhere."""

from __future__ import annotations

from studies.newcomers.cases import Case, refused

IN_PYTHON = [
    refused(
        "measures as a dict",
        "cf.evaluate(A, QRELS, {'ndcg': 'nDCG@10'})",
        "list",
        "cf.evaluate(A, QRELS, ['nDCG@10'])",
    ),
    Case("one measure under two names", "cf.evaluate(A, QRELS, ['AP', 'map'])", "one measure"),
    refused(
        "measures where systems are wanted",
        "cf.compare(cf.evaluate(SYSTEMS, QRELS, ['AP', 'RR']).to_dict(), test='t')",
        r"expected systems.*ev\['AP'\]",
    ),
    Case(
        "systems that were evaluated one by one",
        "a, b = (cf.evaluate(one, QRELS, 'AP') for one in (A, B))\n"
        "cf.compare({'bm25': a, 'dense': b}, test='t').difference.tolist()",
        r"\[-0\.25\]",
    ),
    Case(
        "scores of systems that were evaluated one by one",
        "a, b = (cf.evaluate(one, QRELS, 'AP')['AP'] for one in (A, B))\n"
        "cf.compare({'bm25': a, 'dense': b}, test='t').systems",
        r"'bm25', 'dense'",
    ),
    refused(
        "several measures of each of them",
        "a, b = (cf.evaluate(one, QRELS, ['AP', 'RR']) for one in (A, B))\n"
        "cf.compare({'bm25': a, 'dense': b})",
        r"several measures.*\['AP'\]",
        "a, b = (cf.evaluate(one, QRELS, ['AP', 'RR']) for one in (A, B))\n"
        "cf.compare({'bm25': a['AP'], 'dense': b['AP']}, test='t')",
    ),
    refused(
        "a table of several measures",
        "cf.compare(cf.evaluate(SYSTEMS, QRELS, ['AP', 'RR']).to_pandas())",
        r"read_scores\(data, measure='AP'\)",
        "data = cf.evaluate(SYSTEMS, QRELS, ['AP', 'RR']).to_pandas()\n"
        "cf.compare(cf.read_scores(data, measure='AP'), test='t')",
    ),
    Case(
        "a system with ids of its own",
        "cf.evaluate({'A': A, 'x': {'1': {'d1': 1.0}, '2': {'d3': 1.0}}}, QRELS, 'AP')",
        r"no document that 'x' retrieved is judged",
    ),
    Case(
        "ids in another case",
        "cf.evaluate(A, {'q1': {'D1': 1}, 'q2': {'D3': 1}}, 'AP')",
        r"no document that 'run' retrieved is judged",
    ),
    Case(
        "a topic without judgments",
        "cf.evaluate(A, {'q1': ['d1'], 'q2': []}, 'RR').means().rows()",
        r"1 topic of the judgments has none \('q2'\)[\s\S]*0\.5",
    ),
    Case(
        "a condition of checks",
        "bool(cf.check('qrels.txt', ['text.run'])), bool(cf.check('qrels.txt', ['a.run']))",
        r"\(False, True\)",
    ),
    Case(
        "a run written as Parquet",
        "cf.write_run(cf.read_run(A, name='A'), 'out.parquet')\n"
        "cf.evaluate('out.parquet', QRELS, 'AP').to_dict()",
        r"'A': 0\.75",
    ),
    refused(
        "a report as PDF",
        "cf.report(cf.evaluate(A, QRELS, 'AP'), 'report.pdf')",
        "HTML",
        "cf.report(cf.evaluate(A, QRELS, 'AP'), 'report.html')",
    ),
    Case("depth of NumPy", "cf.evaluate(A, QRELS, 'AP', depth=np.int64(1)).to_dict()", r"0\.5"),
    Case(
        "topics and documents in the index of a frame",
        "rows = [(t, d, s) for t, docs in A.items() for d, s in docs.items()]\n"
        "frame = pd.DataFrame(rows, columns=['qid', 'docno', 'score'])\n"
        "cf.evaluate(frame.set_index(['qid', 'docno']), QRELS, 'AP').to_dict()",
        r"0\.75",
    ),
    Case(
        "hits as a search engine returns them",
        "hits = lambda docs: [{'doc_id': d, 'score': s} for d, s in docs.items()]\n"
        "hits = {topic: hits(docs) for topic, docs in A.items()}\n"
        "cf.evaluate(hits, QRELS, 'AP').to_dict()",
        r"0\.75",
    ),
    Case(
        "hits without scores",
        "hits = {t: [{'doc_id': d} for d in docs] for t, docs in A.items()}\n"
        "cf.evaluate({'A': hits}, QRELS, 'AP').to_dict()",
        r"'A': 0\.75",
    ),
    Case(
        "pairs of names and runs",
        "cf.evaluate(list(SYSTEMS.items()), QRELS, 'AP').to_dict()",
        r"'A': 0\.75, 'B': 1\.0",
    ),
    Case(
        "groups of a frame",
        "cf.evaluate(pd.read_csv('system.csv').groupby('system'), QRELS, 'AP').to_dict()",
        r"'A': 0\.75, 'B': 1\.0",
    ),
    Case(
        "a column that may name systems",
        "frame = pd.read_csv('variant.csv').query('variant == \"A\"')\n"
        "cf.read_runs(frame.assign(engine=['x', 'y'] * 2))",
        r"'engine' \('x', 'y'\) is not read; system='engine'",
    ),
    refused("an open file", "cf.evaluate(open('a.run'), 'qrels.txt', 'AP')", "give its path"),
    refused(
        "an empty run among several",
        "cf.evaluate({'A': A, 'c': {}}, QRELS, 'AP')",
        "run 'c': is empty",
    ),
    Case(
        "decimals of percentages",
        "print(cf.table(cf.evaluate(SYSTEMS, QRELS, 'nDCG@10'), percent=True, places=1))",
        r"81\.5",
    ),
    refused(
        "a margin as wide as the measure",
        "cf.compare(cf.evaluate(SYSTEMS, QRELS, 'AP'), test='t').equivalence(2)",
        "2%",
        "cf.compare(cf.evaluate(SYSTEMS, QRELS, 'AP'), test='t').equivalence('2%')",
    ),
]

ON_THE_COMMAND_LINE = [
    Case("a lowest grade that nothing has", "cranfield evaluate qrels.txt a.run -l 9", "grade 9"),
    Case(
        "a fused run in another program",
        "cranfield fuse a.run b.run -o fused.run\ncranfield trec_eval -m map qrels.txt fused.run",
        r"map\s+all\s+0\.7500",
    ),
    Case(
        "measures that tell nothing apart",
        "cranfield study measures qrels.txt a.run b.run -m P@5 -m R@5",
        "No measure tells any",
    ),
    refused(
        "halves of three topics",
        "cranfield study tests --scores few.csv",
        "3 topics are too few",
    ),
    Case(
        "equal rankings",
        "cranfield compare qrels.txt a.run again.run -m AP -t wilcoxon",
        "no topic has different scores",
    ),
]

HABITS = [*IN_PYTHON, *ON_THE_COMMAND_LINE]
