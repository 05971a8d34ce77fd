"""Citing: every source that is declared is in the list of references, and comes out as BibTeX."""

from __future__ import annotations

import ast
import importlib
import importlib.util
import pkgutil
import re
from types import ModuleType

import numpy as np
import pytest

import cranfield as cf
import cranfield.meta
import cranfield.scales
import cranfield.significance
from cranfield import evaluate_answers
from cranfield.base.errors import CranfieldWarning, MeasureError, PolicyError
from cranfield.measures.families import KINDS, REGISTRY
from cranfield.meta import split_topics, study_scales
from cranfield.meta.study import STUDIES, Study
from cranfield.reporting.references import RESULT_SOURCES, find_cited_works, read_works
from cranfield.result import Result
from cranfield.significance import CORRECTIONS, TESTS, compare_measures
from cranfield.texts import read_citations
from tests.conftest import ROOT

REQUIRED = {
    "article": {"author", "title", "journal", "year"},
    "inproceedings": {"author", "title", "booktitle", "year"},
    "incollection": {"author", "title", "booktitle", "publisher", "year"},
    "book": {"author", "title", "publisher", "year"},
    "misc": {"title"},
}
"""Fields that the types of BibTeX need."""


def hook() -> ModuleType:
    path = ROOT / "docs" / "hooks_references.py"
    spec = importlib.util.spec_from_file_location("hooks_references", path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


# The list


def test_entries_are_whole() -> None:
    text = (ROOT / "src/cranfield/data/references.bib").read_text(encoding="utf-8")
    assert len(read_works()) == text.count("\n@") + text.startswith("@")
    for key, entry in read_works().items():
        assert REQUIRED[entry.kind] <= set(entry.fields), key
        assert entry.key == key
        for value in entry.fields.values():
            assert value.strip() == value
            assert value.count("{") == value.count("}")
            assert not re.search(r"(?<!\\)[&%$#]", value), key
        if not entry.is_software:
            family = re.sub(r"[^a-z]", "", entry.families[0].lower().translate(ACCENTS))
            # A letter, or a word of the title, tells works of one author and year apart.
            assert re.fullmatch(rf"{family}{entry.fields['year']}[a-z]*", key), key


ACCENTS = str.maketrans("äöüéíóçşšğøàã", "aoueiocssgoaa")


def test_entries_are_in_order_and_a_doi_belongs_to_one_work() -> None:
    works = [one for one in read_works().values() if not one.is_software]
    names = [
        ([re.sub("'", "", name.lower().translate(ACCENTS)) for name in one.families], one.year)
        for one in works
    ]
    assert names == sorted(names)
    known = [one.fields["doi"] for one in read_works().values() if "doi" in one.fields]
    assert len(set(known)) == len(known) > 100
    assert all(re.fullmatch(r"10\.\d{4,5}/[^\s{}]+", doi) for doi in known)


def test_the_page_lists_the_works() -> None:
    page = (ROOT / "docs" / "references.md").read_text(encoding="utf-8")
    assert page.count(hook().PLACE) == 1
    lines = hook().listed().splitlines()
    works = [one for one in read_works().values() if not one.is_software]
    assert len(lines) == len(works)
    for line, one in zip(lines, works, strict=True):
        assert line.startswith(f"- {one.families[0]}")
        assert f"({one.year})" in line
        assert not set(line) & set("{}\\"), line


def test_references_as_text() -> None:
    assert read_works()["efron1993"].to_text(is_markdown=True) == (
        "Efron, B. and Tibshirani, R. J. (1993)."
        " *An introduction to the bootstrap*. Chapman & Hall."
    )
    assert read_works()["sakai2013"].to_text() == (
        "Sakai, T. (2013). Metrics, statistics, tests."
        " PROMISE Winter School 2013, LNCS 8173, 116–163. doi:10.1007/978-3-642-54798-0_6."
    )
    assert (
        read_works()["moffat2008"]
        .to_text(is_markdown=True)
        .endswith(
            "*ACM Transactions on Information Systems* 27(1), 2:1–2:27."
            " [doi:10.1145/1416950.1416952](<https://doi.org/10.1145/1416950.1416952>)."
        )
    )


# Declared sources


@pytest.mark.parametrize("name", REGISTRY)
def test_sources_of_measures(name: str) -> None:
    info = REGISTRY[name].info
    for source in (info.source, *info.parameter_sources.values()):
        for part in source.split("; "):
            found, missing = find_cited_works(part)
            assert found, part
            assert not missing
            works = [one for one in found if not one.is_software]
            # Authors and a year stand for one work.
            assert len(works) == len(re.findall(r"\b\d{4}[a-z]?\b", part)), part


@pytest.mark.parametrize("name", REGISTRY)
def test_parameters_of_sources(name: str) -> None:
    """Each condition names a parameter, and each value can be chosen."""
    kind = REGISTRY[name]
    for condition, source in kind.info.parameter_sources.items():
        parameter, _, value = condition.partition("=")
        assert parameter in kind.parameters
        if value:
            text = value.replace("log", "log2") if parameter == "discount" else value
            made = kind(**{parameter: ast.literal_eval(text)})
            assert source in made.source


TEXTS = {"sakai2013", "ferro2024"}
"""Texts that define many measures which others introduced."""


@pytest.mark.parametrize("name", REGISTRY)
def test_measures_name_the_work_that_introduced_them(name: str) -> None:
    assert {one.key for one in find_cited_works(REGISTRY[name].info.source)[0]} - TEXTS


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("AP", {"buckley2005"}),
        ("AP(denominator='min')@10", {"buckley2005", "sakai2013"}),
        ("RR", {"kantor2000"}),
        ("P@10", {"cleverdon1967", "vanrijsbergen1979"}),
        ("R@10", {"cleverdon1967", "vanrijsbergen1979"}),
        ("SetF", {"vanrijsbergen1979", "chinchor1992"}),
        ("Rprec", {"buckley2005"}),
        ("Rprec(multiple=2)", {"buckley2005", "trec_eval"}),
        ("nDCG@10", {"jarvelin2002", "burges2005"}),
        ("nDCG(discount='max(1,log2(rank))')@10", {"jarvelin2002"}),
        (
            "nDCG(discount='max(1,log10(rank))', gains='exponential')",
            {"jarvelin2002", "burges2005"},
        ),
        ("nDCG(discount='1+log2(rank)')@10", {"jarvelin2002", "jarvelin2008"}),
        ("Q(denominator='R')", {"sakai2004", "sakai2005"}),
        ("P+", {"sakai2006b"}),
        ("Bpref", {"buckley2004", "trec_eval"}),
        ("Bpref(form='R')", {"buckley2004"}),
        ("ERR@20", {"chapelle2009"}),
        ("alpha_nDCG@10", {"clarke2008"}),
        ("alpha_DCG@10", {"clarke2008", "clarke2011"}),
        ("alpha_DCG(over='none')@10", {"clarke2008"}),
        ("IA(ERR@10)", {"agrawal2009", "chapelle2009"}),
        ("D#-nDCG@10", {"sakai2011", "zhai2003", "jarvelin2002", "burges2005"}),
        ("interval(RR@5)", {"kantor2000", "ferrante2021"}),
        ("interval(nDCG@5)", {"jarvelin2002", "burges2005", "ferrante2021"}),
        ("Classes(AP)", {"buckley2005", "sakai2007b"}),
        ("sDCG", {"jarvelin2008", "kanoulas2011"}),
        ("sDCG(variant='jarvelin')", {"jarvelin2008"}),
    ],
)
def test_works_of_a_measure_with_its_parameters(text: str, keys: set[str]) -> None:
    assert set(cf.cite(text).keys) == keys | {"cranfield"}


