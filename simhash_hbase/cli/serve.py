"""``simhash-hbase serve``."""

import os
from typing import TYPE_CHECKING, Any

import click

from simhash_hbase.cli.options import remember_debug
from simhash_hbase.config import open_index
from simhash_hbase.errors import InvalidArgument

if TYPE_CHECKING:
    from simhash_hbase.service import Limits

MEGABYTE = 1 << 20
FAILED = 1
# Below the time of a request, so that a store that is gone is an answer, not a time-out.
STORE_PATIENCE = 1 / 3


@click.command(
    "serve",
    epilog="Example: simhash-hbase serve file:news.index --keys keys.txt --port 8080",
)
@click.argument("url")
@click.option("--host", default="127.0.0.1", show_default=True)
@click.option(
    "--port", type=click.IntRange(0, 65535), default=8080, show_default=True, help="0: a free one; the log tells."
)
@click.option("--keys", type=click.Path(dir_okay=False), help="File of keys; read again when it changes.")
@click.option("--no-auth", is_flag=True, help="Ask for no key; on loopback addresses only.")
@click.option(
    "--workers",
    type=click.IntRange(1),
    help="Processes that fingerprint the documents of streams; default: as many as this process may use.",
)
@click.option("--max-requests", type=click.IntRange(1), default=64, show_default=True, help="At a time.")
@click.option(
    "--max-body",
    type=click.FloatRange(0, min_open=True),
    default=4,
    show_default=True,
    metavar="MB",
    help="A JSON body, or a line of a stream.",
)
@click.option("--max-batch", type=click.IntRange(1), default=2000, show_default=True, help="Documents a commit.")
@click.option(
    "--timeout",
    type=click.FloatRange(0, min_open=True),
    default=30,
    show_default=True,
    metavar="SECONDS",
    help="A request that is no stream.",
)
@click.option(
    "--header-timeout",
    type=click.FloatRange(0, min_open=True),
    default=10,
    show_default=True,
    metavar="SECONDS",
    help="The header of a request.",
)
@click.option(
    "--idle-timeout",
    type=click.FloatRange(0, min_open=True),
    default=30,
    show_default=True,
    metavar="SECONDS",
    help="A stream without a line.",
)
@click.option(
    "--stream-timeout",
    type=click.FloatRange(0, min_open=True),
    default=3600,
    show_default=True,
    metavar="SECONDS",
    help="A stream in all.",
)
@click.option(
    "--grace",
    type=click.FloatRange(0),
    default=25,
    show_default=True,
    metavar="SECONDS",
    help="For requests to finish, when the service is stopped.",
)
@click.option("--debug", is_flag=True, callback=remember_debug, help="A traceback where an error is reported.")
def command(url: str, **options: Any) -> None:  # noqa: ANN401
    """Serve an index over HTTP: claim, add, query, get and remove, single and as streams of JSON lines.

    Ends on SIGTERM and Ctrl-C, when what was accepted is finished; with exit code 1 where a store did not answer for so
    long that something had to be given up. The description of all routes is at /openapi.json.
    """
    if (options["keys"] is None) != options["no_auth"]:
        raise InvalidArgument("say who may use the service: --keys FILE, or --no-auth for everybody on this machine")
    # Not at the top: a settings file makes all commands be imported, for their options.
    from simhash_hbase.service import Keyring, create_app, listen, serve, set_up_logs

    keys = Keyring(options["keys"]) if options["keys"] is not None else None
    set_up_logs()
    with (
        listen(options["host"], options["port"], has_keys=keys is not None) as listener,
        open_index(url, patience_s=options["timeout"] * STORE_PATIENCE) as index,
    ):
        workers = options["workers"] or len(os.sched_getaffinity(0))
        app = create_app(index, keys=keys, limits=_limits(options), workers=workers)
        if not serve(app, listener, grace_s=options["grace"]):
            # Threads still wait for a store; a store keeps what it acknowledged however a process ends.
            os._exit(FAILED)


def _limits(options: dict[str, Any]) -> "Limits":
    from simhash_hbase.service import Limits

    return Limits(
        requests=options["max_requests"],
        body_bytes=round(options["max_body"] * MEGABYTE),
        batch=options["max_batch"],
        request_s=options["timeout"],
        idle_s=options["idle_timeout"],
        stream_s=options["stream_timeout"],
        header_s=options["header_timeout"],
    )
