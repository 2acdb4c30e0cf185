"""A compiled module of the kernel answers for its present source alone."""

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from importlib.machinery import EXTENSION_SUFFIXES
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.gates import absent
from support.hostile import everything

from simhash_hbase import kernel

FOLDER = Path(kernel.__file__).parent
SOURCES = sorted(path for path in FOLDER.glob("*.py") if "import uncompiled as cython" in path.read_text())
SHOW = """
from importlib import import_module
from simhash_hbase import kernel
print(kernel.COMPILED, kernel.description())
print(*(import_module(f"simhash_hbase.kernel.{name}").__file__ for name in NAMES.split()), sep="\\n")
"""


def compiled(source):
    return source.with_suffix(EXTENSION_SUFFIXES[0])


@pytest.fixture
def run(tmp_path):
    """Return what starts Python with a copy of the package, in ``run.folder``."""
    if not kernel.COMPILED:
        absent(f"the kernel is {kernel.description()}")
    shutil.copytree(FOLDER.parent, tmp_path / "simhash_hbase", ignore=shutil.ignore_patterns("__pycache__"))

    def start(*words, **environment):
        kept = {name: value for name, value in os.environ.items() if not name.startswith("SIMHASH_HBASE_")}
        kept |= {"PYTHONPATH": str(tmp_path), **environment}
        return subprocess.run(
            [sys.executable, *words], cwd=tmp_path, env=kept, capture_output=True, text=True, check=False
        )

    def show(**environment):
        """Return whether it is compiled, the description, the suffixes of the modules' files, and the warnings."""
        done = start("-c", SHOW.replace("NAMES", repr(" ".join(source.stem for source in SOURCES))), **environment)
        assert done.returncode == 0, done.stderr
        first, *files = done.stdout.splitlines()
        assert {Path(file).parent for file in files} == {start.folder}
        state, _, said = first.partition(" ")
        return state == "True", said, {"".join(Path(file).suffixes) for file in files}, done.stderr

    start.folder, start.show = tmp_path / "simhash_hbase" / "kernel", show
    return start


def test_all_modules_are_compiled_from_their_present_sources():
    if kernel.description().endswith("SIMHASH_HBASE_PURE is set"):
        pytest.skip("SIMHASH_HBASE_PURE is set")
    if not Path(sysconfig.get_paths()["include"], "Python.h").exists():
        absent("Python's headers are missing")

    assert kernel.description() == "compiled"
    assert SOURCES
    assert {path.name.partition(".")[0] for path in FOLDER.glob("*.so")} == {path.stem for path in SOURCES} | {"shared"}
    assert {path.name for path in map(compiled, SOURCES) if not path.exists()} == set()


@pytest.mark.slow
def test_it_runs_compiled_unless_another_form_is_asked_for_or_a_source_has_changed(run):
    assert run.show() == (True, "compiled", {EXTENSION_SUFFIXES[0]}, "")
    asked_for = "interpreted, since SIMHASH_HBASE_PURE is set"
    assert run.show(SIMHASH_HBASE_PURE="1") == (False, asked_for, {".py"}, "")
    with (run.folder / SOURCES[0].name).open("a") as file:
        file.write("\n# Changed.\n")

    is_compiled, said, suffixes, warned = run.show()

    # The others are interpreted, too.
    assert (is_compiled, suffixes) == (False, {".py"})
    assert f"{SOURCES[0].name} changed after it was compiled" in said
    assert said in warned


@pytest.mark.slow
def test_where_nothing_is_compiled_one_line_names_what_to_install(run):
    for path in run.folder.glob("*.so"):
        path.unlink()

    is_compiled, said, suffixes, warned = run.show()
    assert (is_compiled, suffixes) == (False, {".py"})
    assert warned.count("headers") == said.count("headers") == 1

    done = run("-m", "simhash_hbase", "--version")
    assert done.stdout.split(" kernel ")[1] == f"{said}\n"
    assert done.stderr == ""


