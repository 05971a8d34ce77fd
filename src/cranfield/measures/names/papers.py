"""Names as papers print them, such as `D#-nDCG@10`, in the form that cranfield writes."""

from __future__ import annotations

import re

_SHARP = "#♯"
_FORMS: tuple[tuple[re.Pattern[str], str], ...] = tuple(
    (re.compile(pattern), form)
    for pattern, form in (
        (rf"(D|DIN)[{_SHARP}]-(?P<inner>.+)", r"Sharp(\1(\g<inner>))"),
        (r"(D|DIN)-(?P<inner>.+)", r"\1(\g<inner>)"),
        (r"EC-(?P<inner>.+)", r"Classes(\g<inner>)"),
        (rf"P\+Q[{_SHARP}](?P<at>@\d+)?", r"Sharp(PQ\g<at>)"),
        (r"P\+Q(?P<at>@\d+)?", r"PQ\g<at>"),
        (r"(?:alpha|α)-(DCG|nDCG)(?P<at>@\d+)?", r"alpha_\1\g<at>"),
        (r"(?P<n>n?)ERR-IA(?P<at>@\d+)?", r"\g<n>ERR_IA\g<at>"),
        (r"(?:M?AP)-IA", r"AP_IA"),
        (r"(?P<inner>\w+)-IA(?P<at>@\d+)?", r"IA(\g<inner>\g<at>)"),
        (r"IA-(?P<inner>.+)", r"IA(\g<inner>)"),
        (r"(?:I-rec|strec)(?P<at>@\d+)?", r"StRecall\g<at>"),
        (r"Q-measure(?P<at>@\d+)?", r"Q\g<at>"),
        (r"U-measure", r"U"),
        (r"([ROP])-measure(?P<at>@\d+)?", r"\1Measure\g<at>"),
        (r"(?:P\+|P-plus)(?P<at>@\d+)?", r"PPlus\g<at>"),
        (r"(?:b|B)pref_(?P<form>[RN])", r"Bpref(form='\g<form>')"),
    )
)


def from_paper(text: str) -> str:
    """Rewrite a name of a paper; any other text comes back as it is.

    Examples
    --------
    >>> from_paper("D#-nDCG@10"), from_paper("P+Q#@10"), from_paper("nDCG-IA@20")
    ('Sharp(D(nDCG@10))', 'Sharp(PQ@10)', 'IA(nDCG@20)')
    >>> from_paper("nDCG@10")
    'nDCG@10'
    """
    for pattern, form in _FORMS:
        if found := pattern.fullmatch(text):
            return found.expand(form)
    return text
