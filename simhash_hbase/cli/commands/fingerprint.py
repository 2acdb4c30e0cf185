"""``simhash-hbase fingerprint``."""

from typing import Any

import click

from simhash_hbase.cli.corpus.documents import Documents, input_settings, take_input
from simhash_hbase.cli.corpus.sample import texts_of
from simhash_hbase.cli.help import Command, option
from simhash_hbase.cli.options import (
    input_options,
    learn_option,
    optional_files_argument,
    output_options,
    profile_fields,
    profile_options,
)
from simhash_hbase.cli.screen.output import Output
from simhash_hbase.errors import EmptyDocument, InvalidArgument, no_words
from simhash_hbase.features.analysis import Analysis
from simhash_hbase.index.jsonforms import hex_simhash
from simhash_hbase.opening import open_index, resolve_profile


@click.command(
    "fingerprint",
    cls=Command,
    examples=[
        "simhash-hbase fingerprint --text '我是蓝翔技工拖拉机学院手扶拖拉机专业的。' --explain",
        "simhash-hbase fingerprint --profile-of file:news.index today.jsonl.gz",
    ],
)
@optional_files_argument
@option("--text", "texts", multiple=True, help="A text to fingerprint. Repeatable.")
@option("--profile-of", metavar="URL", help="Fingerprint as this index does.")
@learn_option
@option("--explain", is_flag=True, help="Show features, weights and bits.")
@profile_options
@input_options
@output_options
def command(files: tuple[str, ...], texts: tuple[str, ...], explain: bool, **options: Any) -> int:  # noqa: ANN401
    """Print ids and fingerprints; no index is needed."""
    given = take_input(options)
    output = Output.of(options)
    if not (files or texts):
        raise InvalidArgument("nothing to fingerprint: name a FILE or --text")
    analysis = analysis_for(options, given, output)
    with output:
        for text in texts:
            output.line(_of_text(analysis, text, explain=explain))
        return _of_files(analysis, files, given, output, explain=explain) if files else 0


def _of_text(analysis: Analysis, text: str, *, explain: bool) -> dict[str, object]:
    analysed = analysis.texts(["text"], [text])
    if analysed.refused:
        raise EmptyDocument(no_words())
    return _record(analysis, "text", int(analysed.entries.simhashes[0]), text if explain else None)


def _of_files(
    analysis: Analysis, files: tuple[str, ...], given: dict[str, Any], output: Output, *, explain: bool
) -> int:
    with Documents("fingerprint", files, given, output) as documents:
        for chunk in documents.chunks(analysis):
            simhashes = chunk.entries.simhashes.tolist()
            for document, simhash in zip(chunk.kept, simhashes, strict=True):
                output.line(_record(analysis, document.id, simhash, document.text if explain else None))
            output.flush()
    output.summary("fingerprint", documents.read, refused=documents.refused)
    return documents.exit_code


def analysis_for(options: dict[str, Any], given: dict[str, Any], output: Output) -> Analysis:
    """Make the analysis that the options ask for, or that an index has."""
    fields = profile_fields(options)
    if options.get("profile_of"):
        if fields or options["learn_from"]:
            raise InvalidArgument("--profile-of takes all from the index: leave out the other profile options")
        with open_index(options["profile_of"], readonly=True) as index:
            return index.analysis
    if given["features_field"] is not None:
        fields.setdefault("analyzer", "weighted")
    sample = options["learn_from"]
    settings = input_settings(given)
    learn = texts_of(sample, settings, output) if sample else None
    profile, idf = resolve_profile(learn, **fields)
    return Analysis(profile, idf)


def _record(analysis: Analysis, name: str, simhash: int, text: str | None) -> dict[str, object]:
    record: dict[str, object] = {"id": name, "simhash": hex_simhash(simhash)}
    if text is None:
        return record
    features = analysis.analyzer.features(text)
    return {**record, "bits": f"{simhash:064b}", "features": [[word, weight] for word, weight in features]}