USER_MODELS = {"EU", "ETU", "EC", "ETC", "Depth", "Residual"}
"""Measures of a user model."""


def test_other_measures_tests_corrections_and_studies_have_sources() -> None:
    sources = {name: TESTS[name].info.source for name in TESTS}
    sources |= {name: one.source for name, one in CORRECTIONS.items() if one.source}
    sources |= {name: source for name, (_, source) in RESULT_SOURCES.items() if source}
    sources |= {name: STUDIES[name].reference for name in STUDIES}
    for name in REGISTRY.select(kind=KINDS[1]):
        inside = "RBP" if name in USER_MODELS else "nDCG@10"
        more = ", baseline='x'" if name in {"URisk", "TRisk"} else ""
        sources[name] = cf.parse_measure(f"{name}({inside}{more})").source
    for name in REGISTRY.select(kind=KINDS[2]):
        sources[name] = REGISTRY[name].info.source
        assert {one.key for one in find_cited_works(sources[name])[0]} < set(cf.cite(name).keys)
    for name, source in sources.items():
        found, missing = find_cited_works(source)
        assert found, name
        assert not missing, name
        assert len(found) >= len(re.findall(r"\(\d{4}", source)), name


def test_sources_of_all_other_declarations() -> None:
    """Those of click models, pooling methods, fusion, interleaving, online measures and so on."""
    sources = set()
    for module in pkgutil.walk_packages(cf.__path__, "cranfield."):
        if module.name.endswith("__main__"):
            continue
        for value in vars(importlib.import_module(module.name)).values():
            declared = [value, *(value.values() if isinstance(value, dict) else ())]
            for one in declared:
                own = vars(one) if hasattr(one, "__dict__") else {}
                source = own.get("source") or own.get("reference")
                if isinstance(source, str):
                    sources.add(source)
    assert len(sources) > 50
    for source in sources:
        found, missing = find_cited_works(source)
        assert not missing, source
        works = [one for one in found if not one.is_software]
        assert len(works) == len(re.findall(r"\b(?:19|20)\d{2}[a-z]?\b", source)), source


