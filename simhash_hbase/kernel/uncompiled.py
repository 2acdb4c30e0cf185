"""What the kernel's modules use of Cython, for a run without it: types that convert, decorators that do nothing.

The build hook gives the compiler ``import cython`` in place of the import of this module. Annotations are not
evaluated here; a type is called only by `cast` and `declare`.
"""

import builtins
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

T = TypeVar("T")

compiled = False


class CType:
    """A number of C, or an array of them: `bits` of an integer, 0 for a double."""

    def __init__(self, bits: builtins.int, signed: bool = True, shape: tuple[builtins.int, ...] = ()) -> None:
        self.bits, self.signed, self.shape = bits, signed, shape

    def __getitem__(self, size: builtins.int) -> "CType":
        return CType(self.bits, self.signed, (*self.shape, size))

    def number(self, value: float) -> Any:
        """Return the number as C holds it: an integer wraps."""
        if not self.bits:
            return float(value)
        wrapped = builtins.int(value) & ((1 << self.bits) - 1)
        return wrapped - (1 << self.bits) if self.signed and wrapped >> (self.bits - 1) else wrapped

    def zeros(self) -> Any:
        """Return what a variable of this type is declared with; compiled, its content is undefined."""
        if not self.shape:
            return self.number(0)
        return [CType(self.bits, self.signed, self.shape[1:]).zeros() for _ in range(self.shape[0])]


# For mypy any type will do: it knows no typed memoryviews.
if TYPE_CHECKING:
    schar = Any
    short = Any
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
    schar, short, int, longlong, Py_ssize_t = CType(8), CType(16), CType(32), CType(64), CType(64)
    uchar, ushort, uint, ulonglong = CType(8, False), CType(16, False), CType(32, False), CType(64, False)
    double, bint, void = CType(0), CType(32), CType(0)


def cast(to: Any, value: Any) -> Any:
    """Return the value as the type holds it; an object stays as it is."""
    return to.number(value) if isinstance(to, CType) else value


def declare(to: Any, value: Any = None) -> Any:
    """Return what the variable holds: the value, else zeros."""
    return to.zeros() if value is None and isinstance(to, CType) else cast(to, value)


class _Nothing:
    """A decorator and a context manager without effect."""

    def __call__(self, thing: T) -> T:
        return thing

    def __enter__(self) -> None:
        pass

    def __exit__(self, *_: object) -> None:
        pass


cfunc = ccall = cclass = inline = final = nogil = _Nothing()


def exceptval(*_: object, **__: object) -> Callable[[T], T]:
    """Return a decorator without effect."""
    return cfunc
