"""Arguments and options that several commands share; a command gets each group of options as one argument."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial, wraps
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any, TypeVar, get_args

import click
from click.shell_completion import CompletionItem

from simhash_hbase.cli.exits import RunState
from simhash_hbase.cli.help import option
from simhash_hbase.cli.screen.terminal import show_starting
from simhash_hbase.corpus.options import Reading
from simhash_hbase.errors import InvalidProfile
from simhash_hbase.inputs import DOCUMENT_BYTES, FORMATS, ID_PREFIXES, SIMHASH_FORMATS, InputOptions
from simhash_hbase.plugins import ANALYZERS, INPUTS, offered_names
from simhash_hbase.profile import defaults
from simhash_hbase.stores.hbase.table import COMPRESSIONS

if TYPE_CHECKING:
    from simhash_hbase.cli.screen import output as screen
    from simhash_hbase.index.index import Index
    from simhash_hbase.index.local import LocalIndex

    Output = screen.Output  # The type of a command's argument ``output``.

T = TypeVar("T")
Decorator = Callable[[Callable[..., object]], Callable[..., object]]

_TABLE_FIELDS = ("regions", "compression")

_output = partial(option, section="Output options")
_input = partial(option, section="Input options")
_profile = partial(option, section="Fingerprint options")
_index = partial(option, section="Index options")
_store = partial(option, section="HBase options")


class OfferedChoice(click.Choice[str]):
    """A type of option that takes one of some names, or the name of a plugin that another installed package offers."""

    def __init__(self, choices: Sequence[str], group: str) -> None:
        super().__init__(choices)
        self._group = group

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401
        """Return the name that was given; an error for an unknown one lists the choices."""
        if value not in self.choices and value in offered_names(self._group):
            return str(value)
        return super().convert(value, param, ctx)


class Choice(SimpleNamespace):
    """The values of a group of options, an attribute for each parameter; None: the option was not given."""


def collected(into: str, *options: Decorator, make: Callable[..., object] = Choice) -> Decorator:
    """Return a decorator that adds options to a command.

    The command gets their values as a single argument, named `into`: the result of calling `make` with the values.
    """

    def decorate(function: Callable[..., T]) -> Callable[..., T]:
        @wraps(function)
        def call(*words: object, **given: object) -> T:
            made = make(**{name: given.pop(name) for name in names})
            return function(*words, **{into: made}, **given)

        # Where click notes the parameters of a function, the last one first.
        noted: list[click.Parameter] = call.__dict__.setdefault("__click_params__", [])
        before = len(noted)
        for add in reversed(options):
            add(call)
        names = [parameter.name for parameter in noted[before:] if parameter.expose_value]
        return call

    return decorate


def _remember_debug(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    """Keep the value of ``--debug`` in the state of the run: errors are reported after the command has ended."""
    if isinstance(ctx.obj, RunState):
        ctx.obj.debug = value


keep = option("--keep", metavar="ORDER", default="first", show_default=True, help="Which of near copies becomes"
                     " the original: first, longest, best:FIELD (the highest number), best:-FIELD (the lowest), or"
                     " rank:FIELD=A,B,C (the preferred source).")  # fmt: skip


def complete_file(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Let the shell complete the name of a file."""
    return [CompletionItem(begun, type="file")]


def complete_address(ctx: click.Context, parameter: click.Parameter, begun: str) -> list[CompletionItem]:
    """Let the shell complete the folder name in a ``file:`` address; other addresses are not completed."""
    return [CompletionItem(begun, type="dir")] if begun.startswith("file:") else []


def open_index(url: str, *, collection: str | None = None, readonly: bool = False) -> Index:
    """Return the open index at the address of a command; the library is imported here, so help need not wait for it."""
    from simhash_hbase import api

    return api.open_index(url, collection=collection, readonly=readonly)


def open_local_index(url: str, *, collection: str | None = None, readonly: bool = False) -> LocalIndex:
    """Open the index at the address of a command that needs its rows; the address of an HTTP service is refused."""
    from simhash_hbase import api

    return api.open_local_index(url, collection=collection, readonly=readonly)


url = click.argument("url", shell_complete=complete_address)
files = click.argument("files", nargs=-1, required=True, metavar="FILE…", shell_complete=complete_file)
optional_files = click.argument("files", nargs=-1, metavar="[FILE…]", shell_complete=complete_file)


def _checked_collection(ctx: click.Context, _: click.Parameter, name: str | None) -> str | None:
    """Return the name of a collection as given; raise an error for an invalid one, before an index is opened."""
    if name is not None:
        from simhash_hbase.rows.names import checked_name

        checked_name(name)
    return name


