"""The files beside this one that a page is made of."""

from importlib.resources import files
from string import Template


def resource(name: str) -> Template:
    """Read a file of this package."""
    return Template(files("simhash_hbase.report").joinpath(name).read_text(encoding="utf-8"))
