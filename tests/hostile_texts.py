"""Texts that outsiders would use as names: markup, control characters, formulas, paths."""

from __future__ import annotations

import random

KNOWN = [
    "<script>alert(1)</script>", "</script><script>alert(1)</script>", "<img src=x onerror=a()>",
    "<svg onload=alert(1)>", "<svg><script>1</script></svg>", "<!--", "-->", "<![CDATA[x]]>",
    '" onmouseover="alert(1)', "' onclick='a()", "javascript:alert(1)", "</style><b>", "</title>",
    "<a href=javascript:a()>x</a>", "<iframe src=//x.example>", "<base href=//x.example>",
    "<math><mi>x", "<meta http-equiv=refresh content=0>", "&lt;script&gt;", "&#60;b&#62;", "&amp",
    "</textarea>", "<plaintext>", "<template>", "<b", "</td></tr></table>", "\u2028x\u2029",
    "\x1b[31mred", "\x1b]0;title\x07", "\x1b]8;;http://x.example\x1b\\x", "\x1b[2J", "\x9b31m",
    "\x9d0;t\x9c", "a\x08b", "a\x7fb", "a\x85b", "\u202eabc", "\u2066a\u2069", "a\u200bb",
    "\ufeffa", "\u200d", "a\u00adb", "\u2800", "\u3164", "a\u0300\u0301\u0302", "\U000e0041",
    "\ufffe", "\u061c", "=cmd|'/C calc'!A0", "+1+1", "-2+3", "@SUM(A1)", "\t=1+1", "=HYPERLINK(1)",
    "%0A=1", "|calc", r"\input{/etc/passwd}", r"\write18{ls}", r"\immediate\write18{ls}",
    r"\def\x{}", "100%", "a&b", "a_b_c", "{", "}", "{{x}}", "${x}", "#{x}", "^^41", "^^M", "~",
    "$x^2$", r"\\", "\\", "#1", "``x''", "--x--", "<<x>>", r"\end{table}", r"\begin{x}",
    "@article{x, y={z}}", "},{", '"x"', "%s%n", "[x](http://x.example)",
    "![x](http://x.example/i.png)", "**x**", "_x_", "`x`", "| a | b |", "# x", "- x", "1. x",
    "> x", "~~x~~", "[^1]", "<http://x.example>", "http://x.example", "---", "***", "```",
    "{% x %}", "<% x %>", "{{7*7}}", "%(x)s", "{0}", "$(x)", "`id`", ";ls", "a\\|b", "a\nb",
    "a\r\nb", "a\rb", "a\tb", " a", "a ", "", "a\0b", "\x1c", "\x1f", "null", "NaN", "1e9", "-",
    "--help", "../x", "/etc/passwd", "CON", "a/b", "é", "日本", "\u0645", "x" * 3000, "😀",
]  # fmt: skip


def hostile_texts(seed: int, number: int = 200) -> list[str]:
    """Return the known texts, and texts that are made of pieces of them."""
    draw = random.Random(seed)
    texts = dict.fromkeys(KNOWN)
    while len(texts) < number:
        pieces = draw.choices(KNOWN, k=draw.randint(2, 4))
        texts["".join(piece[: draw.randint(1, 40)] for piece in pieces)] = None
    return list(texts)[:number]
