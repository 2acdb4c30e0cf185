"""Make sure of a private Python environment, then run the command in it.

Only the fetching of jars needs other packages, so they are kept apart from the project's own.
"""

import os
import subprocess
import sys
import venv
from pathlib import Path

from provision.errors import ProvisionError
from provision.locking import exclusive

_TREE = Path(__file__).parent.parent
_REQUIREMENTS = _TREE / "requirements.txt"


def cache_folder() -> Path:
    """Tell where downloads are kept for all servers.

    Returns
    -------
    Path
        ``SIMHASH_HBASE_CACHE``, by default ``.cache/hbase`` in the project.
    """
    default = _TREE.parent.parent / ".cache" / "hbase"
    return Path(os.environ.get("SIMHASH_HBASE_CACHE") or default).absolute()


def environment() -> Path:
    """Make the environment, unless it is there and up to date.

    Returns
    -------
    Path
        Its Python.

    Raises
    ------
    ProvisionError
        When it cannot be made, with what pip says.
    """
    folder = cache_folder() / "venv"
    stamp = folder / "made-of.txt"
    wanted = f"Python {sys.version}\n{_REQUIREMENTS.read_text('utf-8')}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with exclusive(folder.with_name("venv.lock")):
        if not stamp.exists() or stamp.read_text("utf-8") != wanted:
            _make(folder)
            stamp.write_text(wanted, "utf-8")
    return folder / "bin" / "python"


def _make(folder: Path) -> None:
    print(f"preparing {folder} ...", file=sys.stderr)
    try:
        venv.create(folder, clear=True, with_pip=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise ProvisionError(
            f"This Python cannot make a virtual environment (Debian: apt install python3-venv): {error}"
        ) from error
    pip = [str(folder / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    done = subprocess.run([*pip, "-r", str(_REQUIREMENTS)], capture_output=True, text=True, check=False)
    if done.returncode:
        raise ProvisionError(f"pip cannot install {_REQUIREMENTS.name}:\n{done.stderr.strip()}")


if __name__ == "__main__":
    try:
        python = str(environment())
    except ProvisionError as failure:
        sys.exit(f"hbase: {failure}")
    os.execv(python, [python, "-m", "provision", *sys.argv[1:]])
