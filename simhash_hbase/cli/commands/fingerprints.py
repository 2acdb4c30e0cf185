"""The commands for texts that need no index: ``simhash-hbase fingerprint`` and ``explain``."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from simhash_hbase import corpus, inputs
from simhash_hbase.cli import exits, options
from simhash_hbase.cli.help import command, option
from simhash_hbase.errors import EmptyDocument, InvalidArgument, InvalidInput, no_words
from simhash_hbase.profile import defaults

if TYPE_CHECKING:
    from simhash_hbase.cli.options import Choice, Output
    from simhash_hbase.features.analysis import Analysis
    from simhash_hbase.index.local import LocalIndex
    from simhash_hbase.profile import Profile
    from simhash_hbase.report.explain import ComparedDocument

SHOWN_CHARACTERS = 200
# The form of a misspelt file name: one word with a suffix or a folder.
LIKE_A_FILE = re.compile(r"\S{0,250}(\.[A-Za-z][A-Za-z0-9]{0,7}|[/\\]\S{1,250})")


@command(
    "fingerprint",
    examples=[
        "simhash-hbase fingerprint --text '我是蓝翔技工拖拉机学院手扶拖拉机专业的。' --explain",
        "simhash-hbase fingerprint --profile-of file:news.index today.jsonl.gz",
    ],
)
@options.optional_files
@options.collected(
    "choice",
    option("--text", "texts", multiple=True, help="A text to fingerprint. Repeatable."),
    option("--profile-of", metavar="URL", help="Use the profile of this index."),
    options.learn_from,
    option("--explain", is_flag=True, help="Show features, weights and bits."),
)
@options.fingerprint
@options.reading
@options.output
def fingerprint(files: tuple[str, ...], choice: Choice, prints: Choice, reading: corpus.Reading, output: Output) -> int:
    """Print ids and fingerprints; no index is needed."""
    if not (files or choice.texts):
        raise InvalidArgument("nothing to fingerprint: name a FILE or --text")
    if choice.profile_of is None:
        analysis = _analysis_for(prints, choice.learn_from, reading.settings, output)
    else:
        if options.profile_fields(prints) or choice.learn_from:
            named = options.named_options(prints, options.Choice(learn_from=choice.learn_from))
            raise InvalidArgument(f"--profile-of takes everything from the index: leave out {named}")
        with options.open_local_index(choice.profile_of, readonly=True) as index:
            analysis = index.analysis
    with output:
        for text in choice.texts:
            analysed = analysis.texts(["text"], [text])
            if analysed.refused:
                raise EmptyDocument(no_words())
            simhash = int(analysed.entries.simhashes[0])
            output.line(_record(analysis, "text", simhash, text if choice.explain else None))
        if not files:
            return exits.DONE
        with corpus.Documents("fingerprint", files, reading, output.listener) as documents:
            documents.joins = False
            for chunk in documents.chunks(analysis, analysis.profile, with_texts=choice.explain):
                simhashes = chunk.entries.simhashes.tolist()
                for document, simhash in zip(chunk.kept, simhashes, strict=True):
                    output.line(_record(analysis, document.id, simhash, document.text if choice.explain else None))
                output.flush()
        output.summary("fingerprint", documents.read, refused=documents.refused)
    return exits.after(documents.refused)


def _analysis_for(prints: Choice, learn_from: Sequence[str], settings: inputs.InputOptions, output: Output) -> Analysis:
    """Return the analysis, which makes fingerprints of texts, for the options of ``fingerprint``; no index is read."""
    from simhash_hbase.api import resolve_profile
    from simhash_hbase.features.analysis import Analysis

    fields = options.profile_fields(prints)
    if settings.features_field is not None:
        fields.setdefault("analyzer", "weighted")
    texts = corpus.sample.texts_of(learn_from, settings, output.listener) if learn_from else None
    return Analysis(*resolve_profile(texts, **fields))


def _record(analysis: Analysis, name: str, simhash: int, text: str | None) -> dict[str, object]:
    from simhash_hbase.index.jsonforms import hex_simhash

    record: dict[str, object] = {"id": name, "simhash": hex_simhash(simhash)}
    if text is None:
        return record
    features = analysis.analyzer.features(text)
    return {**record, "bits": f"{simhash:064b}", "features": [[word, weight] for word, weight in features]}


@dataclass(frozen=True)
class _Sides:
    """Finds the documents A and B of ``explain``, which the user names by a file, a stored id, or the text itself."""

    analysis: Analysis
    index: LocalIndex | None
    as_text: bool
    settings: inputs.InputOptions
    own: Choice  # Fields of the caller's own fingerprints or features.
    output: Output

    def find(self, word: str) -> tuple[ComparedDocument, str | None]:
        """Return the document that an argument names, and its text, or None: the index keeps no texts.

        The argument is taken as the name of a file if there is one, else as the id of a stored document, else as text.
        """
        from simhash_hbase.report.explain import ComparedDocument

        if self.as_text:
            return self.of_text("text", word)
        if _is_file(Path(word)):
            return self.of_file(word)
        if self.index is not None and (entries := self.index.entries_of(word)) is not None:
            stored, decision = self.index.get(word), None
            if stored is not None and stored.of is not None:
                decision = {"of": stored.of, "distance": stored.distance, "similarity": stored.similarity}
            return ComparedDocument(word, entries, decision=decision), None
        kinds = "neither a file nor a stored id" if self.index is not None else "no file"
        if any(vars(self.own).values()):
            raise InvalidInput(
                f"{word[:SHOWN_CHARACTERS]} is {kinds}: your own fingerprints and features have to be in files"
            )
        if LIKE_A_FILE.fullmatch(word):
            raise InvalidInput(f"{word} is {kinds}: add --text to compare A and B as texts")
        if self.index is not None or not re.search(r"\s", word):
            self.output.note(f"{word[:SHOWN_CHARACTERS]}: {kinds}, so it is taken as a text")
        return self.of_text("text", word)

    def of_text(
        self, name: str, text: str, metadata: dict[str, object] | None = None
    ) -> tuple[ComparedDocument, str | None]:
        from simhash_hbase.report.explain import ComparedDocument

        return ComparedDocument.of_text(name, text, self.analysis).with_metadata(metadata), text

    def of_file(self, path: str) -> tuple[ComparedDocument, str | None]:
        from simhash_hbase.report.explain import ComparedDocument

        kind = inputs.SUFFIXES.get(inputs.Source(path, path, path).suffix, "text")
        settings = replace(self.settings, agree_field=self.analysis.profile.agree)
        if not any(vars(self.own).values()):
            # A page is read for its main text, as where it is added; a text file is taken whole.
            document = _only_document(path, replace(settings, format="folder" if kind == "text" else kind))
            return self.of_text(path, document.text or "", document.metadata)
        settings = replace(settings, format="jsonl" if kind in ("text", "html") else kind, **vars(self.own))
        document = _only_document(path, settings)
        if document.simhash is not None:
            own = ComparedDocument(path, self.analysis.fingerprints([path], [document.simhash]).entries)
        else:
            own = ComparedDocument.of_features(path, document.features or [], self.analysis)
        return own.with_metadata(document.metadata), None


@command(
    "explain",
    examples=[
        "simhash-hbase explain file:news.index a.txt b.txt --format table",
        "simhash-hbase explain '我 喜欢 看 电视，不 喜欢 看 电影' '我 不 喜欢 看 电视，也 不 喜欢 看 电影'",
    ],
)
@click.argument("words", nargs=-1, required=True, metavar="[URL] A B")
@options.collected(
    "choice",
    option("--text", is_flag=True, help="A and B are texts, even if they look like names of files or ids."),
    option("--scheme", metavar="BxC", show_default=defaults.SCHEME, help="Without URL: the blocks to show."),
    option(
        "--html",
        type=click.Path(dir_okay=False),
        metavar="FILE",
        help="Write a page for people to FILE: both texts side by side, and the features that pull them apart.",
    ),
    options.collection,
)
@options.sample
@options.fingerprint
@options.own
@options.output
def explain(
    words: tuple[str, ...], choice: Choice, sample: Choice, prints: Choice, own: Choice, output: Output
) -> None:
    """Show why two documents are near or not: bits, blocks, tables, features.

    A and B are each the name of a file, the id of a stored document (with URL), or else a text. Of a web page the main
    text counts; a file of JSON lines, CSV, Parquet, ... holds one record. With --simhash-field or
    --features-field, the record holds your own fingerprint or features. --input-format is for the documents of
    --learn-from.
    """
    from simhash_hbase.stores.addresses import is_address

    corpus.documents.check_destinations(
        inputs.Sources([word for word in words if _is_file(Path(word))]), {"`html`": choice.html}
    )
    how: dict[str, Any] = {"as_text": choice.text, "settings": sample.settings, "own": own, "output": output}
    if is_address(words[0]):
        if options.profile_fields(prints) or sample.learn_from or choice.scheme:
            named = options.named_options(prints, options.Choice(learn_from=sample.learn_from, scheme=choice.scheme))
            raise InvalidArgument(f"the index has its own profile: leave out {named}, or URL")
        pair = _pair(words[1:])
        with options.open_local_index(words[0], collection=choice.collection, readonly=True) as index:
            _show(_Sides(index.analysis, index, **how), pair, index.profile, html=choice.html)
        return
    if choice.collection is not None:
        raise InvalidArgument("a collection is part of an index: name the index by URL, or leave out --collection")
    pair = _pair(words)
    own_settings = replace(sample.settings, features_field=own.features_field)
    analysis = _analysis_for(prints, sample.learn_from, own_settings, output)
    profile = analysis.profile.replace(scheme=choice.scheme or defaults.SCHEME)
    _show(_Sides(analysis, None, **how), pair, profile, html=choice.html)


def _pair(words: Sequence[str]) -> tuple[str, str]:
    if len(words) != 2:  # noqa: PLR2004
        raise InvalidArgument("two documents are compared: simhash-hbase explain [URL] A B")
    return words[0], words[1]


def _show(sides: _Sides, words: Sequence[str], profile: Profile, *, html: str | None) -> None:
    from simhash_hbase.cli.screen.tables import ComparedPair
    from simhash_hbase.files.local import replacing
    from simhash_hbase.profile.profile import SEGMENTING
    from simhash_hbase.report.explain import compare, word_cosine
    from simhash_hbase.report.page import comparison_page

    output = sides.output
    (a, text_a), (b, text_b) = (sides.find(word) for word in words)
    index = sides.index if profile.match == "copied" else None
    passages = index.compare_passages(a.entries, b.entries) if index is not None else None
    record = compare(a, b, profile, passages)
    if index is not None and passages is not None and len(passages.counted):
        texts = (("counted_a", text_a), ("counted_b", text_b))
        record |= {name: index.counted_spans(text, passages) for name, text in texts if text is not None}
    if text_a is not None and text_b is not None and profile.analyzer in SEGMENTING:
        record["word_cosine"] = word_cosine(text_a, text_b)
    if html is not None:
        if text_a is None or text_b is None:
            raise InvalidArgument("--html shows texts, which an index does not keep: name two files or texts")
        with replacing(html) as file:
            file.write(comparison_page((text_a, text_b), record))
    with output:
        output.record(record, drawn=ComparedPair(a, b, record, profile).drawn)


def _only_document(path: str, settings: inputs.InputOptions) -> inputs.Document:
    records = list(islice(inputs.read([path], settings), 2))
    if len(records) != 1:
        held = "more than one document" if records else "no document"
        raise InvalidInput(f"{path} holds {held}: wanted one; write the one that you mean into a file of its own")
    [record] = records
    if isinstance(record, inputs.Reject):
        raise InvalidInput(f"{record.place}: {record.reason}")
    return record


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except (OSError, ValueError):
        # Too long for a name, or with a NUL: a text.
        return False
