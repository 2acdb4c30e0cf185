"""A program's beginning that imports what commands import when they are called.

A test that goes on as another user needs it: the packages may be in a folder that only this user can read.
"""

IMPORT_ALL = """
import importlib, pkgutil
for package in ("cli", "corpus", "features", "index", "stores.embedded"):
    found = importlib.import_module("simhash_hbase." + package)
    for module in pkgutil.walk_packages(found.__path__, found.__name__ + "."):
        importlib.import_module(module.name)
for name in ("rows.analysed", "api", "inputs.csvrows", "inputs.lines", "inputs.options", "inputs.reading"):
    importlib.import_module("simhash_hbase." + name)
"""
