"""A near-duplicate index for documents, Chinese first and any language.

Examples
--------
>>> from simhash_hbase import create_index
>>> index = create_index("memory:")
>>> for name, text in [("a", "人生苦短，我们都用这一门语言写程序"), ("b", "今天天气很好，大家去公园散步看花")]:
...     simhash = index.add(name, text)
>>> [match.id for match in index.query("人生苦短，我们都用这一门语言写程序！").matches]
['a']
"""

from importlib import import_module

from simhash_hbase import errors as errors

__version__ = "1.0.0"

# As of typing, which takes longer to import than all of this.
TYPE_CHECKING = False
if TYPE_CHECKING:
    from simhash_hbase.api import *  # noqa: F403
    from simhash_hbase.api import __all__ as __all__
else:

    def __getattr__(name: str) -> object:
        # The command line handles interrupts, and shows help, before numpy is there: these need none, `api` does.
        if name in ("corpus", "inputs", "service"):
            return import_module(f"{__name__}.{name}")
        public = vars(import_module(f"{__name__}.api"))
        if name == "__all__" or name in public.get("__all__", ()):
            return public[name]
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

    def __dir__() -> list[str]:
        return sorted([*__getattr__("__all__"), "__all__", "__doc__"])