collection = option("--collection", metavar="NAME", show_default="none", callback=_checked_collection,
                    help="Collection within the index: a tenant, a language, a source.")  # fmt: skip


def checked_batch(ctx: click.Context, _: click.Parameter, name: str | None) -> str | None:
    """Return the name of a batch as given; raise an error for an invalid one, before an index is opened."""
    from simhash_hbase.rows import names

    return names.checked_batch(name)


batch = option("--batch", metavar="NAME", show_default="none", callback=checked_batch,
               help="Name of what the documents come in, such as a crawl.")  # fmt: skip
of_batch = option("--batch", metavar="NAME", callback=checked_batch, help="Only the documents that came in this batch.")

debug = _output("--debug", is_flag=True, expose_value=False, callback=_remember_debug,
                       help="Print a traceback with each error.")  # fmt: skip
_quiet = partial(_output, "--quiet", is_flag=True, help="Print no progress, summary or warning.")
silent = _quiet(expose_value=False)  # ``--quiet`` of a command that prints none of that.


def output_in(form: str, *, also: Sequence[str] = ()) -> Decorator:
    """Return a decorator that adds ``--format``, ``--quiet`` and ``--debug``; the command gets an `Output`.

    `form` is the default of ``--format``, and `also` are formats beside ``json`` and ``table``.
    """
    choice = _output("--format", "printed_as", type=click.Choice(["json", "table", *also]), default=form,
                     show_default=True, help="JSON lines, or a table for people.")  # fmt: skip

    def make(*, printed_as: str, quiet: bool) -> Output:
        if not quiet:
            show_starting()
        from simhash_hbase.cli.screen.output import OUTPUTS

        return OUTPUTS[printed_as](quiet=quiet)

    return collected("output", choice, _quiet(), debug, make=make)


output = output_in("json")

_input_format = _input("--input-format", "format", type=OfferedChoice(FORMATS, INPUTS), show_default="by their names",
                       help="Format of the files.")  # fmt: skip
_encoding = _input("--encoding", metavar="CODEC", default="utf-8", show_default=True,
                   help="Encoding of the files; auto detects it.")  # fmt: skip
_text_field = _input("--text-field", metavar="FIELD", default="text", show_default=True, help="Field with the text.")
_max_document_bytes = _input("--max-document-bytes", type=click.IntRange(1), metavar="BYTES", default=DOCUMENT_BYTES,
                             show_default="8 MB", help="Refuse a longer text.")  # fmt: skip
_own = (
    _input("--simhash-field", metavar="FIELD", help="Field with your own fingerprint, read instead of a text."),
    _input("--simhash-format", type=click.Choice(SIMHASH_FORMATS), show_default="by the values, if they are clear",
           help="How these fingerprints are written."),
    _input("--features-field", metavar="FIELD",
           help="Field with your own [[feature, weight], …], read instead of a text."),
)  # fmt: skip


def _settings(options: dict[str, object]) -> InputOptions:
    make: Callable[..., InputOptions] = InputOptions
    return make(**options)


reading = collected(
    "reading",
    _input_format,
    _encoding,
    _input("--id-field", metavar="FIELD", show_default="id, else file and line", help="Field with the id."),
    _input("--id-prefix", type=click.Choice(ID_PREFIXES), show_default="none",
           help="Put the file's name before each id, for ids that begin anew in each file."),
    _text_field,
    *_own,
    _input("--metadata-field", "metadata_fields", metavar="FIELD", multiple=True,
           help="Field to store with the document, 1 KB in all. Repeatable."),
    _max_document_bytes,
    _input("--rejects", type=click.Path(dir_okay=False), help="Write refused records to this file."),
    _input("--workers", type=click.IntRange(1), metavar="N", show_default="all processors",
           help="Number of processes that fingerprint."),
    make=lambda rejects, workers, **options: Reading(settings=_settings(options), rejects=rejects, workers=workers),
)  # fmt: skip
"""The options for reading documents, for refused ones, and for the number of processes."""

own = collected("own", *_own)


learn_from = _profile("--learn-from", type=click.Path(), metavar="FILE", multiple=True, shell_complete=complete_file,
                        help="Documents of yours to learn the idf from; 600 already help. Without"
                        " them it is a shipped one. Repeatable.")  # fmt: skip
sample = collected(
    "sample",
    learn_from,
    _input_format,
    _encoding,
    _text_field,
    _max_document_bytes,
    make=lambda learn_from, **options: Choice(learn_from=learn_from, settings=_settings(options)),
)
"""``--learn-from`` and how its files are read, for a command that reads no other documents."""

