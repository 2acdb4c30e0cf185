"""``simhash-hbase fingerprint``."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import click

from simhash_hbase.cli.codes import DONE, after
from simhash_hbase.cli.help import Command, option
from simhash_hbase.cli.options import (
    FingerprintChoice,
    Sample,
    collected,
    fingerprint_options,
    input_options,
    learn_option,
    optional_files_argument,
    output_options,
    profile_fields,
)
from simhash_hbase.corpus import Reading
from simhash_hbase.errors import EmptyDocument, InvalidArgument, no_words

if TYPE_CHECKING:
    from simhash_hbase.cli.screen.output import Output
    from simhash_hbase.features.analysis import Analysis


@dataclass(frozen=True)
class Choice:
    """What is fingerprinted, and how, besides the options of a profile."""

    texts: tuple[str, ...]
    profile_of: str | None
    learn_from: tuple[str, ...]
    explain: bool


@click.command(
    "fingerprint",
    cls=Command,
    examples=[
        "simhash-hbase fingerprint --text '我是蓝翔技工拖拉机学院手扶拖拉机专业的。' --explain",
        "simhash-hbase fingerprint --profile-of file:news.index today.jsonl.gz",
    ],
)
@optional_files_argument
@collected(
    "chosen",
    Choice,
    option("--text", "texts", multiple=True, help="A text to fingerprint. Repeatable."),
    option("--profile-of", metavar="URL", help="Use the profile of this index."),
    learn_option,
    option("--explain", is_flag=True, help="Show features, weights and bits."),
)
@fingerprint_options
@input_options
@output_options
def command(files: tuple[str, ...], chosen: Choice, prints: FingerprintChoice, reading: Reading, output: Output) -> int:
    """Print ids and fingerprints; no index is needed."""
    from simhash_hbase.opening import open_index

    if not (files or chosen.texts):
        raise InvalidArgument("nothing to fingerprint: name a FILE or --text")
    if chosen.profile_of is None:
        analysis = analysis_for(prints, Sample(chosen.learn_from, reading.settings), output)
    else:
        if profile_fields(prints) or chosen.learn_from:
            raise InvalidArgument("--profile-of takes everything from the index: leave out the other profile options")
        with open_index(chosen.profile_of, readonly=True) as index:
            analysis = index.analysis
    with output:
        for text in chosen.texts:
            output.line(_of_text(analysis, text, explain=chosen.explain))
        return _of_files(analysis, files, reading, output, explain=chosen.explain) if files else DONE


def _of_text(analysis: Analysis, text: str, *, explain: bool) -> dict[str, object]:
    analysed = analysis.texts(["text"], [text])
    if analysed.refused:
        raise EmptyDocument(no_words())
    return _record(analysis, "text", int(analysed.entries.simhashes[0]), text if explain else None)


def _of_files(analysis: Analysis, files: tuple[str, ...], reading: Reading, output: Output, *, explain: bool) -> int:
    from simhash_hbase.corpus import Documents

    with Documents("fingerprint", files, reading, output.watch) as documents:
        for chunk in documents.chunks(analysis):
            simhashes = chunk.entries.simhashes.tolist()
            for document, simhash in zip(chunk.kept, simhashes, strict=True):
                output.line(_record(analysis, document.id, simhash, document.text if explain else None))
            output.flush()
    output.summary("fingerprint", documents.read, refused=documents.refused)
    return after(documents.refused)


def analysis_for(prints: FingerprintChoice, sample: Sample, output: Output) -> Analysis:
    """Make the analysis that the options ask for."""
    from simhash_hbase.features.analysis import Analysis
    from simhash_hbase.opening import resolve_profile

    fields = profile_fields(prints)
    if sample.settings.features_field is not None:
        fields.setdefault("analyzer", "weighted")
    return Analysis(*resolve_profile(sample.texts(output.watch), **fields))


def _record(analysis: Analysis, name: str, simhash: int, text: str | None) -> dict[str, object]:
    from simhash_hbase.index.answers import hex_simhash

    record: dict[str, object] = {"id": name, "simhash": hex_simhash(simhash)}
    if text is None:
        return record
    features = analysis.analyzer.features(text)
    return {**record, "bits": f"{simhash:064b}", "features": [[word, weight] for word, weight in features]}
