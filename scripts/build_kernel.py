"""The build hook: compiles the kernel where that is possible; the package works without, some hundred times slower.

Compiled are those modules of ``simhash_hbase/kernel`` that import ``uncompiled as cython``. SIMHASH_HBASE_PURE=1 leaves
them as they are, SIMHASH_HBASE_CHECKED=1 has every index checked, for tests.
"""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from hashlib import blake2b
from pathlib import Path

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KERNEL = "simhash_hbase/kernel"
PACKAGE = "simhash_hbase.kernel"
IMPORT = b"from simhash_hbase.kernel import uncompiled as cython"
SHARED = "shared"  # What Cython's modules have in common is compiled once.
SUFFIX = sysconfig.get_config_var("EXT_SUFFIX")
HEADERS = Path(sysconfig.get_paths()["include"])
PURE = bool(os.environ.get("SIMHASH_HBASE_PURE"))
CHECKED = bool(os.environ.get("SIMHASH_HBASE_CHECKED"))
DIRECTIVES = {
    "boundscheck": CHECKED, "initializedcheck": CHECKED, "wraparound": False, "cdivision": True, "infer_types": True,
    "show_performance_hints": False, "legacy_implicit_noexcept": True,
}  # fmt: skip
# No fused multiplication and addition, which some processors have: sums are those of the interpreted kernel to the bit.
FLAGS = ["-g0", "-fPIC", "-fwrapv", "-ffp-contract=off", "-w", f"-I{HEADERS}"]
FLAGS += ["-bundle", "-undefined", "dynamic_lookup"] if sys.platform == "darwin" else ["-shared"]


class KernelHook(BuildHookInterface):
    """Adds the compiled modules to the wheel; an editable installation has them beside their sources."""

    def dependencies(self) -> list[str]:
        """Name the compilers that the index gives: Cython, and Zig's C where the machine has none."""
        if not possible():
            return []
        return ["cython>=3.3,<3.4", *([] if machine_compiler() else ["ziglang>=0.17,<0.18"])]

    def initialize(self, version: str, build_data: dict) -> None:
        """Compile into a folder of this build; an editable installation has the modules beside their sources."""
        self.temporary = tempfile.TemporaryDirectory()
        self.folder = Path(self.temporary.name)
        kernel = Path(self.root, KERNEL)
        modules: list[Path] = []
        if possible():
            # The largest first, so that none of them is left for the end.
            sources = sorted(kernel.glob("*.py"), key=lambda source: source.stat().st_size, reverse=True)
            names = [source.stem for source in sources if IMPORT in source.read_bytes()]
            with ThreadPoolExecutor(os.cpu_count()) as pool:
                modules = list(pool.map(self.compiled, [SHARED, *names]))
            build_data.update(pure_python=False, infer_tag=True)
        elif not PURE:
            self.app.display_warning(f"The kernel is not compiled: {HEADERS / 'Python.h'} is missing.")
        if version != "editable":
            build_data["force_include"].update({str(module): f"{KERNEL}/{module.name}" for module in modules})
            return
        for module in modules:
            # Replaced, not overwritten: a running process has the old one mapped.
            beside = kernel / f"{module.name}.new"
            shutil.copy(module, beside)
            os.replace(beside, kernel / module.name)
        for other in kernel.glob(f"*{SUFFIX}"):
            if other.name not in {module.name for module in modules}:
                other.unlink()

    def finalize(self, _version: str, _build_data: dict, _artifact: str) -> None:
        """Remove the folder of this build."""
        self.temporary.cleanup()

    def compiled(self, name: str) -> Path:
        """Compile a module, which then holds the digests of its source and of this hook, or take it as it is."""
        source = Path(self.root, KERNEL, f"{name}.py")
        text = b"" if name == SHARED else source.read_bytes()
        digests = f"{digest(text)} {digest(Path(__file__).read_bytes(), repr(DIRECTIVES).encode())}"
        copy, existing = self.folder / source.name, source.with_suffix(SUFFIX)
        c, module = copy.with_suffix(".c"), copy.with_suffix(SUFFIX)
        if existing.exists() and digests.encode() in existing.read_bytes():
            return Path(shutil.copy(existing, module))
        # Names without the folder, which is another one in each build: modules hold them, and builds are to be equal.
        run = partial(run_in, self.folder)
        cython = [sys.executable, "-m", "cython", "-3", "--module-name", f"{PACKAGE}.{name}"]
        if name == SHARED:
            run(*cython, f"--generate-shared={c.name}")
        else:
            copy.write_bytes(text.replace(IMPORT, b"import cython"))
            directives = [f"-X{directive}={value}" for directive, value in DIRECTIVES.items()]
            run(*cython, *directives, "--shared", f"{PACKAGE}.{SHARED}", copy.name, "-o", c.name)
        with c.open("a") as file:
            file.write(f'\nconst char simhash_hbase_digests[] = "{digests}";\n')
        own = machine_compiler()
        compiler = own or (sys.executable, "-m", "ziglang", "cc", "-mcpu=baseline")
        # Nothing of what the modules have in common runs for each character. To Zig -O0 means a build full of checks.
        run(*compiler, "-O0" if name == SHARED and own else "-O2", *FLAGS, c.name, "-o", module.name)
        return module


def digest(*contents: bytes) -> str:
    """Return the digest that the package compares with a source."""
    return blake2b(b"".join(contents), digest_size=16).hexdigest()


def possible() -> bool:
    """Return whether a compiler would find Python's headers, and may look for them."""
    return not PURE and os.name == "posix" and (HEADERS / "Python.h").exists()


def machine_compiler() -> list[str] | None:
    """Return the command of the machine's C compiler; None where it has none."""
    if named := os.environ.get("CC"):
        return shlex.split(named)
    return next(([name] for name in ("cc", "gcc", "clang") if shutil.which(name)), None)


def run_in(folder: Path, *command: str) -> None:
    """Run a compiler; what it says is the error if it fails."""
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(
            f"{shlex.join(command)}\n{done.stdout}{done.stderr}"
            "The kernel cannot be compiled. SIMHASH_HBASE_PURE=1 installs without compiling it."
        )
