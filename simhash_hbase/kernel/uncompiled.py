"""Stand-ins for Cython's types and decorators, which do nothing, for a kernel that runs without being compiled.

The build hook gives the compiler ``import cython`` in place of the import of this module. Annotations are not evaluated
here, and integers do not wrap: the modules mask the bits that C would cut off.
"""

import builtins
from contextlib import nullcontext
from typing import Any, TypeVar

T = TypeVar("T")

# For mypy any type will do: it knows no typed memoryviews.
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


def declare(_to: Any, value: T) -> T:
    """Return `value` unchanged; where the module is compiled, Cython makes it a constant with a type of C."""
    return value


def cast(_to: Any, value: float) -> Any:
    """Return a number as an integer; where the module is compiled, Cython converts it to the type of C."""
    return builtins.int(value)


class _Nothing(nullcontext[None]):
    """A decorator and a context manager without effect, in the place of Cython's, such as ``nogil``."""

    def __call__(self, thing: T) -> T:
        return thing


ccall = cfunc = cclass = final = nogil = _Nothing()
