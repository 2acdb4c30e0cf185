"""Protocol buffers, as far as HBase's messages need them: numbers, byte strings, and messages as byte strings.

A message is a row of fields. A field is its number and kind in one varint, then the value: a varint, or a length and
that many bytes, or 4 or 8 bytes (https://protobuf.dev/programming-guides/encoding/).
"""

from typing import Self

NUMBER, LONG, BYTES, SHORT = 0, 1, 2, 5
_FIXED_BYTES = {LONG: 8, SHORT: 4}
_MORE = 0x80
_SMALL = [bytes([value]) for value in range(_MORE)]
# A number has 64 bits, seven in a byte.
_MOST_SHIFT = 63


def varint(value: int) -> bytes:
    """Return a number of at most 64 bits as bytes, seven bits in each, the lowest first.

    Examples
    --------
    >>> varint(300).hex()
    'ac02'
    """
    if value < _MORE:
        # Most numbers, keys and lengths: a table takes a fifth of the time.
        return _SMALL[value]
    out = bytearray()
    while value >= _MORE:
        out.append(value % _MORE | _MORE)
        value //= _MORE
    return bytes([*out, value])


def number_field(number: int, value: int) -> bytes:
    """Return the bytes of field `number` with an integer, or with a Boolean as 0 or 1."""
    return varint(number << 3 | NUMBER) + varint(value)


def bytes_field(number: int, content: bytes) -> bytes:
    """Return the bytes of field `number` with a byte string, or with a message as bytes."""
    return varint(number << 3 | BYTES) + varint(len(content)) + content


def read_varint(data: bytes, at: int) -> tuple[int, int]:
    """Return the integer that begins at position `at`, and the position after it.

    Raise `ValueError` if it has no end.
    """
    value = shift = 0
    while at < len(data) and shift <= _MOST_SHIFT:
        byte = data[at]
        at += 1
        value |= (byte & ~_MORE) << shift
        if byte < _MORE:
            return value, at
        shift += 7
    raise ValueError("a number of a message has no end")


class Message:
    """A decoded message, asked for its fields by number; an absent field has the value 0, no bytes or no items.

    Examples
    --------
    >>> message = Message(number_field(1, 300) + bytes_field(2, b"row"))
    >>> message.number(1), message.content(2), message.content(3), message.has(3)
    (300, b'row', b'', False)
    """

    __slots__ = ("_fields",)

    def __init__(self, data: bytes) -> None:
        fields: dict[int, list[int | bytes]] = {}
        at, end = 0, len(data)
        while at < end:
            key, at = read_varint(data, at) if data[at] >= _MORE else (data[at], at + 1)
            kind = key & 7
            if kind in _FIXED_BYTES:
                number = _FIXED_BYTES[kind]
            elif kind in (NUMBER, BYTES) and at < end:
                # Most keys, numbers and lengths are below 128 and need no call.
                number, at = read_varint(data, at) if data[at] >= _MORE else (data[at], at + 1)
            else:
                raise ValueError("a field of a message is cut off or of no known kind")
            value: int | bytes = number
            if kind != NUMBER:
                value = data[at : at + number]
                at += number
            fields.setdefault(key >> 3, []).append(value)
        if at > end:
            raise ValueError("a field of a message is cut off")
        self._fields = fields

    def has(self, number: int) -> bool:
        """Return whether the message has field `number`."""
        return number in self._fields

    def number(self, number: int, default: int = 0) -> int:
        """Return the integer in field `number`, the last one if it is repeated; `default` where there is none."""
        value = self._fields.get(number, (default,))[-1]
        if isinstance(value, int):
            return value
        raise ValueError(f"field {number} of a message is no number")

    def numbers(self, number: int) -> list[int]:
        """Return all integers in the repeated field `number`.

        A packed field, which has them in one byte string, is refused.
        """
        values = self._fields.get(number, [])
        if not all(isinstance(value, int) for value in values):
            raise ValueError(f"field {number} of a message is no number")
        return values  # type: ignore[return-value]

    def contents(self, number: int) -> list[bytes]:
        """Return all byte strings in the repeated field `number`."""
        values = self._fields.get(number, [])
        if not all(isinstance(value, bytes) for value in values):
            raise ValueError(f"field {number} of a message has no bytes")
        return values  # type: ignore[return-value]

    def content(self, number: int) -> bytes:
        """Return the byte string in field `number`, the last one if it is repeated; empty where there is none."""
        value = self._fields.get(number, (b"",))[-1]
        if isinstance(value, bytes):
            return value
        raise ValueError(f"field {number} of a message has no bytes")

    def text(self, number: int) -> str:
        """Return the byte string in field `number` as text, decoded as UTF-8."""
        return self.content(number).decode("utf-8", "replace")

    def message(self, number: int) -> Self:
        """Return the message inside field `number`; one without fields where there is none."""
        return type(self)(self.content(number))

    def messages(self, number: int) -> list[Self]:
        """Return all messages inside the repeated field `number`."""
        return [type(self)(content) for content in self.contents(number)]
