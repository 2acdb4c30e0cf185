"""UTF-16 and UTF-32 as UTF-8, so that lines are split in one way only."""

import codecs
from collections.abc import Iterable, Iterator

from simhash_hbase.errors import InvalidInput

# Lone surrogates pass in both directions: they are refused with their line, not with the file,
# and the line's own bytes come back exactly.
_ERRORS = "surrogatepass"


def to_utf8(blocks: Iterable[bytes], codec: str) -> Iterator[bytes]:
    """Recode blocks that may end inside a character."""
    decoder = codecs.getincrementaldecoder(codec)(_ERRORS)
    for block in blocks:
        if text := _decoded(decoder, block, codec):
            yield text
    if decoder.getstate()[0]:
        raise InvalidInput(f"the file ends inside a character of {codec}")


def _decoded(decoder: codecs.IncrementalDecoder, block: bytes, codec: str) -> bytes:
    try:
        return decoder.decode(block).encode("utf-8", _ERRORS)
    except UnicodeDecodeError as error:
        raise InvalidInput(f"the bytes stop being {codec}") from error


def from_utf8(piece: bytes, codec: str) -> bytes:
    """Return what `to_utf8` made ``piece`` of."""
    decoder = codecs.getincrementaldecoder("utf-8")(_ERRORS)
    return decoder.decode(piece).encode(codec, _ERRORS)
