"""Words of the package and its pages: the field's terms, not a dialect."""

import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]

PHRASES = [
    ("is no ", r"(?<![Tt]here )\bis no (?!longer|more|better|worse)", "is not a"),
    ("are no ", r"(?<![Tt]here )\bare no (?!longer|more|better|worse)", "are not"),
    (" limits", r"\b95% limits|\bconfidence limits", "confidence interval, confidence bounds"),
    ("goes with", r"\bgoes with(out)?\b", "requires, cannot be combined with"),
    ("asked for", r"\basked for\b", "requested"),
    ("left out", r"\bleft out\b", "excluded, skipped"),
    ("called so", r"\bcalled so\b", "has this name"),
    ("handed in", r"\bhanded in\b", "submitted"),
    ("taken back", r"\btaken back\b", "withdrawn"),
    (" kin", r"\b(its|and) kin\b|\bkin bias\b", "variants; self-preference"),
    ("oddit", r"\boddit(y|ies)\b", "anomaly"),
    (" apart", r"\btold apart\b|\btells? apart\b", "significantly different, distinguished"),
    ("made up", r"\bmade up\b", "synthetic"),
    (" told", r"\b(is|are) told\b", "reported"),
    ("finds what is", r"\bfinds what is not there\b", "Type I error"),
    (" errs", r"\berrs\b", "is wrong, Type I error"),
    ("by the steps", r"\bby the steps\b", "step-down procedure"),
    ("packed", r"\b(un)?packed\b", "compressed, decompressed"),
    ("hat it says", r"\b[Ww]hat it says\b", "the noun for it"),
    ("hat stands in", r"\b[Ww]hat stands in\b", "value"),
    ("hat is said", r"\b[Ww]hat is said\b", "message, note"),
    ("none of (", r"\bnone of \(", "expected one of"),
    ("where one is expected", r"\bwhere one is expected\b", "expected ..., got ..."),
    ("there is no ", r"\bthere is no \w+ ['{]", "unknown ...; expected one of"),
    ("found_", r"\bfound_\w+", "a noun or a verb"),
    ("odd=", r"\bodd=", "anomalies"),
    ("kin_bias", r"\bkin_bias\b", "self_preference"),
    ("corrected_mean", r"\bcorrected_mean\b", "prediction-powered estimate"),
    ("is none", r"\b(that|which) is none\b", "not a ..., invalid ..., unknown ..."),
    (" ones do", r"\bbinary ones do\b", "graded or binary"),
    ("cry wolf", r"\bcry wolf\b", "false alarm"),
    ("bad_runs", r"\b(skip_)?bad_runs\b", "on_bad_run"),
    ("skip-bad-runs", r"\bskip-bad-runs\b", "on-bad-run"),
]
"""Text that each phrase contains, which is fast to find; the phrase; better words."""

EXCEPTIONS: dict[tuple[str, str], str] = {
    (
        "src/cranfield/campaign/results/standing.py",
        "left out",
    ): "part of the digest of stored files",
}
"""Allowed phrases by file, with the reason; at most 20."""


def texts() -> Iterator[tuple[str, str]]:
    """Yield the name and the text of each file."""
    files = [ROOT / "README.md"]
    for folder, pattern in ("src", "*.py"), ("src", "*.html"), ("docs", "*.md"):
        files += sorted((ROOT / folder).rglob(pattern))
    for file in files:
        yield file.relative_to(ROOT).as_posix(), file.read_text(encoding="utf-8")


def test_no_file_has_a_banned_phrase() -> None:
    wrong = []
    for name, text in texts():
        for word, pattern, better in PHRASES:
            for match in re.finditer(pattern, text) if word in text else ():
                phrase = match.group().strip()
                if (name, phrase) not in EXCEPTIONS:
                    line = text.count("\n", 0, match.start()) + 1
                    wrong.append(f"{name}:{line}: {phrase!r}; write: {better}")
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("name", sorted({name for name, _ in EXCEPTIONS}))
def test_exceptions_are_needed(name: str) -> None:
    text = (ROOT / name).read_text(encoding="utf-8")
    assert all(phrase in text for file, phrase in EXCEPTIONS if file == name)
    assert len(EXCEPTIONS) <= 20
