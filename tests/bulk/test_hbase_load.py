"""``load`` into a real HBase from the command line, by each way that leads there."""

import pytest
from support.corpus import text, write_jsonl
from support.hbase_server import address, launcher_status, tables
from support.results import run

pytestmark = pytest.mark.hbase


def status_with(what):
    """Return what the launcher tells of the running server; skip the test where that is not in it."""
    address(2)
    status = launcher_status()
    if not status.get("up") or what not in status:
        pytest.skip(f"no server was started here that has a {what}")
    return status


@pytest.fixture
def load(tmp_path):
    """Return what loads a corpus and checks that everything is there; what the command left behind comes back."""
    documents = [{"id": f"document {n}", "text": text(n)} for n in range(40)]
    corpus = write_jsonl(tmp_path / "corpus.jsonl", documents)

    def ran(*words, **variables):
        done = run(*words, env=variables)
        assert done.code == 0, done.err
        return done

    def loaded(url, *options, **variables):
        ran("create", url, "--analyzer", "shingle")
        done = ran("load", url, corpus, "--work", tmp_path / "work", *options, **variables)
        ran("verify", url)
        return done, {record["id"]: record["simhash"] for record in ran("export", url).records}

    def into_a_table(*options, **variables):
        done, simhashes = loaded(f"hbase://{address(2)}/{tables().name()}", *options, **variables)
        assert simhashes == loaded(f"file:{tmp_path / 'index'}")[1]
        assert done.record["documents"] == 40
        return done

    return into_a_table


def test_a_server_of_this_machine_is_found_alone(load):
    assert load(SIMHASH_HBASE_HOME=status_with("conf")["folder"]).record["way"] == "HFiles"


def test_configuration_and_staging_folder_are_taken_as_named(load, tmp_path):
    status, staging = status_with("conf"), tmp_path / "staging"
    named = ["--hbase-conf", status["conf"], "--staging", staging, "--jars", status["jars"]]
    done = load(*named, SIMHASH_HBASE_HOME=str(tmp_path / "nothing"))

    assert done.record["way"] == "HFiles"
    assert list(staging.iterdir()) == []


def test_a_container_loads_files_by_itself(load):
    assert load("--container", status_with("container")["container"]).record["way"] == "HFiles"


def test_behind_a_gateway_alone_rows_are_put(load, tmp_path):
    done = load(SIMHASH_HBASE_HOME=str(tmp_path / "nothing"))
    assert done.record["way"] == "sorted puts"
    assert "a gateway alone cannot load files" in done.err
