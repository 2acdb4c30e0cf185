"""Which types of columns hold texts and ids."""

import pyarrow as pa
from pyarrow import types

from simhash_hbase.errors import InvalidArgument

# Bytes are read as UTF-8: some writers mark no column as a string. A column without any value has the type null.
_TEXTS = (
    types.is_string,
    types.is_large_string,
    types.is_string_view,
    types.is_binary,
    types.is_large_binary,
    types.is_binary_view,
    types.is_null,
)


def check_type(name: str, kind: pa.DataType, *, integers: bool) -> None:
    """Raise `InvalidArgument` where a column holds no strings, nor integers where these are ids."""
    held = _values(kind)
    if any(is_it(held) for is_it in _TEXTS) or (integers and types.is_integer(held)):
        return
    wanted = "strings or integers" if integers else "strings"
    floats = "; pandas makes floats of integers with gaps: convert them by astype('Int64')"
    advice = floats if integers and types.is_floating(held) else ""
    raise InvalidArgument(f"the column {name!r} is of type {kind}: wanted {wanted}{advice}")


def _values(kind: pa.DataType) -> pa.DataType:
    """Return the type of the values behind an encoding or an extension."""
    if types.is_dictionary(kind) or types.is_run_end_encoded(kind):
        return _values(kind.value_type)
    return _values(kind.storage_type) if isinstance(kind, pa.BaseExtensionType) else kind