_fingerprints = (
    _profile("--analyzer", type=OfferedChoice(get_args(defaults.AnalyzerName), ANALYZERS),
             show_default=defaults.ANALYZER, help="How a text becomes features."),
    _profile("--top", type=click.IntRange(1), metavar="N", show_default=f"{defaults.TOP} for jieba, else all",
             help="Number of features that count, the heaviest ones."),
    _profile("--shingle", type=click.IntRange(1), metavar="N", show_default=str(defaults.SHINGLE),
             help="Characters in a shingle."),
    _profile("--binary", is_flag=True, default=None, help="Count each shingle once, however often it occurs."),
    _profile("--hash", type=click.Choice(get_args(defaults.HashName)),
             show_default=defaults.HASH, help="Hash of a feature."),
    _profile("--seed", type=click.IntRange(0, 2**32 - 1), metavar="N", show_default=str(defaults.SEED),
             help="Seed of the hash."),
)  # fmt: skip

fingerprint = collected("prints", *_fingerprints)


class BandDistanceType(click.ParamType[tuple[int, ...]]):
    """The type of an option that takes several numbers of bits, with commas between them.

    The first is the most bits that may differ between documents that one band joins, the second that of two bands, …
    """

    name = "bits"

    def convert(self, value: object, param: click.Parameter | None, ctx: click.Context | None) -> tuple[int, ...]:
        """Return the numbers in a text such as ``10,14,18``."""
        try:
            return tuple(int(bits) for bits in str(value).split(","))
        except ValueError:
            self.fail(f"{value!r} is not one number, or several with commas between them", param, ctx)


def _short_default(name: str) -> str:
    return f"{defaults.SHORT_DEFAULTS[name]}; {defaults.SHORT_WITHOUT_BANDS[name]} without bands"


ttl = _index("--ttl", "ttl_days", type=click.FloatRange(0, min_open=True), metavar="DAYS", show_default="never",
                    help="Documents not seen for so long expire.")  # fmt: skip
_table = (
    _store("--regions", type=click.IntRange(1), metavar="N", show_default="4", help="Number of regions to begin with."),
    _store("--compression", type=click.Choice(COMPRESSIONS), show_default="NONE", help="Codec of the files."),
)
table = collected("table", *_table)

load = (
    option("--take-over", is_flag=True, help="Go ahead although another load was left open."),
    option("--hbase-conf", type=click.Path(file_okay=False, exists=True), metavar="DIR",
           help="Folder with hbase-site.xml; detected for a server started by scripts/hbase."),
    option("--staging", metavar="PATH", help="Folder on HBase's file system for files to be loaded."),
)  # fmt: skip

passages = (
    option("--at-least", type=click.IntRange(1), show_default="1", metavar="N",
           help="Least number of other documents that hold a passage."),
    option("--same", metavar="FIELD",
           help="Count only documents with the same value in this metadata field; with --metadata-field FIELD."),
    option("--longest", is_flag=True, help="Print only the longest passage of each text."),
)  # fmt: skip

suites = (
    option("--against", multiple=True, metavar="COLLECTION", help="Look for the documents of this collection, such as"
           " items of an evaluation set, or for those of the index at this address. Repeatable."),
    option("--at-share", type=click.FloatRange(0, 1, min_open=True), metavar="SHARE",
           show_default=f"{defaults.ITEM_SHARE:g}",
           help="With --against, print an item only if a text holds at least this share of it."),
    option("--suites", type=click.Path(dir_okay=False), metavar="FILE",
           help="With --against, write how many items of each COLLECTION stand in how many texts, as JSON lines."),
)  # fmt: skip

