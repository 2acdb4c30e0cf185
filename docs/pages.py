"""The pages of the site: the README pages as they are, and three that are generated from the program.

``./scripts/docs`` calls it with the folder in which the site is built.
"""

import inspect
import re
import shutil
import subprocess
import sys
from pathlib import Path

import click

import simhash_hbase
from simhash_hbase.cli.app import COMMANDS, PROGRAM, cli
from simhash_hbase.service import create_app
from simhash_hbase.service.pages import reference_page

ROOT = Path(__file__).parents[1]
LINK = re.compile(r'\]\(([^)\s#]+)|<img src="([^"]+)"|srcset="([^"]+)"')
WIDTH = 100
GROUPS = {
    "Indexes": "create_index open_index Index",
    "Answers": "Answer Match Decision Stored Copies Copy",
    "What is frozen in an index": "Profile MatchRule Scheme IdfTable",
    "From a text to a fingerprint": (
        "Analyzer WeightedAnalyzer JiebaAnalyzer LearnedAnalyzer ShingleAnalyzer Fingerprinter fingerprint hamming"
        " cosine row_keys Entries Deduplicator"
    ),
    "Tables": "tables.drop_near_duplicates tables.mark_near_duplicates",
}


def readme_pages() -> list[Path]:
    """Return the paths of all pages that git has or would take."""
    words = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard", "--", "*.md"]
    listed = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return sorted(Path(name) for name in listed if name and (ROOT / name).exists())


def copy_pages(folder: Path) -> None:
    """Copy the pages, and the files that they link to, into a folder."""
    for page in readme_pages():
        text = (ROOT / page).read_text(encoding="utf-8")
        links = [ROOT / page.parent / "".join(found) for found in LINK.findall(text) if "://" not in "".join(found)]
        for path in [ROOT / page, *(link.resolve() for link in links)]:
            target = folder / path.relative_to(ROOT)
            target.parent.mkdir(parents=True, exist_ok=True)
            if path.is_file():
                shutil.copyfile(path, target)


def commands_page() -> str:
    """Return the page of all commands, as their help has them."""
    parts = [f"# All options of {PROGRAM}\n", code_block(help_of(cli, PROGRAM))]
    for name in COMMANDS:
        command = cli.get_command(click.Context(cli), name)
        assert command is not None
        parts.append(f"## {name}\n\n{code_block(help_of(command, f'{PROGRAM} {name}'))}")
        if isinstance(command, click.Group):
            inner = {each: command.get_command(click.Context(command), each) for each in sorted(command.commands)}
            parts += [
                f"### {name} {each}\n\n{code_block(help_of(one, f'{PROGRAM} {name} {each}'))}"
                for each, one in inner.items()
                if one is not None
            ]
    return "\n".join(parts)


def help_of(command: click.Command, words: str) -> str:
    """Return the help of a command."""
    context = click.Context(command, info_name=words, terminal_width=WIDTH, max_content_width=WIDTH)
    return command.get_help(context)


def code_block(text: str) -> str:
    """Return a text as a block of a page."""
    return f"```text\n{text}\n```\n"


def library_page() -> str:
    """Return the page of all public names, for mkdocstrings to fill."""
    errors = [name for name in simhash_hbase.errors.__all__ if name != "SimhashError"]
    grouped = " ".join(GROUPS.values()).split()
    rest = [name for name in simhash_hbase.__all__ if name not in {*grouped, *errors, "SimhashError", "__version__"}]
    tree = inspect.getdoc(simhash_hbase.errors) or ""
    parts = ["# The library\n\nAll public names, from their docstrings.\n"]
    for title, names in {**GROUPS, "Other names": " ".join(rest)}.items():
        parts += [f"## {title}\n", *(f"::: simhash_hbase.{name}\n" for name in names.split())]
    parts += [f"## Errors\n\n{code_block(tree.partition('::')[2].strip())}", "::: simhash_hbase.SimhashError\n"]
    return "\n".join([*parts, *(f"::: simhash_hbase.{name}\n" for name in errors)])


def http_page() -> str:
    """Return the page of all routes, whose content is that of the service's own reference."""
    with simhash_hbase.create_index("memory:", analyzer="shingle") as index:
        html = reference_page(create_app(index, keys=None).openapi())
    [content] = re.findall(r"<main>(.*)</main>", html, re.DOTALL)
    return f'# The HTTP API: all routes\n\n<div class="routes">\n{content.replace("<h1", "<h2")}\n</div>\n'


def write_pages(folder: Path) -> None:
    """Write the configuration and all pages."""
    shutil.rmtree(folder, ignore_errors=True)
    pages = folder / "pages"
    (pages / "reference").mkdir(parents=True)
    shutil.copyfile(ROOT / "docs" / "zensical.toml", folder / "zensical.toml")
    copy_pages(pages)
    for name, text in {"commands": commands_page(), "library": library_page(), "http": http_page()}.items():
        (pages / "reference" / f"{name}.md").write_text(text, encoding="utf-8")


if __name__ == "__main__":
    write_pages(Path(sys.argv[1]))
