"""Files that commands write: through no link of others, over no file that is in the way, whole or not at all."""

import gzip
import os
import resource
import shutil
import socket
import threading
from contextlib import nullcontext

import pytest
from support.corpus import near_copies, text, write_jsonl
from support.patience import END_S
from support.results import run

from simhash_hbase.corpus import run as corpus_run
from simhash_hbase.corpus.writers import KeptFile, NotKept

SHINGLES = ("--analyzer", "shingle")
ANOTHER = 12_345  # A user who is neither root nor who runs the tests.
PLACES = ["--output", "--clusters", "--rejects", "--report", "--results"]


def pages(folder, names):
    """Write different pages, which are documents as whole files."""
    folder.mkdir()
    for name in names:
        words = text(len(name) * 99 + ord(name[-6]), count=99)
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(f"<html><body><article><p>{words}</p></article></body></html>")
    return folder


@pytest.fixture
def victim(tmp_path):
    """Return a file that no command names."""
    path = tmp_path / "victim"
    path.write_text("precious\n")
    return path


@pytest.fixture
def source(tmp_path):
    return write_jsonl(tmp_path / "in.jsonl", [*near_copies(5, 2), {"id": "no text"}])


@pytest.fixture
def planted_link(tmp_path, monkeypatch, victim):
    """Return the path of a link that another user has made."""
    path = tmp_path / "out.jsonl"
    path.symlink_to(victim)
    give_away(path, monkeypatch)
    return path


def give_away(link, monkeypatch):
    """Make a link one of another user."""
    if os.geteuid():
        monkeypatch.setattr("os.geteuid", lambda: ANOTHER)
    else:
        os.lchown(link, ANOTHER, -1)


@pytest.fixture
def shared_link(tmp_path, monkeypatch):
    """Return the path of a link to a folder that another user has made in a folder that everybody may write to."""
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o1777)
    path = tmp_path / "shared" / "link"
    path.symlink_to(tmp_path / "elsewhere")
    give_away(path, monkeypatch)
    return path


@pytest.mark.parametrize("more", [[], ["--results", "new", "--resume"]], ids=["one run", "resume without a run"])
@pytest.mark.parametrize("planted", ["a file", "a link", "a link to nothing", "a folder that is a link"])
def test_a_folder_of_others_is_not_written_into(cli, url, tmp_path, victim, planted, more):
    source = pages(tmp_path / "in", ["a.html", "sub/b.html"])
    more = [str(tmp_path / word) if word == "new" else word for word in more]
    out = tmp_path / "out"
    out.mkdir()
    if planted == "a file":
        (out / "a.html").write_text("my own notes")
    elif planted == "a folder that is a link":
        (tmp_path / "elsewhere").mkdir()
        (out / "sub").symlink_to(tmp_path / "elsewhere")
    else:
        (out / "a.html").symlink_to(victim if planted == "a link" else tmp_path / "nothing")
    before = {path: path.is_symlink() or path.read_bytes() for path in out.iterdir() if not path.is_dir()}

    refused = cli("dedup", url, source, "--create", *SHINGLES, "--output", out, *more)

    assert "is not empty" in refused.usage_error
    assert {path: path.is_symlink() or path.read_bytes() for path in out.iterdir() if not path.is_dir()} == before
    assert victim.read_text() == "precious\n"
    assert not (tmp_path / "nothing").exists()
    assert not (tmp_path / "new").exists()


@pytest.fixture
def begun(cli, url, tmp_path, monkeypatch, stopped):
    """Return the words of a run that was ended after two of four pages, which go into the folder out."""
    monkeypatch.setattr("simhash_hbase.features.chunks.CHUNK_DOCUMENTS", 2)
    source = pages(tmp_path / "in", ["a.html", "b.html", "c.html", "sub/d.html"])
    files = ("--results", tmp_path / "results", "--output", tmp_path / "out")
    words = ("dedup", url, source, "--create", *SHINGLES, "--workers", 1, *files)
    with stopped(2):
        assert cli(*words).code == 1
    (tmp_path / "out" / "c.html").unlink(missing_ok=True)
    return words