index = collected(
    "index_choice",
    *_fingerprints,
    _index("--scheme", metavar="BxC", show_default=defaults.SCHEME,
           help="Number of blocks x blocks in each table's key."),
    _index("--distance", type=click.IntRange(0, 63), metavar="BITS", show_default=str(defaults.DISTANCE),
           help="Distance up to which answers are complete."),
    _index("--match", type=click.Choice(get_args(defaults.MatchName)), show_default="verified, with sketches",
           help="Rule for near-duplicates."),
    _index("--similarity", type=click.FloatRange(0, 1), metavar="J", show_default=str(defaults.SIMILARITY),
           help="Least similarity for rule verified."),
    _index("--share", type=click.FloatRange(0, 1, min_open=True), metavar="S", show_default=str(defaults.SHARE),
           help="Share of the rare passages of either text that both have, for rule copied."),
    _index("--near", type=click.Choice(get_args(defaults.NearName)), show_default=defaults.NEAR,
           help="How much near copies share: most of their text and its subject, or most of their text."),
    _index("--no-sketch", is_flag=True, help="Keep no sketches: match by distance only."),
    _index("--bands", type=click.IntRange(0), metavar="N", show_default=f"{defaults.BANDS}; 0 for distance",
           help="Number of sketch rows of a document; 0 for none."),
    _index("--band-bins", type=click.IntRange(1), metavar="N", show_default=str(defaults.BAND_BINS),
           help="Number of the sketch's minima in each band."),
    _index("--band-distance", type=BandDistanceType(), metavar="BITS,…",
           show_default=",".join(map(str, defaults.NEAR_LIMITS[defaults.NEAR].band_distance)),
           help="Most bits that differ where one band joins two documents, two bands, and so on; 64 for any."),
    _index("--free-distance", type=click.IntRange(0, 64), metavar="BITS",
           show_default=str(defaults.NEAR_LIMITS[defaults.NEAR].free_distance),
           help="Beyond so many bits each one asks for 1/256 more similarity; 64 for none."),
    _index("--passages", type=click.IntRange(16, 1000), metavar="N",
           show_default=f"none; {defaults.COPIED_PASSAGES} for copied",
           help="Keep passages: `find` finds each text that shares N letters, numbers and marks in a row."),
    _index("--passage-gram", type=click.IntRange(defaults.LEAST_GRAM, 64), metavar="N",
           show_default=f"{defaults.SHORT_GRAM}; {defaults.LONG_GRAM} above --passages {defaults.MOST_FOR_SHORT_GRAM}",
           help="Letters, numbers and marks of the shortest text that can be found."),
    _index("--agree", metavar="FIELD", show_default="none",
           help="Near copies have the same value of this field, or one of them none; of URLs the host counts."),
    _index("--short", type=click.IntRange(0), metavar="N", show_default=_short_default("short"),
           help="A text with fewer features is called short."),
    _index("--short-characters", type=click.IntRange(0), metavar="N", show_default=_short_default("short_characters"),
           help="A text with fewer characters is called short, too; with --short 0, only such a text."),
    _index("--max-rows-per-prefix", type=click.IntRange(1), metavar="N", show_default=str(defaults.MAX_ROWS_PER_PREFIX),
           help="Most rows read under one prefix; a cut answer is marked truncated."),
    _index("--max-members", type=click.IntRange(1), metavar="N", show_default=str(defaults.MAX_MEMBERS),
           help="Most documents read of a fingerprint, and copies of an original; a cut answer is marked truncated."),
    ttl,
    _index("--lease", "lease_s", type=click.FloatRange(0, min_open=True), metavar="SECONDS",
           show_default=f"{defaults.LEASE_S:g}", help="How long an unfinished claim holds."),
    _index("--grace", "grace_s", type=click.FloatRange(0), metavar="SECONDS", show_default=f"{defaults.GRACE_S:g}",
           help="Vacuum skips anything newer than this (minimum 120 on HBase and Redis)."),
    *_table,
)  # fmt: skip
"""Options of everything that is frozen in an index, and of its table's beginning."""


def table_fields(choice: Choice) -> dict[str, Any]:
    """Return the options of a table in HBase, regions and compression, that were given in a command, by name."""
    return {name: value for name in _TABLE_FIELDS if (value := vars(choice)[name]) is not None}


def named_options(*choices: Choice) -> str:
    """Return the names of the options in `choices` that the user gave, such as "--scheme and --seed", for a message."""
    given = {name for choice in choices for name, value in vars(choice).items() if value not in (None, False, ())}
    parameters = click.get_current_context().command.params
    return " and ".join(max(each.opts, key=len) for each in parameters if each.name in given)


def fixed_profile(choice: Choice, *, or_else: str) -> str:
    """Return the error message for options of a profile that are given for an existing index, whose profile is fixed.

    `or_else` ends the message: another way out than to leave the options out.
    """
    return f"the profile is fixed when an index is made: leave out {named_options(choice)}, or {or_else}"


def profile_fields(choice: Choice) -> dict[str, Any]:
    """Return the options of a profile that were given in a command, by field.

    `InvalidProfile` is raised for a distance that needs another scheme than the default one.
    """
    from simhash_hbase.rows.blocks import Scheme

    fields = {name: value for name, value in vars(choice).items() if value is not None and name not in _TABLE_FIELDS}
    if fields.pop("no_sketch", False):
        fields["sketch"] = False
    distance = fields.get("distance")
    if distance is not None and distance > Scheme.parse(defaults.SCHEME).distance and "scheme" not in fields:
        better = f"add --scheme {distance + 2}x2 or another one"
        raise InvalidProfile(
            f"scheme {defaults.SCHEME} is complete up to distance {defaults.DISTANCE}, not {distance}: {better}"
        )
    return fields
