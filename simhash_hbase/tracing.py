"""Spans of OpenTelemetry, in programs that trace: none of it is imported here, and in other programs nothing is made.

A program that traces has imported OpenTelemetry's API, itself or by ``opentelemetry-instrument``. Names and attributes
are those of the semantic conventions for HTTP servers and databases. No attribute holds a document or a part of one,
nor the text of an error, which may quote one.
"""

import sys
from collections.abc import Callable, Generator, Iterator, Mapping, MutableMapping, Sequence, Sized
from contextlib import AbstractContextManager
from contextvars import Context, copy_context
from functools import wraps
from inspect import isgeneratorfunction
from typing import Any, ParamSpec, TypeAlias, TypeVar, cast

P = ParamSpec("P")
T = TypeVar("T")
Attributes: TypeAlias = Mapping[str, str | int | Sequence[str]]
TraceSpan: TypeAlias = Any
"""A span of OpenTelemetry, which type checkers need not know."""

_API = "opentelemetry.trace"
_SCOPE = "simhash_hbase"


def is_on() -> bool:
    """Return whether this program may trace: it has imported OpenTelemetry's API."""
    return _API in sys.modules


def begun(
    name: str, attributes: Attributes, *, kind: str = "INTERNAL", headers: Mapping[str, str] | None = None
) -> TraceSpan:
    """Begin and return a span named `name`, below the active one, or below the one that a request's headers name.

    The caller must end it by `ended`.
    """
    from opentelemetry import propagate, trace  # noqa: PLC0415

    parent = None if headers is None else propagate.extract(headers)
    return trace.get_tracer(_SCOPE).start_span(name, parent, trace.SpanKind[kind], attributes)


def ended(span: TraceSpan, error: BaseException | str | None = None) -> None:
    """End a span; `error` is the error that ended it, whose class is noted, or a word for it."""
    from opentelemetry.trace import StatusCode  # noqa: PLC0415

    if error is not None:
        kind = type(error)
        span.set_attribute("error.type", error if isinstance(error, str) else f"{kind.__module__}.{kind.__qualname__}")
        span.set_status(StatusCode.ERROR)
    span.end()


def active(span: TraceSpan) -> AbstractContextManager[TraceSpan]:
    """Return a block in which a span is the active one, under which others begin; the span goes on after the block."""
    from opentelemetry import trace  # noqa: PLC0415

    return cast(
        "AbstractContextManager[TraceSpan]", trace.use_span(span, record_exception=False, set_status_on_exception=False)
    )


def inject(headers: MutableMapping[str, str], span: TraceSpan = None) -> None:
    """Add headers that name a span, by default the active one, to a request's, so that a server continues its trace.

    In programs that do not trace nothing is added.
    """
    if not is_on():
        return
    from opentelemetry import propagate, trace  # noqa: PLC0415

    propagate.inject(headers, None if span is None else trace.set_span_in_context(span))


def traced(operation: str) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Return a decorator that records each call of a method as a span named after `operation`.

    The span of a generator is the active one while the generator runs, not while its caller does.
    """
    name = f"index {operation}"

    def decorate(method: Callable[P, T]) -> Callable[P, T]:
        @wraps(method)
        def act(*args: P.args, **kwargs: P.kwargs) -> T:
            if _API not in sys.modules:
                return method(*args, **kwargs)
            span = begun(name, _size(args))
            try:
                with active(span):
                    result = method(*args, **kwargs)
            except BaseException as error:
                ended(span, error)
                raise
            ended(span)
            return result

        @wraps(method)
        def generate(*args: P.args, **kwargs: P.kwargs) -> T:
            made = method(*args, **kwargs)
            if _API not in sys.modules:
                return made
            return cast("T", _stepped(name, _size(args), cast("Generator[object]", made)))

        return generate if isgeneratorfunction(method) else act

    return decorate


def _size(args: Sequence[object]) -> Attributes:
    """Return the span attribute for the number of documents or ids in a method's first argument.

    The mapping is empty if the argument has no length.
    """
    of = args[1] if len(args) > 1 else None
    return {"simhash_hbase.documents": len(of)} if isinstance(of, Sized) and not isinstance(of, str | bytes) else {}


def _stepped(name: str, attributes: Attributes, steps: Generator[object]) -> Iterator[object]:
    """Yield what a generator yields, all within one span.

    Between the generator's steps the span of the caller is the active one.
    """
    span = begun(name, attributes)
    try:
        while True:
            with active(span):
                try:
                    step = next(steps)
                except StopIteration:
                    break
            yield step
    except GeneratorExit:
        # A caller that has enough is no error.
        steps.close()
        ended(span)
        raise
    except BaseException as error:
        ended(span, error)
        raise
    ended(span)


def here() -> Context | None:
    """Return the context of this task or thread, to give to `within` for work that others do for it.

    None in programs that do not trace.
    """
    return copy_context() if is_on() else None


def within(contexts: Sequence[Context | None], call: Callable[[], T]) -> T:
    """Return the result of `call`, made in the first of some contexts, those of the requests that the call works for.

    Its spans belong to the trace of the first one; the spans of the others get a link to it.
    """
    if not contexts or contexts[0] is None:
        return call()
    from opentelemetry import trace  # noqa: PLC0415

    first, *others = (context.run(trace.get_current_span) for context in contexts if context is not None)
    for other in others:
        if other.get_span_context() != first.get_span_context():
            other.add_link(first.get_span_context())
    return contexts[0].run(call)