@pytest.mark.parametrize("planted", ["a file", "a link", "a folder that is a link", "a pipe"])
def test_a_run_that_goes_on_writes_over_nothing_but_its_own_files(cli, begun, tmp_path, victim, planted):
    out, elsewhere = tmp_path / "out", tmp_path / "elsewhere"
    elsewhere.mkdir()
    if planted == "a file":
        (out / "c.html").write_text("my own notes")
    elif planted == "a link":
        (out / "c.html").symlink_to(victim)
    elif planted == "a pipe":
        os.mkfifo(out / "c.html")
    else:
        shutil.rmtree(out / "sub", ignore_errors=True)
        (out / "sub").symlink_to(elsewhere)

    refused = cli(*begun, "--resume")

    assert str(out / ("sub" if planted == "a folder that is a link" else "c.html")) in refused.usage_error
    assert victim.read_text() == "precious\n"
    assert list(elsewhere.iterdir()) == []
    if planted == "a file":
        assert (out / "c.html").read_text() == "my own notes"


@pytest.mark.parametrize("left", ["whole", "torn", "empty", "nothing"])
def test_a_run_that_goes_on_completes_the_files_that_a_crash_has_left(cli, begun, tmp_path, left):
    source, out = tmp_path / "in", tmp_path / "out"
    content = (source / "c.html").read_bytes()
    if left != "nothing":
        (out / "c.html").write_bytes({"whole": content, "torn": content[:100], "empty": b""}[left])

    assert cli(*begun, "--resume").code == 0
    assert {path.name: path.read_bytes() for path in out.rglob("*.html")} == {
        path.name: path.read_bytes() for path in source.rglob("*.html")
    }


@pytest.mark.parametrize("name", ["out.csv", "out.jsonl", "out.parquet"])
@pytest.mark.parametrize("beside", [".partial", ".rows"])
def test_a_link_beside_an_output_is_not_followed(cli, tmp_path, source, victim, name, beside):
    out = tmp_path / name
    (tmp_path / f"{name}{beside}").symlink_to(victim)
    more = ["--results", tmp_path / "results"] if beside == ".rows" else []

    cli("dedup", source, *SHINGLES, "--output", out, *more)

    assert victim.read_text() == "precious\n"


@pytest.mark.parametrize("name", ["report.partial", "results.checkpoint", "results.checkpoint.partial"])
def test_a_link_beside_a_report_or_results_is_not_followed(cli, url, tmp_path, source, victim, name):
    (tmp_path / name).symlink_to(victim)
    files = [word for option in ("report", "results") for word in (f"--{option}", tmp_path / option)]

    cli("dedup", url, source, "--create", *SHINGLES, *files)

    assert victim.read_text() == "precious\n"


@pytest.mark.parametrize("option", PLACES)
def test_a_link_that_another_user_has_made_is_refused(cli, source, victim, planted_link, option):
    refused = cli("dedup", source, *SHINGLES, option, planted_link)

    assert "is a link that another user has made" in refused.usage_error
    assert victim.read_text() == "precious\n"


@pytest.mark.parametrize("option", ["--output", "--clusters", "--rejects", "--report"])
def test_a_replaced_file_stays_under_its_other_names(cli, tmp_path, source, victim, option):
    os.link(victim, tmp_path / "out.jsonl")
    victim.chmod(0o640)

    assert cli("dedup", source, *SHINGLES, option, tmp_path / "out.jsonl").code == 3
    assert victim.read_text() == "precious\n"
    assert "precious" not in (tmp_path / "out.jsonl").read_text()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["in.jsonl", "out.jsonl", "victim"]


WRONG_NAMES = {
    "": "is empty: name a file, or leave it out",
    "-": "is no file, and standard output has the results: name a file",
    "kept.jsonl.xz": "names a compression that is not written: .gz and .zst are",
}


@pytest.mark.parametrize("option", PLACES)
@pytest.mark.parametrize("place", WRONG_NAMES)
def test_a_name_that_would_not_say_what_is_written_is_refused(cli, source, monkeypatch, tmp_path, option, place):
    monkeypatch.chdir(tmp_path)

    refused = cli("dedup", source, *SHINGLES, option, place)

    assert refused.usage_error.startswith(f"{option} ")
    assert WRONG_NAMES[place] in refused.sentence
    assert [path.name for path in tmp_path.iterdir()] == ["in.jsonl"]


