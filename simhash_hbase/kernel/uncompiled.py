"""What the kernel's modules use of Cython, for a run without it: types that convert, decorators that do nothing.

The build hook gives the compiler ``import cython`` in place of the import of this module. Annotations are not
evaluated here; a type is called only by `cast` and `declare`.
"""

import builtins
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")


class CType:
    """A number of C: `bits` of an integer, 0 for a double."""

    def __init__(self, bits: builtins.int, signed: bool = True) -> None:
        self.bits, self.signed = bits, signed

    def number(self, value: float) -> Any:
        """Return the number as C holds it: an integer wraps."""
        if not self.bits:
            return float(value)
        wrapped = builtins.int(value) & ((1 << self.bits) - 1)
        return wrapped - (1 << self.bits) if self.signed and wrapped >> (self.bits - 1) else wrapped


# For mypy any type will do: it knows no typed memoryviews.
if TYPE_CHECKING:
    int = Any
    longlong = Any
    Py_ssize_t = Any
    uchar = Any
    ushort = Any
    uint = Any
    ulonglong = Any
    double = Any
    bint = Any
    void = Any
else:
    int, longlong, Py_ssize_t = CType(32), CType(64), CType(64)
    uchar, ushort, uint, ulonglong = CType(8, False), CType(16, False), CType(32, False), CType(64, False)
    double, bint, void = CType(0), CType(32), CType(0)


def cast(to: Any, value: float) -> Any:
    """Return the value as the type holds it."""
    return to.number(value)


declare = cast


class _Nothing:
    """A decorator and a context manager without effect."""

    def __call__(self, thing: T) -> T:
        return thing

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


cfunc = cclass = final = nogil = _Nothing()
