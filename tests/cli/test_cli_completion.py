"""Completion, in a bash that somebody types in."""

import os
import re
import subprocess
import sys
from pathlib import Path
from select import select

import pytest
from support.patience import END_S
from support.results import run
from support.terminal import open_terminal, read_some, without_styles

from simhash_hbase.cli.app import COMMANDS, completion

PROGRAMS = Path(sys.executable).parent
PROMPT = "ready>"
TWICE = "\t\t"


class Bash:
    """An interactive bash in a folder, with what the help says to put into ``~/.bashrc``."""

    def __init__(self, folder):
        self._master, slave = open_terminal(400)
        path = os.pathsep.join([str(PROGRAMS), os.environ["PATH"]])
        settings = folder / "bashrc"
        # Answers of many words are not asked about and not shown a page at a time.
        limits = "bind 'set completion-query-items 0'; bind 'set page-completions off'; bind 'set bell-style none'"
        settings.write_text(f"{completion.examples[0]}\n{limits}\nPS1='{PROMPT}'\n")
        self.process = subprocess.Popen(
            ["bash", "--noprofile", "--rcfile", settings, "-i"], cwd=folder, stdin=slave, stdout=slave, stderr=slave,
            env={**os.environ, "PATH": path, "TERM": "dumb"}, start_new_session=True,
        )  # fmt: skip
        os.close(slave)
        self._wait(PROMPT)

    def complete(self, line, until):
        """Type the beginning of a line and a tab; return what is shown when a pattern is in it."""
        os.write(self._master, line.encode())
        shown = self._wait(until)
        # Ctrl-U takes what was typed away.
        os.write(self._master, b"\x15\r")
        self._wait(PROMPT)
        return shown

    def _wait(self, pattern):
        shown = ""
        while not re.search(pattern, shown):
            ready, _, _ = select([self._master], [], [], END_S)
            some = read_some(self._master) if ready else ""
            assert some, f"no {pattern} in {shown!r}"
            shown += without_styles(some).replace("\x07", "")
        return shown

    def end(self):
        self.process.kill()
        self.process.wait()
        os.close(self._master)


@pytest.fixture(scope="module")
def bash(tmp_path_factory):
    folder = tmp_path_factory.mktemp("bash")
    (folder / "news.index").mkdir()
    (folder / "corpus.jsonl").write_text("")
    started = Bash(folder)
    yield started
    started.end()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("typed", "completed"),
    [
        ("simhash-hbase fing\t", "simhash-hbase fingerprint "),
        ("simhash-hbase --conf\t", "simhash-hbase --config "),
        ("simhash-hbase query file:a --simi\t", "simhash-hbase query file:a --similarity "),
        ("simhash-hbase create file:a --analyzer lea\t", "simhash-hbase create file:a --analyzer learned "),
        ("simhash-hbase completion zs\t", "simhash-hbase completion zsh "),
        ("simhash-hbase add file:a cor\t", "simhash-hbase add file:a corpus.jsonl "),
        ("simhash-hbase dedup cor\t", "simhash-hbase dedup corpus.jsonl "),
        ("simhash-hbase dedup file:ne\t", "simhash-hbase dedup file:news.index/"),
        ("simhash-hbase stats file:ne\t", "simhash-hbase stats file:news.index/"),
        ("simhash-hbase stats file:news.index --exa\t", "simhash-hbase stats file:news.index --exact "),
    ],
)
def test_a_begun_word_is_completed(bash, typed, completed):
    # The whole line is there at once, then the rest of the word.
    rest = completed.removeprefix(typed.strip())

    shown = bash.complete(typed, re.escape(typed.strip()) + "[\r\n]*" + re.escape(rest))

    assert completed in shown.replace("\r", "").replace("\n", "")


def test_all_commands_are_offered(bash):
    shown = bash.complete(f"simhash-hbase {TWICE}", r"verify\s")

    assert set(COMMANDS) <= set(shown.split())


@pytest.mark.parametrize(
    ("shell", "at", "shown"),
    [("bash", "3", b"plain,--exact"), ("zsh", "3", b"--exact"), ("fish", "--", b"plain,--exact")],
)
def test_every_shell_completes_the_options(cli, shell, at, shown):
    asked = {"COMP_WORDS": "simhash-hbase stats file:missing --", "COMP_CWORD": at}

    done = run(env={**asked, "_SIMHASH_HBASE_COMPLETE": f"{shell}_complete"})

    assert (done.code, done.err) == (0, "")
    assert shown in done.out
    assert f"_SIMHASH_HBASE_COMPLETE={shell}_complete".encode() in cli("completion", shell).out