def test_studies_are_those_of_the_package() -> None:
    studies = {STUDIES[name] for name in STUDIES}
    kinds = (*Result.__subclasses__(), *Study.__subclasses__())
    assert studies == {kind for kind in kinds if kind.reference}
    assert all(STUDIES[name].name == name for name in STUDIES)
    classes = set()
    for package in (cranfield.meta, cranfield.scales, cranfield.significance):
        for found in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            classes |= set(vars(importlib.import_module(found.name)))
    assert set(RESULT_SOURCES) <= classes


@pytest.mark.parametrize(
    ("text", "keys"),
    [
        ("Chapelle and others (2009)", ["chapelle2009"]),
        ("Ferrante et al. (2019)", ["ferrante2019"]),
        ("Friedman (1937, 1939)", ["friedman1937", "friedman1939"]),
        ("D'Agostino and Pearson (1973)", ["dagostino1973"]),
        ("Tague-Sutcliffe and Blustein (1994)", ["taguesutcliffe1994"]),
        ("Urbano, Marrero and Martin (2013)", ["urbano2013"]),
        ("Sakai (2016)", ["sakai2016a", "sakai2016b"]),
        ("Sakai (2016b)", ["sakai2016b"]),
        ("De Beer and Moens (2006)", ["debeer2006"]),
        ("van Rijsbergen (1979)", ["vanrijsbergen1979"]),
        ("Sakai and Kato (2012); Sakai (2012)", ["sakai2012units", "sakai2012"]),
        ("trec_eval, measure success", ["trec_eval"]),
        ("nothing", []),
    ],
)
def test_reading_of_sources(text: str, keys: list[str]) -> None:
    assert [one.key for one in find_cited_works(text)[0]] == keys


def test_other_authors_of_the_year_are_not_taken() -> None:
    assert find_cited_works("Ferrante, Ferro and Fuhr (2019)") == (
        [],
        ["Ferrante, Ferro and Fuhr (2019)"],
    )
    assert find_cited_works("Ferro and Sanderson (2021)")[1] == ["Ferro and Sanderson (2021)"]
    assert find_cited_works("Voorhees and others (2002)")[0][0].key == "voorhees2002"


# Citing


@pytest.fixture(scope="module")
def ev() -> cf.Evaluation:
    draw = np.random.default_rng(1)
    runs = {
        name: {
            f"q{t}": {f"d{k}": float(one) for k, one in enumerate(draw.random(6))} for t in range(8)
        }
        for name in "abc"
    }
    qrels = {f"q{t}": {f"d{k}": k % 2 for k in range(6)} for t in range(8)}
    return cf.evaluate(runs, qrels, ["RBP", "interval(RR@5)"])


def test_evaluations_and_comparisons(ev: cf.Evaluation) -> None:
    assert cf.cite(ev).keys == ("ferrante2021", "kantor2000", "moffat2008", "cranfield")
    found = cf.compare(ev["RBP"], test="t", correction="bh")
    both = cf.cite(ev, found)
    assert {"student1908", "benjamini1995"} <= set(both.keys)
    assert both.used_for["benjamini1995"] == ("bh",)
    assert both.used_for["kantor2000"] == ("interval(RR@5)",)
    # The works that the paragraph on a comparison cites.
    for one in (
        cf.compare(ev["RBP"], baseline="a"),
        compare_measures({"RBP": ev["RBP"]}, baseline="a"),
        cf.compare(ev["RBP"]),
    ):
        hint = one.prose("latex").splitlines()[-1].removeprefix("% References: cranfield cite ")
        assert {*hint.partition(" >")[0].split()} == {*cf.cite(one).keys}
    assert "tukey1949a" not in cf.cite(cf.compare(ev["RBP"], baseline="a")).keys
    assert "rutherford2011" in cf.cite(cf.compare(ev["RBP"]).anova).keys
    assert cf.cite({"x": ev["RBP"]}).keys == cf.cite([ev["RBP"]]).keys == cf.cite("RBP").keys
    assert cf.cite().keys == ("cranfield",)
    like = cf.evaluate({"q": {"a": 1.0}}, {"q": {"a": 1}}, "RBP", compat="trec_eval")
    assert cf.cite(like).keys[-1] == "trec_eval"


