"""Answers in Thrift's binary protocol, received whole and checked before thriftpy2 reads them.

thriftpy2's compiled reader believes what an answer announces. It counts through a list whose items have no known type,
and so no bytes: 189 bytes that were damaged kept a process busy for 20 s, which nothing can interrupt. It also makes
room for strings of 2 GB. The check takes some 2 µs a row. The compact protocol has its bounds in `wire`.
"""

from struct import Struct, error

from thriftpy2.thrift import TType

from simhash_hbase.stores.hbase.sockets import MOST_BYTES, UnreadableAnswer, too_large
from simhash_hbase.stores.hbase.thrift.channel import BUFFER_BYTES, MESSAGE, Channel, HttpChannel

_LENGTH = Struct(">i")
_LIST = Struct(">Bi")
_MAP = Struct(">BBi")
_LENGTH_BYTES = 4
_FIELD_BYTES = 3  # Its type and its number.
_STRING, _STRUCT, _LIST_KIND = TType.STRING, TType.STRUCT, TType.LIST
_WIDTHS: dict[int, int] = {TType.BOOL: 1, TType.BYTE: 1, TType.I16: 2, TType.I32: 4, TType.I64: 8, TType.DOUBLE: 8}
_KINDS = {*_WIDTHS, _STRING, _STRUCT, TType.MAP, TType.SET, TType.LIST}


class CheckedAnswers:
    """A channel in the form that thriftpy2's transports read from and write to, which passes on checked answers.

    What does not begin as a message of the protocol is passed on as it came: thriftpy2 names it.
    """

    def __init__(self, channel: Channel | HttpChannel, *, framed: bool) -> None:
        self._channel = channel
        self._start = _LENGTH_BYTES if framed else 0
        self._received = bytearray()
        self._checked = memoryview(b"")

    def read(self, size: int) -> bytes:
        """Read at least one byte of the answer, once the whole of it has come."""
        if not self._checked:
            end = self._receive()
            self._checked = memoryview(bytes(self._received[:end]))
            del self._received[:end]
        part, self._checked = self._checked[:size], self._checked[size:]
        return bytes(part)

    def write(self, data: bytes) -> None:
        """Keep bytes until the channel sends them."""
        self._channel.write(data)

    def flush(self) -> None:
        """End a message."""
        self._channel.flush()

    def is_open(self) -> bool:
        """Return true, as the channel does."""
        return self._channel.is_open()

    def _receive(self) -> int:
        """Receive bytes until an answer is whole; return where it ends."""
        received, start, message = self._received, self._start, WholeAnswer(self._start)
        while True:
            frame_end = start
            if start and len(received) >= start:
                [length] = _LENGTH.unpack_from(received)
                frame_end += _checked_size(length)
            if not MESSAGE.startswith(bytes(received[start : start + len(MESSAGE)])):
                return len(received)
            end = message.end(received)
            if not start and end is not None:
                return end
            if start < frame_end <= len(received):
                if end is None or end > frame_end:
                    raise UnreadableAnswer("a frame came that ends within its message")
                return frame_end
            received += self._channel.read(BUFFER_BYTES)


class WholeAnswer:
    """Finds the end of an answer in bytes that come one after the other."""

    def __init__(self, start: int) -> None:
        self._at = start
        self._is_begun = False
        # The list that is open in the result, whose items are gone through one by one: the type, how many are left.
        self._kind = 0
        self._items = 0

    def end(self, received: bytearray) -> int | None:
        """Return where the answer ends; None if not all of it is there. To received bytes others may be appended alone.

        Raises
        ------
        UnreadableAnswer
            If it announces a size above the limit, or a type that Thrift does not have.
        """
        try:
            if not self._is_begun:
                [size] = _LENGTH.unpack_from(received, self._at + _LENGTH_BYTES)
                self._at += 3 * _LENGTH_BYTES + _checked_size(size)
                self._is_begun = True
            while True:
                while self._items:
                    end = _value_end(received, self._at, self._kind)
                    if end > len(received):
                        return None
                    self._at = end
                    self._items -= 1
                kind, after = received[self._at], self._at + _FIELD_BYTES
                if not kind:
                    return self._at + 1
                if kind == _LIST_KIND and received[after] not in _WIDTHS:
                    self._kind, self._items = _LIST.unpack_from(received, after)
                    _check_items(self._items, self._kind)
                    self._at = after + _LIST.size
                else:
                    end = _value_end(received, after, kind)
                    if end > len(received):
                        return None
                    self._at = end
        except (IndexError, error):
            return None


def _value_end(received: bytearray, at: int, kind: int) -> int:
    """Return where a value ends, which may be beyond the bytes; IndexError or struct.error say the same."""
    if kind == _STRUCT:
        return _struct_end(received, at)
    if kind == _STRING:
        [size] = _LENGTH.unpack_from(received, at)
        return at + _LENGTH_BYTES + _checked_size(size)
    if kind in _WIDTHS:
        return at + _WIDTHS[kind]
    if kind == TType.MAP:
        *kinds, size = _MAP.unpack_from(received, at)
        at += _MAP.size
    elif kind in (_LIST_KIND, TType.SET):
        *kinds, size = _LIST.unpack_from(received, at)
        at += _LIST.size
    else:
        raise UnreadableAnswer(f"a value of type {kind} came, which Thrift does not have")
    _check_items(size, *kinds)
    if all(each in _WIDTHS for each in kinds):
        return int(at + size * sum(_WIDTHS[each] for each in kinds))
    for _ in range(size):
        for each in kinds:
            at = _value_end(received, at, each)
    return at


def _struct_end(received: bytearray, at: int) -> int:
    # All but the rare fields without another call, which would double the time of an answer.
    while kind := received[at]:
        at += _FIELD_BYTES
        if kind == _STRING:
            [size] = _LENGTH.unpack_from(received, at)
            at += _LENGTH_BYTES + (size if 0 <= size <= MOST_BYTES else _checked_size(size))
        elif kind in _WIDTHS:
            at += _WIDTHS[kind]
        elif kind == _LIST_KIND and received[at] == _STRUCT:
            [size] = _LENGTH.unpack_from(received, at + 1)
            at += _LIST.size
            for _ in range(_checked_size(size)):
                at = _struct_end(received, at)
        else:
            at = _value_end(received, at, kind)
    return at + 1


def _check_items(size: int, *kinds: int) -> None:
    unknown = [kind for kind in kinds if kind not in _KINDS]
    if size and unknown:
        raise UnreadableAnswer(f"{size:,} items of type {unknown[0]} were announced, which Thrift does not have")
    _checked_size(size)


def _checked_size(size: int) -> int:
    if size < 0:
        raise UnreadableAnswer(f"a part of an answer with {size:,} bytes was announced")
    if size > MOST_BYTES:
        raise too_large(size)
    return size
