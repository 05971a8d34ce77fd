"""HTML made of pieces: whatever is not HTML already is text, and escaped."""

from __future__ import annotations

from cranfield.base.escape import html, plain

EMPTY = "(no name)"
"""What stands for an empty label."""

LONG = 40
"""Names of more characters may be cut; they are whole in a title."""

VOID = ("meta", "link", "col", "br", "img", "input")
"""Elements without an end tag."""


class Html(str):
    """Text that is HTML."""

    __slots__ = ()


def text(value: object) -> Html:
    """Escape a value, unless it is HTML already; what cannot be printed is shown by its code."""
    return value if isinstance(value, Html) else Html(html(str(value)))


def el(name: str, *children: object, **attributes: object) -> Html:
    """Make an element; False and None leave an attribute out, True gives it no value.

    Attributes that are words of Python end in an underscore; other underscores are hyphens.
    """
    parts = [name]
    for key, value in attributes.items():
        if value is None or value is False:
            continue
        shown = key.rstrip("_").replace("_", "-")
        parts.append(shown if value is True else f'{shown}="{text(value)}"')
    start = f"<{' '.join(parts)}>"
    if name in VOID:
        return Html(start)
    return Html(f"{start}{joined(*children)}</{name}>")


def joined(*children: object) -> Html:
    return Html("".join(text(child) for child in children if child is not None))


def named(name: str) -> Html:
    """Show a name that may be long: it breaks anywhere, and is cut after some lines."""
    shown = label(name)
    return el("span", shown, class_="name", title=shown if len(shown) > LONG else None)


def label(name: str) -> str:
    return plain(name) or EMPTY
