"""Options that several commands share."""

from collections.abc import Callable
from typing import Any, TypeVar

import click

from simhash_hbase.blocks import Scheme
from simhash_hbase.errors import InvalidProfile
from simhash_hbase.inputs import FORMATS

__all__ = [
    "index_options",
    "input_options",
    "match_options",
    "output_options",
    "profile_fields",
    "profile_options",
    "remember_debug",
    "store_fields",
]

F = TypeVar("F", bound=Callable[..., Any])


def _all(*decorators: Callable[[F], F]) -> Callable[[F], F]:
    def apply(function: F) -> F:
        for decorator in reversed(decorators):
            function = decorator(function)
        return function

    return apply


def remember_debug(ctx: click.Context, _: click.Parameter, value: bool) -> bool:
    """Tell the place where errors are reported, which is outside of every command."""
    if isinstance(ctx.obj, dict):
        ctx.obj["debug"] = value
    return value


def output_options(function: F) -> F:
    """Add ``--format``, ``--quiet``, ``--debug``."""
    return _all(
        click.option("--format", "format_", type=click.Choice(["json", "table"]), default="json", show_default=True,
                     help="JSON lines, or a table for people."),
        click.option("--quiet", is_flag=True, help="No progress, no summary."),
        click.option("--debug", is_flag=True, callback=remember_debug, help="A traceback where an error is reported."),
    )(function)  # fmt: skip


def input_options(function: F) -> F:
    """Add how documents are read, refused and spread over processes."""
    return _all(
        click.option("--input-format", type=click.Choice(FORMATS),
                     help="How FILEs are read; by their names when not given."),
        click.option("--encoding", default="utf-8", show_default=True, help="A codec, or auto to detect."),
        click.option("--id-field", default="id", show_default=True),
        click.option("--text-field", default="text", show_default=True),
        click.option("--simhash-field", help="Field with your own fingerprint, read instead of a text."),
        click.option("--features-field", help="Field with your own [[feature, weight], …], read instead of a text."),
        click.option("--metadata-field", "metadata_fields", multiple=True,
                     help="Field to keep with the document; repeatable, 1 KB in all."),
        click.option("--rejects", type=click.Path(dir_okay=False), help="Keep what was refused in this file."),
        click.option("--workers", type=click.IntRange(1), help="Processes that fingerprint; default: as many as"
                     " this process may use."),
    )(function)  # fmt: skip


def profile_options(function: F) -> F:
    """Add what decides fingerprints."""
    return _all(
        click.option("--analyzer", type=click.Choice(["jieba", "learned", "shingle", "weighted"]),
                     help="Default: learned where a sample is given, else jieba."),
        click.option("--top", type=click.IntRange(1), help="Heaviest features kept; default 200 for jieba, else all."),
        click.option("--shingle", type=click.IntRange(1), help="Characters of a shingle; default 4."),
        click.option("--binary", is_flag=True, default=None, help="Shingles weigh 1, however often they occur."),
        click.option("--segmenter", type=click.Choice(["fast", "jieba"]), help="Default: fast where installed."),
        click.option("--hash", "hash_", type=click.Choice(["murmur3", "times33", "jenkins", "md5", "none"]),
                     help="Hash of a feature; default murmur3."),
        click.option("--seed", type=click.IntRange(0, 2**32 - 1), help="Seed of the hash; default 0."),
    )(function)  # fmt: skip


def index_options(function: F) -> F:
    """Add what is frozen in an index besides."""
    return _all(
        click.option("--scheme", help="BLOCKSxCHOSEN; default 5x2."),
        click.option("--distance", type=click.IntRange(0, 63), help="Distance up to which answers are complete;"
                     " default 3."),
        click.option("--match", type=click.Choice(["distance", "verified"]), help="Default: verified, with sketches."),
        click.option("--similarity", type=click.FloatRange(0, 1), help="Threshold of verified; default 0.77."),
        click.option("--fingerprints", type=int, help="Fingerprints a document; 1."),
        click.option("--no-sketch", is_flag=True, help="Keep no sketches: match by distance only."),
        click.option("--short", type=click.IntRange(0), help="Features below which a text is called short; 30."),
        click.option("--max-rows-per-prefix", type=click.IntRange(1), help="Default 10000."),
        click.option("--max-members", type=click.IntRange(1), help="Default 1000."),
        click.option("--ttl", "ttl_days", type=click.FloatRange(0, min_open=True), metavar="DAYS",
                     help="Documents not seen for so long expire; default never."),
        click.option("--lease", "lease_s", type=click.FloatRange(0, min_open=True), metavar="SECONDS", hidden=True),
        click.option("--grace", "grace_s", type=click.FloatRange(0), metavar="SECONDS",
                     help="What vacuum leaves alone; default 3600."),
        click.option("--regions", type=click.IntRange(1), help="HBase: regions at the beginning; default 4."),
        click.option("--compression", type=click.Choice(["NONE", "SNAPPY", "LZ4", "ZSTD", "GZ"]),
                     help="HBase: codec of the files; default NONE."),
    )(function)  # fmt: skip


def match_options(function: F) -> F:
    """Add another rule for one query."""
    return _all(
        click.option("--match", type=click.Choice(["distance", "verified"]), help="Default: the index's rule."),
        click.option("--distance", type=click.IntRange(0, 64), help="Above the index's, answers are not complete."),
        click.option("--similarity", type=click.FloatRange(0, 1)),
        click.option("--limit", type=click.IntRange(1), help="Matches an answer at most; default all."),
    )(function)  # fmt: skip


PROFILE_OPTIONS = frozenset({
    "analyzer", "top", "shingle", "binary", "segmenter", "hash_", "seed", "scheme", "distance", "match", "similarity",
    "fingerprints", "no_sketch", "short", "max_rows_per_prefix", "max_members", "ttl_days", "lease_s", "grace_s",
})  # fmt: skip


def store_fields(options: dict[str, Any]) -> dict[str, Any]:
    """Take what is for the store, not for the profile, out of the options of a command that makes an index."""
    return {name: options[name] for name in ("regions", "compression") if options[name] is not None}


def profile_fields(options: dict[str, Any]) -> dict[str, Any]:
    """Turn options, as click hands them over, into fields of a profile; options of other kinds are left out.

    Raises
    ------
    InvalidProfile
        When no scheme was named and the default one is not complete up to the distance.
    """
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
