"""Hooks of schemathesis: how this service's lines of JSON are made, and what the lines of an answer are."""

import json

import schemathesis
from hypothesis import strategies as st

NDJSON = "application/x-ndjson"

_ids = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=20)
_values = st.none() | st.integers() | st.text(max_size=20) | st.lists(st.tuples(_ids, st.floats(-10, 10)), max_size=3)
_objects = st.fixed_dictionaries(
    {}, optional={"id": _ids | _values, "text": _values, "simhash": st.just("0f") | _values, "features": _values}
)
_broken = st.binary(max_size=30).map(lambda raw: raw.replace(b"\n", b""))
_lines = st.one_of(
    _ids.map(lambda name: json.dumps({"id": name}).encode()),
    st.builds(lambda name, text: json.dumps({"id": name, "text": text}).encode(), _ids, _ids),
    _objects.map(lambda value: json.dumps(value, default=str).encode()),
    _broken,
)
schemathesis.openapi.media_type(NDJSON, st.lists(_lines, max_size=8).map(b"\n".join))


@schemathesis.hook
def before_load_schema(ctx, raw_schema):
    """Leave out the examples of lines, which a test of their own sends: beside a strategy they are refused."""
    for path in raw_schema["paths"].values():
        for route in path.values():
            route.get("requestBody", {}).get("content", {}).get(NDJSON, {}).pop("example", None)


@schemathesis.check
def every_line_is_an_object_and_the_last_one_the_summary(ctx, response, case):
    media = response.headers.get("content-type", [""])[0]
    if not media.startswith(NDJSON):
        return
    *answers, end = [json.loads(line) for line in response.content.split(b"\n") if line]
    assert all(isinstance(answer, dict) and "summary" not in answer for answer in answers), answers
    assert end["summary"]["complete"] is True, end
    assert sum(end["summary"]["outcomes"].values()) == len(answers), end