@pytest.fixture
def hook(tmp_path, monkeypatch):
    """Return the module of the build hook, on a machine with Python's headers and without a compiler."""
    # Only a build has hatchling.
    hatchling = SimpleNamespace(BuildHookInterface=object)
    monkeypatch.setitem(sys.modules, "hatchling.builders.hooks.plugin.interface", hatchling)
    spec = spec_from_file_location("build_kernel", FOLDER.parents[1] / "scripts" / "build_kernel.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    monkeypatch.setattr(module, "PURE", False)
    monkeypatch.setattr(module, "HEADERS", tmp_path)
    (tmp_path / "Python.h").touch()
    monkeypatch.delenv("CC", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    return module


def test_the_compiler_is_the_named_one_else_the_machine_s_else_zig(hook, tmp_path, monkeypatch):
    [cython, zig] = hook.KernelHook().dependencies()
    assert (cython.partition(">")[0], zig.partition(">")[0]) == ("cython", "ziglang")

    (tmp_path / "gcc").touch(0o755)
    assert hook.machine_compiler() == ["gcc"]
    assert hook.KernelHook().dependencies() == [cython]

    monkeypatch.setenv("CC", "ccache clang")
    assert hook.machine_compiler() == ["ccache", "clang"]


def test_nothing_is_compiled_without_headers_or_where_that_is_asked_for(hook, tmp_path, monkeypatch):
    monkeypatch.setattr(hook, "PURE", True)
    assert hook.KernelHook().dependencies() == []
    monkeypatch.setattr(hook, "PURE", False)
    (tmp_path / "Python.h").unlink()
    assert hook.KernelHook().dependencies() == []


def test_a_failed_compilation_shows_the_compilers_error_with_advice(hook, tmp_path):
    with pytest.raises(SystemExit, match=r"(?s)no such type.*SIMHASH_HBASE_PURE=1"):
        hook.run_in(tmp_path, sys.executable, "-c", "import sys; sys.exit('no such type')")


# The checks are there before anything is optimised: more than -O1 only takes longer.
SANITIZED = ("-O1", "-fsanitize=address,undefined", "-fno-sanitize-recover=undefined", "-g1")


@pytest.mark.slow
def test_the_kernel_does_nothing_that_c_leaves_undefined(tmp_path, hook, monkeypatch):
    gcc = shutil.which("gcc", path=os.defpath + os.pathsep + "/usr/local/bin")
    libraries = [_library(gcc, name) for name in ("libasan.so", "libubsan.so")] if gcc else [None]
    if None in libraries or not kernel.COMPILED:
        absent("gcc with its sanitizers, or a compiled kernel, is missing")
    root = FOLDER.parents[1]
    # A copy: what is installed stays as it is. Overflows of signed integers, which the build allows, are errors here.
    for name in ("simhash_hbase", "tests"):
        shutil.copytree(root / name, tmp_path / name)
    # What Cython's modules have in common is none of this package's code.
    for source in SOURCES:
        compiled(tmp_path / "simhash_hbase" / "kernel" / source.name).unlink()
    monkeypatch.setenv("CC", gcc)
    monkeypatch.setenv("PATH", os.defpath)
    monkeypatch.setattr(hook, "FLAGS", [*(flag for flag in hook.FLAGS if flag != "-fwrapv"), *SANITIZED])
    monkeypatch.setattr(hook, "HEADERS", Path(sysconfig.get_paths()["include"]))
    build = hook.KernelHook()
    # Installations have the compiler of Python for the time of a build alone.
    pip = [sys.executable, "-m", "pip", "install", "-q", "--no-compile", "--target", tmp_path / "cython"]
    subprocess.run([*pip, *build.dependencies()], check=True)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path / "cython"))
    build.root, build.folder = tmp_path, tmp_path / "build"
    build.folder.mkdir()
    for name in (hook.SHARED, *(source.stem for source in SOURCES)):
        shutil.copy(build.compiled(name), tmp_path / "simhash_hbase" / "kernel")

    program = "import json; from simhash_hbase.kernel import COMPILED; from support.hostile import everything"
    program += "; print(COMPILED); print(json.dumps(everything()))"
    environment = {
        **os.environ,
        "LD_PRELOAD": " ".join(libraries),
        "ASAN_OPTIONS": "detect_leaks=0",
        "PYTHONMALLOC": "malloc",
        "PYTHONPATH": os.pathsep.join([str(tmp_path), str(tmp_path / "tests")]),
    }
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
    )

    assert done.returncode == 0, done.stderr[-3_000:]
    is_compiled, made = done.stdout.splitlines()
    assert is_compiled == "True"
    assert json.loads(made) == json.loads(json.dumps(everything()))


def _library(gcc, name):
    """Return the path of a library of gcc, None where it has none."""
    path = subprocess.run([gcc, f"-print-file-name={name}"], capture_output=True, text=True, check=True).stdout.strip()
    return path if os.path.isabs(path) else None