@pytest.mark.parametrize("option", [option for option in PLACES if option != "--output"])
def test_a_file_that_is_not_compressed_has_no_name_of_a_compressed_one(cli, source, tmp_path, option):
    refused = cli("dedup", source, *SHINGLES, option, tmp_path / "a.jsonl.gz")
    assert "names a compression, and only --output is compressed" in refused.usage_error


@pytest.mark.parametrize("option", PLACES)
@pytest.mark.parametrize("kind", ["pipe", "socket", "folder", "link"])
def test_a_place_that_is_no_file_is_refused_without_a_wait(url, tmp_path, source, option, kind):
    place = tmp_path / "out.jsonl"
    if kind == "pipe":
        os.mkfifo(place)
    elif kind == "folder":
        place.mkdir()
    elif kind == "link":
        place.symlink_to(tmp_path / "no folder" / "out.jsonl")
    else:
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(place))

    refused = run("dedup", url, source, "--create", *SHINGLES, option, place)

    assert refused.code in {1, 2}
    assert "out.jsonl" in refused.err.splitlines()[-1]
    assert "Traceback" not in refused.err
    assert not place.is_file()
    assert not (tmp_path / "new.index").exists()


@pytest.mark.parametrize("option", ["--output", "--clusters", "--rejects", "--report"])
def test_a_pipe_that_somebody_reads_is_written_to(cli, url, tmp_path, source, option):
    os.mkfifo(tmp_path / "out.jsonl")
    read = []
    # A pipe has a reader and a writer already, so that neither the command nor the thread waits.
    ends = [os.open(tmp_path / "out.jsonl", mode) for mode in (os.O_RDONLY | os.O_NONBLOCK, os.O_WRONLY)]
    reader = threading.Thread(target=lambda: read.append((tmp_path / "out.jsonl").read_bytes()), daemon=True)
    reader.start()

    assert cli("dedup", url, source, "--create", *SHINGLES, option, tmp_path / "out.jsonl").code == 3
    for end in ends:
        os.close(end)
    reader.join(END_S)
    assert read[0]


@pytest.mark.parametrize("option", ["--output", "--clusters", "--rejects", "--report"])
def test_a_pipe_whose_reader_has_gone_is_one_sentence_before_anything_is_decided(
    cli, url, tmp_path, source, monkeypatch, option
):
    os.mkfifo(tmp_path / "out.jsonl")
    reader = os.open(tmp_path / "out.jsonl", os.O_RDONLY | os.O_NONBLOCK)
    monkeypatch.setattr(f"{corpus_run.__name__}.open_kept", lambda *_, **__: os.close(reader) or nullcontext(NotKept()))
    gone = cli("dedup", url, source, "--create", *SHINGLES, option, tmp_path / "out.jsonl")

    assert (gone.code, gone.out) == (2, b"")
    assert gone.sentence == f"{tmp_path}/out.jsonl is a pipe that nobody reads: start its reader first, or name a file"


def test_a_pipe_whose_reader_goes_while_it_is_written_is_named(cli, url, tmp_path, source, monkeypatch):
    os.mkfifo(tmp_path / "out.jsonl")
    reader = os.open(tmp_path / "out.jsonl", os.O_RDONLY | os.O_NONBLOCK)
    monkeypatch.setattr(KeptFile, "write", lambda *_: None)
    monkeypatch.setattr(KeptFile, "flush", lambda kept: os.close(reader) or kept._stream.write(b"x" * (1 << 20)))
    gone = cli("dedup", url, source, "--create", *SHINGLES, "--output", tmp_path / "out.jsonl")

    assert (gone.code, gone.sentence) == (1, f"{tmp_path}/out.jsonl: broken pipe")


