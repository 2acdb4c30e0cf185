"""Arguments and options that several commands share."""

from collections.abc import Callable
from functools import partial
from typing import Any, TypeVar, get_args

import click

from simhash_hbase.cli.help import option
from simhash_hbase.cli.shell import complete_address, complete_file
from simhash_hbase.cli.state import State
from simhash_hbase.errors import InvalidProfile
from simhash_hbase.inputs import DOCUMENT_BYTES, FORMATS
from simhash_hbase.profile import HashName
from simhash_hbase.rows.blocks import Scheme
from simhash_hbase.rows.table import COMPRESSIONS

F = TypeVar("F", bound=Callable[..., Any])


def _all(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    def apply(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


def _remember_debug(ctx: click.Context, _: click.Parameter, value: bool) -> bool:
    """Tell the place where errors are reported, which is outside of every command."""
    if isinstance(ctx.obj, State):
        ctx.obj.debug = value
    return value


_output = partial(option, section="Output options")
_input = partial(option, section="Input options")
_profile = partial(option, section="Fingerprint options")
_index = partial(option, section="Index options")
_store = partial(option, section="HBase options")

url_argument = click.argument("url", shell_complete=complete_address)
files_argument = click.argument("files", nargs=-1, required=True, metavar="FILE…", shell_complete=complete_file)
optional_files_argument = click.argument("files", nargs=-1, metavar="[FILE…]", shell_complete=complete_file)

debug_option = _output("--debug", is_flag=True, callback=_remember_debug, help="A traceback where an error is told.")
quiet_option = _output("--quiet", is_flag=True, help="No progress, no summary, no warning.")


def format_option(default: str = "json") -> Callable[[F], F]:
    """Add ``--format``."""
    return _output("--format", "format_", type=click.Choice(["json", "table"]), default=default, show_default=True,
                   help="JSON lines, or a table for people.")  # fmt: skip


def output_options(function: F) -> F:
    """Add ``--format``, ``--quiet``, ``--debug``."""
    return _all(format_option(), quiet_option, debug_option)(function)


_input_format = _input("--input-format", type=click.Choice(FORMATS), show_default="by their names",
                       help="How files are read.")  # fmt: skip
_encoding = _input("--encoding", metavar="CODEC", default="utf-8", show_default=True,
                   help="Of the files; auto detects it.")  # fmt: skip
_text_field = _input("--text-field", metavar="FIELD", default="text", show_default=True, help="Field with the text.")


_max_document_bytes = _input("--max-document-bytes", type=click.IntRange(1), metavar="BYTES", default=DOCUMENT_BYTES,
                             show_default="8 MB", help="Refuse a longer text.")  # fmt: skip


def input_options(function: F) -> F:
    """Add how documents are read, refused and spread over processes."""
    return _all(
        _input_format,
        _encoding,
        _input("--id-field", metavar="FIELD", default="id", show_default=True, help="Field with the id."),
        _text_field,
        own_options,
        _input("--metadata-field", "metadata_fields", metavar="FIELD", multiple=True,
               help="Field to keep with the document, 1 KB in all. Repeatable."),
        _max_document_bytes,
        _input("--rejects", type=click.Path(dir_okay=False), help="Keep what was refused in this file."),
        _input("--workers", type=click.IntRange(1), metavar="N", show_default="all processors",
               help="Processes that fingerprint."),
    )(function)  # fmt: skip


learn_option = _profile("--learn-from", type=click.Path(), metavar="FILE", multiple=True, shell_complete=complete_file,
                        help="Documents of yours to learn the idf from; 600 already help. Repeatable.")  # fmt: skip


def own_options(function: F) -> F:
    """Add fields of the caller's own fingerprints or features."""
    return _all(
        _input("--simhash-field", metavar="FIELD", help="Field with your own fingerprint, read instead of a text."),
        _input("--features-field", metavar="FIELD",
               help="Field with your own [[feature, weight], …], read instead of a text."),
    )(function)  # fmt: skip


def sample_options(function: F) -> F:
    """Add ``--learn-from`` and how its files are read, for a command that reads no other documents."""
    return _all(learn_option, _input_format, _encoding, _text_field, _max_document_bytes)(function)


def profile_options(function: F) -> F:
    """Add what decides fingerprints."""
    return _all(
        _profile("--analyzer", type=click.Choice(["jieba", "learned", "shingle", "weighted"]),
                 show_default="learned with a sample, else jieba", help="How a text becomes features."),
        _profile("--top", type=click.IntRange(1), metavar="N", show_default="200 for jieba, else all",
                 help="Heaviest features that count."),
        _profile("--shingle", type=click.IntRange(1), metavar="N", show_default="4", help="Characters of a shingle."),
        _profile("--binary", is_flag=True, default=None, help="Shingles weigh 1, however often they occur."),
        _profile("--segmenter", type=click.Choice(["fast", "jieba"]), show_default="fast where installed",
                 help="What cuts words."),
        _profile("--hash", "hash_", type=click.Choice(get_args(HashName)),
                 show_default="murmur3", help="Hash of a feature."),
        _profile("--seed", type=click.IntRange(0, 2**32 - 1), metavar="N", show_default="0", help="Seed of the hash."),
    )(function)  # fmt: skip


ttl_option = _index("--ttl", "ttl_days", type=click.FloatRange(0, min_open=True), metavar="DAYS", show_default="never",
                    help="Documents not seen for so long expire.")  # fmt: skip


def index_options(function: F) -> F:
    """Add what is frozen in an index besides."""
    return _all(
        _index("--scheme", metavar="BxC", show_default="5x2", help="Blocks, and how many of them are a table's."),
        _index("--distance", type=click.IntRange(0, 63), metavar="BITS", show_default="3",
               help="Distance up to which answers are complete."),
        _index("--match", type=click.Choice(["distance", "verified"]), show_default="verified, with sketches",
               help="What is a near-duplicate."),
        _index("--similarity", type=click.FloatRange(0, 1), metavar="J", show_default="0.77",
               help="Least similarity for verified."),
        _index("--fingerprints", type=int, metavar="N", show_default="1", help="Fingerprints a document."),
        _index("--no-sketch", is_flag=True, help="Keep no sketches: match by distance only."),
        _index("--short", type=click.IntRange(0), metavar="N", show_default="30",
               help="Features below which a text is called short."),
        _index("--short-characters", type=click.IntRange(0), metavar="N", show_default="0",
               help="Characters below which it is called so, too; with --short 0 by these alone."),
        _index("--max-rows-per-prefix", type=click.IntRange(1), metavar="N", show_default="10000",
               help="Rows that one scan of a query reads at most; told when cut."),
        _index("--max-members", type=click.IntRange(1), metavar="N", show_default="1000",
               help="Documents of one fingerprint that are read at most; told when cut."),
        ttl_option,
        _index("--lease", "lease_s", type=click.FloatRange(0, min_open=True), metavar="SECONDS", show_default="30",
               help="How long an unfinished claim holds."),
        _index("--grace", "grace_s", type=click.FloatRange(0), metavar="SECONDS", show_default="3600",
               help="Younger than this, vacuum leaves everything alone; on HBase and Redis 120 at least."),
        store_options,
    )(function)  # fmt: skip


def store_options(function: F) -> F:
    """Add what a table in HBase begins with."""
    return _all(
        _store("--regions", type=click.IntRange(1), metavar="N", show_default="4", help="Regions at the beginning."),
        _store("--compression", type=click.Choice(COMPRESSIONS), show_default="NONE", help="Codec of the files."),
    )(function)


def match_options(function: F) -> F:
    """Add another rule for one query."""
    rule = partial(option, section="Match options", show_default="the index's")
    return _all(
        rule("--match", type=click.Choice(["distance", "verified"]), help="What is a near-duplicate."),
        rule("--distance", type=click.IntRange(0, 64), metavar="BITS",
             help="Most bits that differ; above the index's, answers are not complete."),
        rule("--similarity", type=click.FloatRange(0, 1), metavar="J", help="Least similarity for verified."),
        rule("--limit", type=click.IntRange(1), metavar="N", show_default="all", help="Most matches an answer."),
    )(function)  # fmt: skip


PROFILE_OPTIONS = frozenset({
    "analyzer", "top", "shingle", "binary", "segmenter", "hash_", "seed", "scheme", "distance", "match", "similarity",
    "fingerprints", "no_sketch", "short", "short_characters", "max_rows_per_prefix", "max_members", "ttl_days",
    "lease_s", "grace_s",
})  # fmt: skip


def store_fields(options: dict[str, Any]) -> dict[str, Any]:
    """Take what is for the store, not for the profile, out of the options of a command that makes an index."""
    return {name: options[name] for name in ("regions", "compression") if options[name] is not None}


def profile_fields(options: dict[str, Any]) -> dict[str, Any]:
    """Turn options, as click hands them over, into fields of a profile; options of other kinds are left out."""
    given = {name: value for name, value in options.items() if name in PROFILE_OPTIONS and value is not None}
    if given.pop("no_sketch", False):
        given["sketch"] = False
    if "hash_" in given:
        given["hash"] = given.pop("hash_")
    distance = given.get("distance")
    default = Scheme.parse("5x2")
    if distance is not None and distance > default.distance and "scheme" not in given:
        raise InvalidProfile(
            f"scheme 5x2 is complete up to distance 3, not {distance}: add --scheme {distance + 2}x2 or another one"
        )
    return given
