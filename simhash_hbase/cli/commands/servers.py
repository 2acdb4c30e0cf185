"""Commands that offer an index to programs: ``serve`` over HTTP, ``key`` for its clients, and ``mcp`` for agents."""

import os
import signal
from contextlib import suppress
from functools import partial

import click

from simhash_hbase import corpus, service
from simhash_hbase.cli import exits, options
from simhash_hbase.cli.help import command, option
from simhash_hbase.errors import InvalidArgument
from simhash_hbase.service.limits import SCOPES, Limits

MEGABYTE = 1 << 20
# The share of a request's time that a store may take, so that a store that is down is an error, not a time-out.
STORE_PATIENCE = 1 / 3
AMOUNT = click.FloatRange(0, min_open=True)

_limit = partial(option, section="Limits", show_default=True)


@command("serve", examples=["simhash-hbase serve file:news.index --keys keys.txt --port 8080"])
@options.url
@options.collected(
    "choice",
    option("--host", default="127.0.0.1", show_default=True, help="Address to listen at."),
    option("--port", type=click.IntRange(0, 65535), metavar="N", default=8080, show_default=True,
           help="Port to listen at; 0 picks a free one, which the log shows."),
    option("--keys", type=click.Path(dir_okay=False), help="File of keys; read again when it changes."),
    option("--no-auth", is_flag=True, help="Require no key; on loopback addresses only."),
    option("--processes", type=click.IntRange(1), metavar="N", default=1, show_default=True,
           help="Processes that serve; they share the port and the limits."),
    option("--workers", type=click.IntRange(1), metavar="N", show_default="all processors, divided by --processes",
           help="Processes of each serving one that fingerprint the documents of streams."),
    _limit("--max-requests", type=click.IntRange(1), metavar="N", default=Limits.requests,
           help="Most requests at a time."),
    _limit("--max-body", type=AMOUNT, metavar="MB", default=Limits.body_bytes // MEGABYTE,
           help="Longest JSON body, and longest line of a stream."),
    _limit("--max-batch", type=click.IntRange(1), metavar="N", default=Limits.batch,
           help="Most documents in a commit."),
    _limit("--timeout", type=AMOUNT, metavar="SECONDS", default=Limits.request_s,
           help="Longest time for a request that is no stream."),
    _limit("--work-timeout", type=AMOUNT, metavar="SECONDS", default=Limits.work_s,
           help="Most processor time for one large text or comparison."),
    _limit("--idle-timeout", type=AMOUNT, metavar="SECONDS", default=Limits.idle_s,
           help="Longest wait for the next line of a stream."),
    _limit("--stream-timeout", type=AMOUNT, metavar="SECONDS", default=Limits.stream_s,
           help="Longest time for a stream."),
    _limit("--grace", type=click.FloatRange(0), metavar="SECONDS", default=25,
           help="Longest wait for open requests when the service is stopped."),
    _limit("--drain", type=click.FloatRange(0), metavar="SECONDS", default=0,
           help="Keep answering after SIGTERM, while /readyz says 503."),
)  # fmt: skip
@options.debug
def serve(url: str, choice: options.Choice) -> None:
    """Serve an index over HTTP: claim, add, query, get and remove, single and as streams of JSON lines.

    Stops on SIGTERM, SIGHUP or Ctrl-C after finishing accepted requests; a second signal ends the time of --drain.
    Exit code 1 means that calls to an unresponsive store were abandoned. The description of all routes is at
    /openapi.json.
    """
    if (choice.keys is None) != choice.no_auth:
        raise InvalidArgument("name who may use the service: --keys FILE, or --no-auth for everybody on this machine")
    if choice.processes > 1 and url.startswith("memory:"):
        raise InvalidArgument("an index in memory is of one process: serve it without --processes")
    from simhash_hbase.api import open_local_index

    if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
        # The server knows SIGTERM only; a terminal that is closed ends the service in the same way.
        signal.signal(signal.SIGHUP, lambda *_: signal.raise_signal(signal.SIGTERM))
    if choice.keys is not None:
        service.Keyring(choice.keys)
    service.set_up_logs()
    settings = service.Settings(
        open_index=partial(open_local_index, url, patience_s=choice.timeout * STORE_PATIENCE),
        keys=choice.keys,
        limits=Limits(
            requests=choice.max_requests,
            body_bytes=round(choice.max_body * MEGABYTE),
            batch=choice.max_batch,
            request_s=choice.timeout,
            work_s=choice.work_timeout,
            idle_s=choice.idle_timeout,
            stream_s=choice.stream_timeout,
        ),
        processes=choice.processes,
        workers=choice.workers or max(1, corpus.options.processors() // choice.processes),
        grace_s=choice.grace,
        drain_s=choice.drain,
    )
    with service.listen(choice.host, choice.port, has_keys=choice.keys is not None) as listener:
        if not service.run_service(settings, listener):
            # Threads still wait for a store; a store keeps acknowledged writes however a process ends.
            os._exit(exits.FAILED)


@command("key", examples=["simhash-hbase key keys.txt --name crawler-1 --scope read --scope write"])
@click.argument("file", type=click.Path(dir_okay=False), shell_complete=options.complete_file)
@option("--name", metavar="NAME", required=True, help="Who will use it; logs show the name, never the key.")
@option("--scope", "scopes", multiple=True, required=True, type=click.Choice(SCOPES),
        help="What the key is for: read is queries and look-ups, write is changes and claims. Repeatable.")  # fmt: skip
@option("--collection", "collections", metavar="NAME", multiple=True, show_default="all",
        help="Bind the key to the documents of this collection. Repeatable.")  # fmt: skip
def key(file: str, name: str, scopes: tuple[str, ...], collections: tuple[str, ...]) -> None:
    """Make a key for the service and print it, this once: FILE takes only its SHA-256.

    To revoke a key, delete its line from FILE; a running service notices that by itself.
    """
    click.echo(service.make_key(file, name, scopes, collections))


@command("mcp", examples=["simhash-hbase mcp file:news.index --read-only"])
@options.url
@option("--read-only", is_flag=True, help="Offer no tool that changes the index.")
@options.collection
@options.debug
def mcp(url: str, read_only: bool, collection: str | None) -> None:
    """Offer an index to an agent as tools, by the Model Context Protocol on standard input and output.

    The tools are have_i_seen, copies, find, passages, items, remember and forget. The command ends when its standard
    input ends.
    """
    from importlib.util import find_spec

    with options.open_index(url, collection=collection, readonly=read_only) as index:
        # To import its library takes most of a second; standard output belongs to the protocol.
        if find_spec("mcp") is not None:
            # An agent may have closed standard error, or keep it on a full disk.
            with suppress(OSError):
                click.echo("mcp: starting …", err=True)
        from simhash_hbase.cli.agents import make_server

        make_server(index, readonly=read_only).run("stdio")