@pytest.mark.parametrize("option", ["--output", "--clusters", "--rejects", "--report"])
def test_a_descriptor_of_the_shell_is_written_to(tmp_path, url, source, option):
    with (tmp_path / "out").open("wb") as file:
        os.set_inheritable(file.fileno(), True)
        place = f"/dev/fd/{file.fileno()}"
        done = run("dedup", url, source, "--create", *SHINGLES, option, place, pass_fds=[file.fileno()])

    assert done.code == 3
    assert (tmp_path / "out").read_bytes()


def limited(room):
    """Have each file end after so many bytes, as a full disk would."""
    resource.setrlimit(resource.RLIMIT_FSIZE, (room, room))


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kept.jsonl", "kept.jsonl.gz", "kept.csv", "kept.parquet"])
@pytest.mark.parametrize("older", [None, b"older\n"], ids=["new", "older"])
def test_a_full_disk_leaves_no_half_of_an_output(tmp_path, name, older):
    file = write_jsonl(tmp_path / "in.jsonl", [{"id": str(n), "text": os.urandom(300).hex()} for n in range(300)])
    if older is not None:
        (tmp_path / name).write_bytes(older)

    failed = run("dedup", file, *SHINGLES, "--output", tmp_path / name, preexec_fn=lambda: limited(60_000))

    assert failed.code == 1
    assert "file too large" in failed.err.splitlines()[-1]
    assert ((tmp_path / name).read_bytes() if (tmp_path / name).exists() else None) == older
    assert list(tmp_path.glob("*partial*")) == []


