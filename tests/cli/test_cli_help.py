"""Help: every command has it in one style, its examples do what they say, and nobody waits for more than is needed."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import click
import pytest
from support.corpus import near_copies, text, write_jsonl
from support.hbase_server import address, tables
from support.patience import END_S
from support.results import python, run

from simhash_hbase.cli.app import COMMANDS, cli

PROGRAMS = Path(sys.executable).parent
TABLE = "hbase://127.0.0.1:9091/news"
CONTEXT = click.Context(cli, info_name="simhash-hbase")
HELD = {name: cli.get_command(CONTEXT, name) for name in sorted(COMMANDS)}
EXAMPLES = [example for command in (cli, *HELD.values()) for example in command.examples]
# Servers stay until they are ended.
SERVED = [example for example in EXAMPLES if " serve " in example]
# The script for an operator is written without a look at the table.
IN_HBASE = [example for example in EXAMPLES if TABLE in example and " schema " not in example]
# Tested with the installed package, in a shell that one types in, with a client, and with the session of test_spark.
ELSEWHERE = [example for example in EXAMPLES if re.search(r" hbase | mcp | spark |^source ", example)]
RUN = [example for example in EXAMPLES if example not in (*SERVED, *IN_HBASE, *ELSEWHERE)]


@pytest.mark.parametrize("name", sorted(COMMANDS))
def test_every_command_has_help_with_an_example_that_is_whole(cli, name):
    helped = cli(name, "--help")

    assert (helped.code, helped.err) == (0, "")
    shown = re.split(r"\nExamples?:\n", helped.out.decode())[1].splitlines()
    assert [line.strip() for line in shown] == HELD[name].examples
    assert all(f"simhash-hbase {name} " in example for example in HELD[name].examples)
    assert cli(name, "-h").out == helped.out


def test_the_help_lists_every_command_and_every_form_of_an_address(cli):
    helped = cli("--help").out.decode()

    lines = [line.split(maxsplit=1) for line in helped.splitlines() if line.startswith("  ")]
    assert [name for name, *_ in lines if name in COMMANDS] == sorted(COMMANDS)
    assert {"file:PATH", "hbase://HOST:PORT/[NAMESPACE:]TABLE", "redis://HOST:PORT/DB"} <= {name for name, *_ in lines}


@pytest.mark.parametrize("group", [[], ["spark"]])
def test_a_program_that_is_called_without_a_command_shows_its_help(cli, group):
    shown = cli(*group)

    assert (shown.code, shown.out) == (2, b"")
    assert shown.err == cli(*group, "--help").out.decode()


@pytest.fixture(scope="module")
def prepared(tmp_path_factory):
    """Return a folder with all that the examples name."""
    folder = tmp_path_factory.mktemp("examples")
    documents = [*near_copies(5, 2), {"id": "https://example.org/a", "text": text(9)}]
    for name in ("corpus.jsonl", "crawl.jsonl", "corpus.jsonl.gz", "crawl-1.jsonl.gz", "last-month.jsonl.gz"):
        write_jsonl(folder / name, documents)
    more = [{"id": f"more/{i}", "text": text(100 + i)} for i in range(3)]
    for name in ("today.jsonl.gz", "laws.jsonl.gz", "crawl-2.jsonl.gz"):
        write_jsonl(folder / name, more)
    (folder / "a.txt").write_text(text(1), encoding="utf-8")
    (folder / "b.txt").write_text(text(1, changed=1), encoding="utf-8")
    (folder / "gone.txt").write_text("https://example.org/a\n")
    (folder / "clues.txt").write_text(text(9, count=20), encoding="utf-8")
    create = ("create", "file:news.index", "--learn-from", "corpus.jsonl", "--passages", "50")
    for words in (create, ("add", "file:news.index", "corpus.jsonl")):
        assert run(*words, cwd=folder).code == 0
    assert run("create", "file:laws.index", "--analyzer", "shingle", cwd=folder).code == 0
    return folder


@pytest.fixture
def folder(prepared, tmp_path):
    """Return a copy of it, for one example."""
    return shutil.copytree(prepared, tmp_path / "folder")


def in_shell(line, folder, **options):
    """Start a line of bash where the commands are."""
    path = os.pathsep.join([str(PROGRAMS), os.environ["PATH"]])
    words = ["bash", "-e", "-o", "pipefail", "-c", line]
    return subprocess.Popen(words, cwd=folder, env={**os.environ, "PATH": path}, stdout=subprocess.PIPE, **options)


def held(folder):
    return {path: (path.stat().st_size, path.stat().st_mtime_ns) for path in folder.rglob("*")}


@pytest.mark.slow
@pytest.mark.parametrize("example", RUN)
def test_an_example_does_what_it_says(folder, example):
    if " create " in example:
        shutil.rmtree(folder / "laws.index")
    before = held(folder)

    process = in_shell(example, folder)
    printed, _ = process.communicate(timeout=END_S)

    assert process.returncode == 0
    assert printed or held(folder) != before


@pytest.mark.hbase
@pytest.mark.parametrize("example", IN_HBASE)
def test_an_example_with_a_table_does_what_it_says(folder, example):
    url = f"hbase://{address(2)}/{tables().name()}"
    if " create " not in example:
        assert run("create", url, "--analyzer", "shingle", cwd=folder).code == 0

    process = in_shell(example.replace(TABLE, url), folder)
    process.communicate(timeout=END_S)

    assert process.returncode == 0
    # Ten of the documents are five pairs of near copies, and a claim keeps one of each.
    expected = {"create": 0, "load": 11, "claim": 6, "backup": 0}[example.split()[1]]
    assert json.loads(run("stats", url, "--exact").out)["documents"] == expected


@pytest.mark.slow
@pytest.mark.parametrize("example", SERVED)
def test_an_example_that_serves_does_so_until_it_is_ended(folder, example):
    assert run("key", "keys.txt", "--name", "crawler", "--scope", "read", cwd=folder).code == 0

    process = in_shell(f"exec {example.replace('8080', '0')}", folder, stderr=subprocess.PIPE)
    logged = [process.stderr.readline()]
    while logged[-1] and json.loads(logged[-1])["event"] != "listening":
        logged.append(process.stderr.readline())
    process.send_signal(signal.SIGTERM)
    process.communicate(timeout=END_S)

    assert logged[-1]
    assert process.returncode == 0


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


def printed_by(program, *words):
    """Run a program in a Python of its own; return what it prints."""
    return subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=True).stdout


def test_help_imports_no_library_but_click():
    done = printed_by(SHOWN, *COMMANDS)

    libraries = {name: set(found) - sys.stdlib_module_names for name, found in json.loads(done).items()}
    assert libraries == {name: {"click"} if name == "" else set() for name in ("", *COMMANDS)}


def test_a_look_up_waits_for_neither_a_dictionary_nor_a_terminal(empty):
    done = run("get", empty, "nobody", env={"PYTHONPROFILEIMPORTTIME": "1"})

    assert done.err.endswith("simhash-hbase: the index does not hold a document of the id 'nobody'\n")
    imported = {line.rpartition("|")[2].strip() for line in done.err.splitlines()}
    assert "simhash_hbase.index.index" in imported
    assert not imported & {"importlib.metadata", "jieba", "pyarrow", "rich.console", "thriftpy2"}


@pytest.mark.slow
@pytest.mark.unmeasured
@pytest.mark.parametrize(
    ("words", "printed", "heavy"),
    [
        ("create file:{}", '{"format":4,"analyzer":"learned"', {"_hashlib", "html", "jieba", "logging", "numpy.ma"}),
        ("key {} --name me --scope read", "shk_", {"fastapi", "numpy", "uvicorn"}),
    ],
)
def test_an_index_and_a_key_are_made_without_what_they_can_do_without(tmp_path, words, printed, heavy):
    program = "import sys; from simhash_hbase.cli import main\ntry: main()\nfinally: print(*sys.modules)"

    result, imported = printed_by(program, *words.format(tmp_path / "made").split()).splitlines()

    assert result.startswith(printed)
    assert heavy & set(imported.split()) == set()


SERVERS = {"mcp": ("mcp", "simhash_hbase.cli.agents"), "serve": ("fastapi", "simhash_hbase.service.app")}


@pytest.mark.slow
@pytest.mark.parametrize("name", SERVERS)
def test_a_server_says_that_it_starts_before_its_libraries_are_there(empty, name):
    words = [name, empty, *(["--no-auth", "--port", "0"] if name == "serve" else [])]
    said = []
    for missing in SERVERS[name]:
        program = f"import sys; sys.modules[{missing!r}] = None\nfrom simhash_hbase.cli.app import main\nmain({words})"
        said.append(python(program).err.splitlines())

    [sentence], [first, *_] = said
    assert sentence.endswith(f"pip install 'simhash-hbase[{'mcp' if name == 'mcp' else 'service'}]'")
    assert (json.loads(first)["event"] if name == "serve" else first).startswith(("starting", "mcp: starting"))
