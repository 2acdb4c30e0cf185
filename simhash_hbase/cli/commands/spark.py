"""The commands of ``simhash-hbase spark``: ``dedup``, ``passages`` and ``load``."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

from simhash_hbase import corpus
from simhash_hbase.cli import exits, options
from simhash_hbase.cli.commands.passages import check_alone, note_suites
from simhash_hbase.cli.help import Group, option
from simhash_hbase.errors import InvalidArgument
from simhash_hbase.inputs import Preference
from simhash_hbase.profile.defaults import ITEM_SHARE

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

    from simhash_hbase.cli.options import Choice, Output
    from simhash_hbase.features.analysis import Analysis
    from simhash_hbase.spark import SparkOptions
    from simhash_hbase.spark.input import Input
    from simhash_hbase.spark.passages import CorpusAnswers

LINE_EVERY_S = 10.0  # A small corpus takes a minute or two, most of which is Spark's own.


spark_options = options.collected(
    "cluster",
    option("--master", metavar="URL", show_default="what spark-submit says, else this machine",
           help="Spark's master, such as spark://HOST:7077 or yarn."),
    option("--partitions", type=click.IntRange(1), metavar="N", show_default="3 a core",
           help="Number of parts into which documents are divided."),
    option("--conf", metavar="NAME=VALUE", multiple=True, help="A setting of Spark. Repeatable."),
)  # fmt: skip


def _settings(cluster: Choice, workers: int | None) -> SparkOptions:
    """Return the options of a command about the Spark cluster and its settings, as the library takes them."""
    from simhash_hbase.spark import SparkOptions

    if wrong := [word for word in cluster.conf if "=" not in word]:
        raise InvalidArgument(f"--conf {wrong[0]} is no setting of Spark: wanted NAME=VALUE")
    settings = dict(word.split("=", 1) for word in cluster.conf)
    return SparkOptions(cluster.master, workers, cluster.partitions, settings)


def _refuse_texts(_context: click.Context, parameter: click.Parameter, value: object) -> None:
    """Raise a usage error if an option is set that ``spark dedup`` cannot have, since it needs both texts of a pair."""
    if value:
        raise click.UsageError(
            "spark dedup judges near copies by their sketches, no worker has both texts: leave out"
            f" {parameter.opts[0]}, or use dedup on one machine"
        )


@click.group("spark", cls=Group, examples=["simhash-hbase spark dedup crawl-*.jsonl.gz > decisions.jsonl"])
def spark() -> None:
    """Decide, search or load a corpus on Spark: JSON lines, text or Parquet on any Hadoop file system.

    Results equal those of `dedup`, `passages` and `load`. Needs the extra spark.
    """


@spark.command("dedup", examples=["simhash-hbase spark dedup crawl.jsonl > decisions.jsonl"])
@options.files
@options.collected(
    "choice",
    options.keep,
    option("--index", metavar="URL", help="Decide against this index, too; every worker reads it."),
    options.collection,
    option("--results", metavar="PLACE", help="Write the decisions to this folder on a Hadoop file system, in parts."),
)
@option("--exact", is_flag=True, hidden=True, expose_value=False, callback=_refuse_texts)
@option("--contained", hidden=True, expose_value=False, callback=_refuse_texts)
@spark_options
@options.index
@options.reading
@options.output
def dedup(
    files: tuple[str, ...],
    choice: Choice,
    cluster: Choice,
    index_choice: Choice,
    reading: corpus.Reading,
    output: Output,
) -> int:
    """Decide a corpus at once: each document is an original or a duplicate of one.

    The decisions are those of `dedup --dry-run`; without --index the idf is learned from FILEs. No index is changed.
    """
    preference = Preference.parse(choice.keep)
    if choice.collection is not None and choice.index is None:
        raise InvalidArgument("a collection is part of an index: name the index by --index, or leave out --collection")
    output.note("spark dedup: start …")
    from simhash_hbase.spark import deduplicate, measured, session
    from simhash_hbase.spark.dedup import IndexPlace
    from simhash_hbase.spark.input import Input, report_refused

    session_options = _settings(cluster, reading.workers)
    with (
        output,
        corpus.refusals.Refusals.open(reading.rejects, output.listener) as refusals,
        session(session_options) as running,
        output.meter("spark dedup", noun="tasks", every_s=LINE_EVERY_S) as meter,
        measured(running, meter),
    ):
        settings = replace(reading.settings, keep_raw=reading.rejects is not None, preference=preference)
        documents = Input.of(running, files, settings)
        against = None if choice.index is None else IndexPlace(choice.index, choice.collection)
        analysis = _analysis(documents, choice.index, index_choice, output)
        done = deduplicate(running, documents, analysis, against=against)
        report_refused(done.refused, documents.order, refusals)
        _give_out(done.lines, choice.results, output)
        counts = {"kept": done.originals, "duplicates": done.documents - done.originals, "refused": refusals.count}
        output.summary("dedup", done.documents, **counts)
    return exits.after(refusals.count)


def _give_out(lines: DataFrame, results: str | None, output: Output) -> None:
    """Print the JSON lines of a Spark DataFrame; if `results` is not None, have Spark write them to that folder."""
    if results is not None:
        lines.write.text(results)
        return
    for row in lines.toLocalIterator():
        output.line(json.loads(row.value))


def _analysis(documents: Input, url: str | None, index_choice: Choice, output: Output) -> Analysis:
    """Return the analysis, which makes fingerprints of texts, of the index at `url`.

    If `url` is None, the idf of the analysis is learned from the input, as `dedup --create` does.
    """
    from simhash_hbase.api import resolve_profile
    from simhash_hbase.features.analysis import Analysis

    fields = options.profile_fields(index_choice)
    if url is not None:
        if fields:
            raise InvalidArgument(options.fixed_profile(index_choice, or_else="--index"))
        with options.open_local_index(url, readonly=True) as index:
            return index.analysis
    texts = None
    own = documents.options.simhash_field or documents.options.features_field
    if fields.get("analyzer", "learned") == "learned" and own is None:
        output.note("learning the idf from the input …")
        texts = documents.texts()
    elif documents.options.features_field is not None:
        fields = {"analyzer": "weighted", **fields}
    profile, idf = resolve_profile(texts, **fields)
    return Analysis(profile, idf).probed()


@spark.command(
    "passages", examples=["simhash-hbase spark passages hbase://127.0.0.1:9091/news crawl.jsonl --results passages"]
)
@options.url
@options.files
@options.collected(
    "choice",
    *options.passages,
    option("--cut", metavar="PLACE",
           help="Write id and text of each document without its passages, as JSON lines, to a folder as --results."),
    option("--mark", metavar="PLACE",
           help="Write id and text of each document with its passages between ⟦ and ⟧, as JSON lines, to a folder."),
    *options.suites,
    options.collection,
    option("--results", metavar="PLACE", help="Write the answers to this folder on a Hadoop file system, in parts."),
)  # fmt: skip
@spark_options
@options.reading
@options.output
def passages(
    url: str, files: tuple[str, ...], choice: Choice, cluster: Choice, reading: corpus.Reading, output: Output
) -> int:
    """Find the parts of texts that stand in other documents of an index, which every worker reads.

    The answers are those of `passages`, and of its --against. A file: index must be where all workers find it.
    """
    check_alone(choice, choice.collection)
    places = [place for place in (choice.results, choice.cut, choice.mark) if place is not None]
    if len(set(places)) < len(places):
        raise InvalidArgument("`results`, `cut` and `mark` need a folder each")
    output.note("spark passages: start …")
    from simhash_hbase.index.arguments import PassageSearch
    from simhash_hbase.spark import find_passages, measured, session
    from simhash_hbase.spark.dedup import IndexPlace
    from simhash_hbase.spark.input import Input, report_refused

    session_options = _settings(cluster, reading.workers)
    with (
        output,
        corpus.refusals.Refusals.open(reading.rejects, output.listener) as refusals,
        session(session_options) as running,
        output.meter("spark passages", noun="tasks", every_s=LINE_EVERY_S) as meter,
        measured(running, meter),
    ):
        documents = Input.of(running, files, replace(reading.settings, keep_raw=reading.rejects is not None))
        if choice.against:
            noun = "with_items"
            done = _items(documents, url, choice, output)
        else:
            noun = "with_passages"
            search = PassageSearch(choice.at_least or 1, choice.same)
            rewritten = [name for name in ("cut", "mark") if vars(choice)[name] is not None]
            place = IndexPlace(url, choice.collection)
            done = find_passages(documents, place, search, longest=choice.longest, rewritten=rewritten)
            for name in rewritten:
                done.column(name).write.text(vars(choice)[name])
        report_refused(done.refused, documents.order, refusals)
        _give_out(done.lines, choice.results, output)
        cut_short = {"truncated": done.truncated} if done.truncated else {}
        output.summary("passages", done.documents, **{noun: done.found}, **cut_short, refused=refusals.count)
    return exits.after(refusals.count)


def _items(documents: Input, url: str, choice: Choice, output: Output) -> CorpusAnswers:
    """Run ``spark passages --against``: return the evaluation items that stand in each text.

    Print for each suite, a collection of items, how many of them were found in how many texts.
    """
    from simhash_hbase.cli.screen.terminal import secretless
    from simhash_hbase.corpus.contamination import Suite, SuiteCounts
    from simhash_hbase.files.local import replacing
    from simhash_hbase.index.jsonforms import json_line
    from simhash_hbase.spark import find_items
    from simhash_hbase.spark.dedup import IndexPlace
    from simhash_hbase.stores.addresses import looks_like_address

    suites, places = [], {}
    for name in choice.against:
        place = IndexPlace(name) if looks_like_address(name) else IndexPlace(url, name)
        with options.open_local_index(place.url, collection=place.collection, readonly=True) as index:
            # Items are counted before the texts are read: a name with a slip would find all texts clean.
            suites.append(Suite(secretless(name), index, output.listener))
        places[suites[-1].name] = place
    done, found = find_items(documents, places, at_share=choice.at_share or ITEM_SHARE)
    counts = [SuiteCounts(suite.name, suite.items, *found[suite.name]) for suite in suites]
    if choice.suites is not None:
        with replacing(choice.suites) as report:
            report.writelines(json_line(each._asdict()) for each in counts)
    note_suites(output, counts)
    return done


@spark.command("load", examples=["simhash-hbase spark load hbase://127.0.0.1:9091/news crawl.jsonl --work work"])
@options.url
@options.files
@options.collected(
    "choice",
    option("--work", metavar="PLACE", required=True, help="Folder on a Hadoop file system for analysed documents, from"
           " which an interrupted load continues."),
    options.collection,
    options.batch,
    *options.load,
    option("--jars", type=click.Path(file_okay=False, exists=True), metavar="DIR",
           show_default="what scripts/hbase fetches",
           help="HBase's folder lib, with its jars, at the same place on every worker."),
)  # fmt: skip
@spark_options
@options.reading
@options.output
def load(
    url: str, files: tuple[str, ...], choice: Choice, cluster: Choice, reading: corpus.Reading, output: Output
) -> int:
    """Write a corpus into an empty index in HBase, as files that the workers make.

    Repeat the same command after an interruption: finished analysis is not repeated.
    """
    output.note("spark load: start …")
    from simhash_hbase.bulk.places import find_tools, local_configuration, staging_folder
    from simhash_hbase.spark import load as load_documents, measured, session
    from simhash_hbase.spark.load import BulkSettings, Loader, WorkPlace
    from simhash_hbase.stores.hbase.launcher import cache_folder, home_folder
    from simhash_hbase.stores.hbase.options import parse_url

    where = parse_url(url)
    conf = Path(choice.hbase_conf) if choice.hbase_conf else local_configuration(home_folder(), where.gateways)
    if conf is None:
        raise InvalidArgument(f"{url}: a gateway alone cannot load files: name HBase's configuration by --hbase-conf")
    tools = find_tools(jars=Path(choice.jars) if choice.jars else None, cache=cache_folder())
    session_options = _settings(cluster, reading.workers)
    with (
        output,
        options.open_local_index(url, collection=choice.collection) as index,
        corpus.refusals.Refusals.open(reading.rejects, output.listener) as refusals,
        session(session_options) as running,
        output.meter("spark load", noun="tasks", every_s=LINE_EVERY_S) as meter,
        measured(running, meter),
    ):
        work = WorkPlace(running, choice.work)
        staging = staging_folder(conf, choice.staging, "spark")
        loader = Loader.of(tools, conf, where.table, staging, running.sparkContext.sparkUser())
        settings = replace(reading.settings, keep_raw=reading.rejects is not None)
        bulk = BulkSettings(work, loader, take_over=choice.take_over, batch=choice.batch)
        done = load_documents(running, index, files, settings, settings=bulk, refusals=refusals)
        if done.unnamed is not None:
            output.note(corpus.refusals.unnamed_documents(done.unnamed, has_fields=done.has_fields))
        counts = {"cells": done.cells, "refused": refusals.count}
        output.record({"documents": done.documents, **counts, "resumed": done.resumed, "way": "HFiles"})
        output.summary("load", done.documents, **counts)
    return exits.after(refusals.count)
