"""Help waits for no library that only the work of a command needs."""

import json
import subprocess
import sys

import pytest

from simhash_hbase import create_index
from simhash_hbase.cli.app import COMMANDS

# One process, as a settings file makes all commands be imported, too.
SHOWN = """
import contextlib, io, json, sys
before = set(sys.modules)
from simhash_hbase.cli.app import main
imported = {}
for name in ("", *sys.argv[1:]):
    with contextlib.redirect_stdout(io.StringIO()) as shown, contextlib.suppress(SystemExit):
        main([*name.split(), "--help"])
    assert shown.getvalue().startswith("Usage: simhash-hbase " + name), name
    imported[name] = sorted({module.partition(".")[0] for module in set(sys.modules) - before} - {"simhash_hbase"})
    before.update(sys.modules)
print(json.dumps(imported))
assert "urllib.request" not in sys.modules, "a third of the time that help takes without it"
"""


def test_help_imports_click_and_no_other_library() -> None:
    done = subprocess.run(
        [sys.executable, "-c", SHOWN, *COMMANDS], capture_output=True, text=True, timeout=120, check=True
    )
    libraries = {name: set(found) - sys.stdlib_module_names for name, found in json.loads(done.stdout).items()}
    assert libraries == {name: {"click"} if name == "" else set() for name in ("", *COMMANDS)}


def test_a_look_up_waits_for_no_dictionary_and_no_terminal(tmp_path) -> None:
    url = f"file:{tmp_path / 'index'}"
    create_index(url, analyzer="shingle").close()
    command = [sys.executable, "-X", "importtime", "-m", "simhash_hbase", "get", url, "nobody"]

    done = subprocess.run(command, capture_output=True, text=True, check=False)

    assert done.stderr.endswith("simhash-hbase: nobody: not in the index\n")
    imported = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "simhash_hbase.index.index" in imported
    assert not imported & {"importlib.metadata", "jieba", "pyarrow", "rich.console", "thriftpy2"}


@pytest.mark.slow
@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("words", "printed", "heavy"),
    [
        ("create file:{}", '{"format":4,"analyzer":"jieba"', {"_hashlib", "html", "jieba", "logging", "numpy.ma"}),
        ("key {} --name me --scope read", "shk_", {"fastapi", "numpy", "uvicorn"}),
    ],
)
def test_an_index_and_a_key_are_made_without_what_they_can_do_without(tmp_path, words, printed, heavy) -> None:
    program = "import sys; from simhash_hbase.cli import main\ntry: main()\nfinally: print(*sys.modules)"
    command = [sys.executable, "-c", program, *words.format(tmp_path / "made").split()]

    done = subprocess.run(command, capture_output=True, text=True, check=True)

    result, imported = done.stdout.splitlines()
    assert result.startswith(printed)
    assert heavy & set(imported.split()) == set()


SERVERS = {"mcp": ("mcp", "simhash_hbase.cli.agents"), "serve": ("fastapi", "simhash_hbase.service.app")}


@pytest.mark.slow
@pytest.mark.parametrize("name", SERVERS)
def test_a_server_says_that_it_starts_before_its_libraries_are_there(tmp_path, name) -> None:
    url = f"file:{tmp_path / 'index'}"
    create_index(url, analyzer="shingle").close()
    said = []
    for missing in SERVERS[name]:
        program = f"import sys; sys.modules[{missing!r}] = None\nfrom simhash_hbase.cli import main\nmain()"
        words = [name, url, *(["--no-auth", "--port", "0"] if name == "serve" else [])]
        done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False)
        said.append(done.stderr.splitlines())

    [sentence], [first, *_] = said
    assert sentence.endswith(f"pip install 'simhash-hbase[{'mcp' if name == 'mcp' else 'service'}]'")
    assert (json.loads(first)["event"] if name == "serve" else first).startswith(("starting", "mcp: starting"))