def test_studies(ev: cf.Evaluation) -> None:
    split = split_topics(ev["RBP"], ["t+bh", "sign"], sizes=[3], repeats=2)
    keys = cf.cite(split).keys
    assert {"ferro2022", "holm1979", "benjamini1995", "student1908", "moffat2008"} <= set(keys)
    assert "ferrante2021" in cf.cite(study_scales(ev.judged, ["P", "RR"], cutoffs=[3])).keys
    for name in STUDIES:
        assert len(cf.cite(name).keys) > 1


def test_names_and_keys() -> None:
    assert cf.cite("tukey").keys == ("tukey1949a", "cranfield")
    assert cf.cite("FDR_BH").keys == cf.cite("bh").keys
    assert cf.cite("none").keys == ("cranfield",)
    assert cf.cite("sakai2016b").keys == ("sakai2016b", "cranfield")
    assert cf.cite("ndcg_cut_10").keys == cf.cite("nDCG@10").keys
    with pytest.raises(MeasureError, match="unknown name 'xyzzyq'; expected .* holm.* hedges"):
        cf.cite("xyzzyq")
    with pytest.raises(MeasureError, match=r"'dunet'; did you mean dunnett\?"):
        cf.cite("dunet")
    assert cf.cite("hedges").keys == ("hedges1981", "sakai2018", "cranfield")
    assert cf.cite("cohen").keys == ("sakai2018", "cranfield")


@pytest.mark.parametrize("test", ["t", "anova-2", "sign", "randomisation"])
@pytest.mark.parametrize("measure", ["RBP", "interval(RR@5)"])
@pytest.mark.parametrize("baseline", [None, "a"])
def test_names_give_the_works_of_the_paragraph(
    ev: cf.Evaluation, test: str, measure: str, baseline: str | None
) -> None:
    pairs = cf.compare(ev[measure], test=test, baseline=baseline)
    hint = pairs.prose("latex").splitlines()[-1].removeprefix("% References: cranfield cite ")
    paragraph = cf.cite(*hint.partition(" >")[0].split()).keys
    named = {*cf.cite(measure, pairs.test, pairs.correction).keys}
    assert paragraph == cf.cite(pairs).keys
    # Names do not say whether there is a baseline.
    assert named - {*paragraph} <= {"tukey1949a", "dunnett1955"}
    assert {*paragraph} <= named
    with pytest.raises(PolicyError, match="got int, which has no sources"):
        cf.cite(3)


def test_scores_of_texts() -> None:
    found = evaluate_answers(read_citations({"a": {"q": [["full"]]}}), ["CitationRecall"])
    assert cf.cite(found).keys == ("thakur2025", "cranfield")
    assert cf.cite(found).used_for["thakur2025"] == ("CitationRecall",)
    assert "lin2004" in cf.cite("RougeN(n=2)").keys


def test_what_has_no_source_is_said() -> None:
    mine = cf.Scores(np.array([[0.5, 0.25]]), ("1",), ("a", "b"), "my measure")
    with pytest.warns(CranfieldWarning, match="no reference to cite is known for 'my measure'"):
        found = cf.cite(mine)
    assert found.missing == ("my measure",)


def test_bibtex() -> None:
    text = str(cf.cite("nDCG(gains={1:2})@10", "holm", "chapelle2009"))
    assert text.count("@") - text.count("@10") == len(re.findall(r"(?m)^@\w+\{\w+,$", text))
    assert text.count("{") == text.count("}")
    assert r"annote = {nDCG(gains=\textbraceleft{}1: 2\textbraceright{})@10}," in text
    assert "annote = {holm}" in text
    assert f"note = {{Version {cf.__version__}}}" in text
    assert "<li>Holm, S. (1979)." in cf.cite("holm")._repr_html_()


def test_entry_of_the_library_agrees_with_its_file() -> None:
    cff = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    own = read_works()["cranfield"].fields
    assert f'title: "{own["title"]}"' in cff
    assert f"- name: {own['author'].strip('{}')}" in cff
    assert f"version: {cf.__version__}" in cff
