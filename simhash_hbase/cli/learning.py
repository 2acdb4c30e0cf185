"""An index that is made for the input of a command: what it learns from that, and one for this run only."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from itertools import chain
from typing import TYPE_CHECKING, Any

from simhash_hbase.cli.screen.shortfalls import warnings_as_lines
from simhash_hbase.inputs import InputOptions

if TYPE_CHECKING:
    from simhash_hbase.cli.screen.output import Output
    from simhash_hbase.index.index import Index

Fields = dict[str, Any]


def learned(fields: Fields, settings: InputOptions, texts: Callable[[], Iterator[str]], output: Output) -> Fields:
    """Complete the fields of a profile; by default its idf is learned from the input."""
    if settings.features_field is not None:
        return {"analyzer": "weighted", **fields}
    if fields.get("analyzer", "learned") != "learned" or settings.simhash_field is not None:
        return fields
    output.note("learning the idf from the input …")
    return {**fields, "learn_from": texts()}


@contextmanager
def temporary(sources: Sequence[str], options: Callable[[], Fields], output: Output) -> Iterator[Index]:
    """Make an index that is gone after the block, and say so."""
    from simhash_hbase.inputs import total_bytes
    from simhash_hbase.opening import temporary_index

    with ExitStack() as stack:
        with warnings_as_lines(output):
            index = stack.enter_context(temporary_index(total_bytes(sources), **_as_far_as_learned(options())))
        yield index


def _as_far_as_learned(fields: Fields) -> Fields:
    """Leave the learning out where no record has a text: each record has its refusal, and an empty input its result."""
    from simhash_hbase.corpus.sample import NothingToLearn

    texts = fields.get("learn_from")
    if not isinstance(texts, Iterator):
        return fields
    try:
        first = next(texts)
    except NothingToLearn:
        return {name: value for name, value in fields.items() if name not in ("analyzer", "learn_from")}
    return {**fields, "learn_from": chain([first], texts)}


def await_input(named: Sequence[str], output: Output) -> None:
    """Leave the terminal to who types the documents: standard input is copied before anything else is shown."""
    from simhash_hbase.inputs.sources import STDIN

    if STDIN in named:
        output.give_way()


def say_gone(url: str | None, output: Output) -> None:
    """End a summary: a temporary index keeps nothing."""
    if url is None:
        output.note("the index was temporary and is gone; an address, such as file:docs.index, names one that stays")
