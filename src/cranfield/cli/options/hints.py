"""Hints in messages: options instead of Python arguments, and advice on unknown options."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence
from itertools import pairwise

import click

from cranfield.base.text import sanitise, suggest_names

EQUIVALENT_OPTIONS = {
    **dict.fromkeys(("--metric", "--metrics"), ("--measure", "give measures with -m")),
    "--qrels": ("QRELS", "judgments are the first argument: QRELS RUN..."),
    **dict.fromkeys(("--run", "--runs"), ("RUN", "runs are arguments after the judgments")),
    **dict.fromkeys(
        ("--cutoff", "-k"), ("--measure", "the cutoff is part of a measure, such as -m nDCG@10")
    ),
    "-c": ("--topics", "by default all judged topics are evaluated; see --topics"),
    "-M": ("--depth", "--depth N truncates rankings"),
    "-J": ("--unjudged", "--unjudged condensed removes unjudged documents"),
    "--duplicates": ("--on-duplicate", "--on-duplicate sets how to treat repeated documents"),
    "--by_query": ("--by-topic", "-q, --by-topic writes the scores of each topic"),
}
"""Hints for unknown options: the option with the same purpose, and its description."""


def describe_unknown_option(
    error: click.NoSuchOption, command: click.Command, words: Sequence[str]
) -> str:
    """Describe an unknown option among `words`, and suggest an option of this purpose or name."""
    name = error.option_name
    replacement, advice = EQUIVALENT_OPTIONS.get(name, ("", ""))
    settings = [param for param in command.params if getattr(param, "is_setting", False)]
    # The key of a setting is the long name of the option.
    keys = {flag: max(param.opts, key=len) for param in settings for flag in param.opts}
    if name in keys or replacement in keys:
        flag = keys[name if name in keys else replacement]
        key = flag.removeprefix("--")
        is_flag = any(getattr(param, "is_flag", 0) for param in settings if flag in param.opts)
        value = "true" if is_flag else _find_value(name, words)
        return f"{name} is a setting of this command: write {key}: {value} to a file for --settings"
    # In order of declaration, as a set would make the choice between similar names random.
    options = dict.fromkeys(flag for param in command.params for flag in param.opts)
    names = {*options, *(param.human_readable_name.strip("[].") for param in command.params)}

    def show(flag: str) -> str:
        key = keys.get(flag, "").removeprefix("--")
        return f"the setting {key}, in a file for --settings" if key else flag

    has_replacement = replacement in names and name.removesuffix("s") not in options
    hint = f": {advice}" if has_replacement else suggest_names(name, options, 1, show=show)
    return f"unknown option {name}{hint}"


def _find_value(name: str, words: Sequence[str]) -> str:
    """Return the value of an option among `words`; VALUE if the option has no value."""
    texts = [word.removeprefix(f"{name}=") for word in words if word.startswith(f"{name}=")]
    texts += [value for word, value in pairwise(words) if word == name and value[:1] != "-"]
    return sanitise(texts[0]) if texts and texts[0] else "VALUE"


_HINT = re.compile(
    r"""\w+\([^()]*\)"""  # A measure with its parameters, or a call of Python, is not changed.
    r"""|\b(?P<name>[a-z_]+)=(?:(?P<text>'[^']*'|"[^"]*"|\.\.\.)|(?P<true>True)\b"""
    r"""|\{'(?P<key>\w+)':\ \.\.\.\}|(?P<literal>\[[^]]*\]|\{[^}]*\}))"""
    r"""|(?<=such\ as\ )(?P<argument>[a-z_]+)=(?P<number>\d+)"""
)

_READER_ARGUMENTS = (
    "clip columns on_duplicate encoding format measure missing repeats scale worker_columns"
    " max_grade topics_with_grade numbers separator subtopics system ungraded grades"
    " lower_is_better"
)
"""Arguments of reading and judging; a hint on one of them is removed if the command lacks it."""

_CLAUSE_START = re.compile(r".*(; |, |: | \()", re.DOTALL)
_CLAUSE_END = {"; ": r"; | \((?=topic|document)|$", ", ": r"; |, | \(|\)|$", " (": r"\)|$"}
_CLAUSE_END[": "] = _CLAUSE_END["; "]
"""Pattern of the end of a clause, by the punctuation before the clause."""


def as_options(text: str, command: click.Command | None) -> str:
    """Rewrite hints such as `encoding='latin-1'` as options, and flags of settings as their names.

    If the command has no option for an argument of readers, the clause with the hint is removed.
    """
    if command is None:
        return text
    for param in command.params:
        if getattr(param, "is_setting", False):
            flag = max(param.opts, key=len)
            text = re.sub(rf"(?<!\S){flag}(?![\w-])", f"setting {flag.removeprefix('--')}", text)
    arguments = _READER_ARGUMENTS.split()
    # The output --format and the --column of metadata tables do not set arguments of readers.
    params = [param for param in command.params if isinstance(param, click.Option)]
    reader_options = [
        param for param in params if not {"--format", "--column"}.intersection(param.opts)
    ]
    options = {param.name: param for param in reader_options if not getattr(param, "argument", "")}
    # If two options fit an argument, the option that declares it is used.
    options |= {name: param for param in params if (name := getattr(param, "argument", ""))}
    for hint in reversed([*_HINT.finditer(text)]):
        argument = hint["name"] or hint["argument"]
        option = options.get(argument)
        start, end = hint.span()
        if option is not None:
            text = text[:start] + _as_option(hint, option) + text[end:]
        elif argument in arguments and (clause := _CLAUSE_START.match(text[:start])):
            tail = re.search(_CLAUSE_END[clause[1]], text[end:])
            assert tail is not None
            end += tail.end() if clause[1] == " (" else tail.start()
            text = text[: clause.start(1)] + text[end:]
    return text


def find_option(argument: str, command: click.Command) -> str:
    """Return the option of the command for a hint such as `own=[...]`; empty if there is none."""
    option = as_options(argument, command)
    return "" if option == argument else option


def _as_option(hint: re.Match[str], option: click.Option) -> str:
    name: str = max(option.opts, key=len)
    is_setting = getattr(option, "is_setting", False)
    if is_setting:
        name = f"--settings with {name.removeprefix('--')}:"
    if option.is_flag:
        return f"{name} true" if is_setting else name
    if hint["literal"]:
        if is_setting:
            return f"{name} {hint['literal']}"
        # A list or a dict of Python is `a,b` or `a=1,b=2` as the value of a flag.
        items = hint["literal"][1:-1].replace("': ", "'=").replace(", ", ",")
        return f"{name} {shlex.quote(re.sub(f'[{QUOTES}]', '', items))}"
    if hint["key"]:
        return f"{name} {hint['key']}=..."
    if hint["true"]:
        return f"{name} {option.metavar}" if option.metavar else hint[0]
    value = hint["number"] or hint["text"]
    return f"{name} {value if value[0] not in QUOTES else shlex.quote(value[1:-1])}"


QUOTES = "'\""