@pytest.mark.slow
@pytest.mark.parametrize("name", ["kept.jsonl", "kept.jsonl.gz"])
def test_a_full_disk_leaves_whole_records_of_a_run_that_can_go_on(tmp_path, name):
    # Fields that nobody reads make the output longer than the index.
    records = [{"id": str(n), "text": text(n, count=9), "other": os.urandom(2_000).hex()} for n in range(1_500)]
    file = write_jsonl(tmp_path / "in.jsonl", records)

    def words(folder):
        folder.mkdir(exist_ok=True)
        files = ("--results", folder / "results", "--output", folder / name)
        return ("dedup", f"file:{folder / 'index'}", file, "--create", *SHINGLES, "--quiet", *files, "--resume")

    whole, parts = tmp_path / "whole", tmp_path / "parts"
    assert run(*words(whole)).code == 0
    failed = run(*words(parts), preexec_fn=lambda: limited((whole / name).stat().st_size * 9 // 10))
    left = (parts / name).read_bytes()

    assert "file too large; it ends with its last whole record" in failed.failure
    assert (whole / name).read_bytes().startswith(left)
    assert 0 < len(gzip.decompress(left).splitlines() if name.endswith(".gz") else left.splitlines()) < 1_500
    assert run(*words(parts)).code == 0
    for each in ("results", name):
        assert (parts / each).read_bytes() == (whole / each).read_bytes()


@pytest.mark.slow
def test_a_disk_that_is_full_at_the_first_result_leaves_no_file(cli, tmp_path):
    file = write_jsonl(tmp_path / "in.jsonl", [{"id": str(number), "text": text(number)} for number in range(20)])

    words = ("dedup", file, *SHINGLES, "--quiet", "--results", tmp_path / "results")
    failed = run(*words, preexec_fn=lambda: limited(1_500))

    assert failed.failure.endswith("results: file too large")
    assert not (tmp_path / "results").exists()


@pytest.mark.slow
def test_a_full_disk_leaves_whole_rejects(cli, tmp_path):
    file = write_jsonl(tmp_path / "in.jsonl", [{"id": str(number), "other": "x" * 700} for number in range(300)])

    failed = run("dedup", file, *SHINGLES, "--rejects", tmp_path / "rejects", preexec_fn=lambda: limited(60_000))

    assert failed.code == 1
    assert "rejects: file too large; it ends with its last whole record" in failed.err.splitlines()[-1]
    assert (tmp_path / "rejects").read_bytes().endswith(b"}\n")


def test_other_commands_do_not_write_through_the_link_of_another_user(cli, tmp_path, source, victim, planted_link):
    for name in "ab":
        (tmp_path / f"{name}.txt").write_text(f"the text of {name} and some more words")
    explained = cli("explain", tmp_path / "a.txt", tmp_path / "b.txt", "--html", planted_link)
    keyed = cli("key", planted_link, "--name", "me", "--scope", "read")
    printed = cli("fingerprint", source, *SHINGLES, "--rejects", planted_link)

    for refused in (explained, keyed, printed):
        assert "is a link that another user has made" in refused.usage_error
    assert victim.read_text() == "precious\n"


@pytest.mark.parametrize("planted", ["pipe", "socket", "folder", "device"])
def test_a_key_goes_into_a_file_alone(cli, tmp_path, planted):
    place = tmp_path / "keys"
    if planted == "pipe":
        os.mkfifo(place)
    elif planted == "folder":
        place.mkdir()
    elif planted == "socket":
        with socket.socket(socket.AF_UNIX) as bound:
            bound.bind(str(place))
    else:
        place.symlink_to("/dev/null")

    refused = cli("key", place, "--name", "me", "--scope", "read")

    assert refused.code in {1, 2}
    assert str(place) in refused.sentence
    assert refused.out == b""


def test_a_load_neither_writes_over_files_of_others_nor_removes_them(cli, empty, tmp_path, source):
    work = tmp_path / "work"
    work.mkdir()
    for name in ("part-000000", "part-1.jsonl"):
        (work / name).write_text("precious\n")

    refused = cli("load", empty, source, "--work", work)

    assert "part-000000" in refused.usage_error
    (work / "part-000000").unlink()
    assert cli("load", empty, source, "--work", work).code == 3
    assert {path.name for path in work.iterdir()} == {"part-1.jsonl"}


def test_a_link_in_the_folder_of_a_load_is_not_followed(cli, empty, tmp_path, source, victim):
    work = tmp_path / "work"
    work.mkdir()
    for name in ("manifest.json.partial", "part-000000.partial"):
        (work / name).symlink_to(victim)

    cli("load", empty, source, "--work", work)

    assert victim.read_text() == "precious\n"


@pytest.mark.parametrize(
    "command",
    [
        "create file:{link}",
        "create file:{link}/below",
        "create file:{link.parent}/./../shared/link/below",
        "create file:{link.parent}//link/below",
        "dedup file:{link} {source} --create",
        "dedup {source} --analyzer shingle --output {link}/out.jsonl",
        "dedup {source} --analyzer shingle --clusters {link}/clusters.jsonl",
        "backup {url} {link}/below/copy",
    ],
)
def test_nothing_is_made_through_the_link_of_another_user_in_a_shared_folder(cli, url, source, shared_link, command):
    cli("create", url, *SHINGLES)

    refused = cli(*command.format(link=shared_link, source=source, url=url).split())

    assert f"leads through {shared_link}, a link that another user has made" in refused.usage_error
    assert list(shared_link.iterdir()) == []


@pytest.mark.parametrize("mode", [0o1777, 0o777, 0o755])
def test_an_index_is_written_through_the_link_of_another_user_only_where_few_may_make_one(
    cli, source, shared_link, mode
):
    index = shared_link.resolve()
    cli("create", f"file:{index}", *SHINGLES)
    shared_link.parent.chmod(mode)

    added = cli("add", f"file:{shared_link}", source)
    asked = cli("query", f"file:{shared_link}", "--text", "some words of a text")

    assert (added.code == 2) == (mode != 0o755)
    assert asked.code == 0


def test_a_link_that_is_not_on_the_path_is_not_looked_at(cli, tmp_path, shared_link, monkeypatch):
    (tmp_path / "shared" / "below").mkdir()
    monkeypatch.chdir(shared_link.parent / "below")

    assert cli("create", "file:./../new", *SHINGLES).code == 0


def test_an_index_is_made_through_a_link_of_the_user_s_own(cli, tmp_path):
    (tmp_path / "disk").mkdir()
    (tmp_path / "shared").mkdir()
    (tmp_path / "shared").chmod(0o1777)
    (tmp_path / "shared" / "link").symlink_to(tmp_path / "disk")

    assert cli("create", f"file:{tmp_path}/shared/link", *SHINGLES).code == 0
    assert (tmp_path / "disk" / "data.mdb").exists()
