"""The spans that are made within a block, kept in memory by OpenTelemetry's own exporter."""

import json
from contextlib import contextmanager
from functools import cache

import pytest

pytest.importorskip("opentelemetry.sdk", reason="./scripts/install dev")

from opentelemetry import trace
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ALWAYS_ON, Sampler

KEPT = InMemorySpanExporter()


class _WithinBlocks(Sampler):
    """Makes no spans for the other tests of a process, which can have one provider only."""

    is_on = False

    def should_sample(self, *arguments, **options):
        return (ALWAYS_ON if self.is_on else ALWAYS_OFF).should_sample(*arguments, **options)

    def get_description(self):
        return "within blocks"


@cache
def _sampler():
    sampler = _WithinBlocks()
    provider = TracerProvider(sampler=sampler)
    provider.add_span_processor(SimpleSpanProcessor(KEPT))
    trace.set_tracer_provider(provider)
    return sampler


@contextmanager
def recorded():
    """Give a function that returns the spans that have ended, in that order."""
    sampler = _sampler()
    KEPT.clear()
    sampler.is_on = True
    try:
        yield KEPT.get_finished_spans
    finally:
        sampler.is_on = False
        KEPT.clear()


def named(spans, name):
    """Return the one span of a name."""
    [span] = [span for span in spans if span.name == name]
    return span


def is_below(span, parent):
    """Return whether a span is a child of another one."""
    return span.parent is not None and span.parent.span_id == parent.context.span_id


def everything(spans):
    """Return all that spans hold, as one text."""
    return "\n".join(json.dumps(json.loads(span.to_json()), ensure_ascii=False) for span in spans)
