"""The commands of the page about Spark, on this machine and on a standalone cluster of two workers."""

import json
import os
import shutil
import sys
from pathlib import Path

import pytest
from support.fresh_clone import blocks, clone, provide, run, split, with_names
from support.hbase_server import address, tables
from support.spark import QUICK, java_home, standalone

from simhash_hbase.api import open_index

pytestmark = pytest.mark.slow
ACTIVATED = "source .venv/bin/activate\n"
SCRIPTS = ("spark-submit", "spark-class", "find-spark-home", "find_spark_home.py", "load-spark-env.sh")


@pytest.fixture(scope="module")
def fresh(tmp_path_factory):
    made = clone(tmp_path_factory.mktemp("spark") / "clone")
    provide(made, "spark")
    programs = made / ".venv/bin"
    for name in SCRIPTS:
        shutil.copy(Path(sys.executable).with_name(name), programs)
    return made


@pytest.fixture(scope="module")
def settings(tmp_path_factory):
    """Return the variables by which Spark starts as quickly as it can."""
    folder = tmp_path_factory.mktemp("settings")
    (folder / "spark-defaults.conf").write_text("".join(f"{name} {value}\n" for name, value in QUICK.items()))
    return {"JAVA_HOME": java_home(), "SPARK_CONF_DIR": str(folder)}


@pytest.fixture(scope="module")
def decided(fresh, settings):
    """Run the first commands of the page; return the decisions."""
    # A quarter of the documents of the page.
    fewer = {"demo.py > corpus.jsonl": "demo.py | awk 'NR <= 600' > corpus.jsonl"}
    done = run(fresh, with_names(commands("spark"), fewer), **settings)
    assert done.returncode == 0, done.stderr
    assert "pandas" not in done.stderr
    return (fresh / "decisions.jsonl").read_bytes()


@pytest.fixture(scope="module")
def master(tmp_path_factory):
    with standalone(tmp_path_factory.mktemp("standalone")) as url:
        yield url


def commands(name):
    return "\n".join(split(blocks()[name]))


def submitted(master, *names):
    return ACTIVATED + "\n".join(commands(name) for name in names).replace("spark://127.0.0.1:7077", master)


def test_one_machine_and_a_cluster_decide_as_dedup_does(fresh, decided, master, settings):
    alone = run(fresh, ACTIVATED + "simhash-hbase dedup corpus.jsonl")
    done = run(fresh, submitted(master, "sparkcluster"), **settings)

    assert (alone.returncode, done.returncode) == (0, 0), alone.stderr + done.stderr
    assert decided == (fresh / "decisions.jsonl").read_bytes() == alone.stdout.encode()
    assert len(list((fresh / "decisions").glob("part-*"))) > 1
    assert b'"duplicate"' in decided


def test_one_machine_finds_the_passages_that_passages_finds(fresh, decided, settings):
    done = run(fresh, ACTIVATED + commands("sparkpassages"), **settings)
    alone = run(fresh, ACTIVATED + "simhash-hbase passages file:part.index part.jsonl --at-least 2")

    assert done.returncode == 0, done.stderr
    assert (fresh / "passages.jsonl").read_bytes() == alone.stdout.encode()
    assert "300 documents" in done.stderr
    assert '"documents":2' in alone.stdout


@pytest.mark.hbase
def test_a_cluster_loads_what_load_would(fresh, decided, master, settings):
    url = f"hbase://{address(2)}/{tables().name()}"
    program, submit = submitted(master, "sparkcluster").splitlines()[1:3]
    shown = "hbase://$(./scripts/hbase status | tail -n 1)/spark"
    load = submitted(master, "sparkload").removeprefix(ACTIVATED)
    assert load.count(shown) == 1
    load = load.replace(shown, url)
    kept = {name: value for name, value in os.environ.items() if name in ("SIMHASH_HBASE_HOME",)}

    done = run(fresh, f"{ACTIVATED}{program}\n{submit}\n{load}", **settings, **kept)

    assert done.returncode == 0, done.stderr
    lines = [json.loads(line) for line in decided.splitlines()]
    assert json.loads(done.stdout.splitlines()[-1])["documents"] == len(lines)
    with open_index(url, readonly=True) as index:
        assert {stored.id for stored in index.export()} == {line["id"] for line in lines}
        assert not index.verify().wrong
    assert not (fresh / "work").exists()
