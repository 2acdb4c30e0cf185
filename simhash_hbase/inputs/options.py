"""Options for reading the input: formats, encodings, names of fields, limits."""

from dataclasses import dataclass

from simhash_hbase.errors import InvalidArgument
from simhash_hbase.inputs.encodings import AUTO, checked_codec
from simhash_hbase.inputs.preference import Preference
from simhash_hbase.plugins import INPUTS, offered_names

ID_PREFIXES = ("file",)
SIMHASH_FORMATS = ("hex", "decimal", "signed")
FORMATS = ("jsonl", "csv", "tsv", "text", "folder", "html", "warc", "wet", "parquet")
DOCUMENT_BYTES = 8 << 20  # The default limit of a text: the longest Western novels have 4 to 7 MB.
PAGE_BYTES = 4 << 20
"""A longer page is refused: its tree would take several hundred MB. Crawlers cut pages at 1 to 5 MB."""
PART_BYTES = 4 << 20
"""Bytes of a part of the input: some 700 Chinese articles, which take a process a quarter of a second."""
RESULT_BYTES = 64 << 20
"""Most bytes of a part's results, about, that a process holds and sends: a file of 300 KB may unpack to 300 MB."""
RECORD_BYTES = 512  # Bytes of the results of a record without its own bytes, about.
RAISE = "`max_document_bytes` raises the limit"  # Advice about a document that is too long.
_RECORD = 4


@dataclass(frozen=True, kw_only=True)
class InputOptions:
    """Options for reading the input: format, encoding, names of fields, limits; checked on construction.

    Examples
    --------
    >>> InputOptions(encoding="gbk").encoding
    'gbk'
    """

    format: str | None = None  # One of `FORMATS`; None goes by the file's name, and standard input is then JSON lines.
    encoding: str = "utf-8"
    """A codec's name, or ``"auto"``; a byte order mark at the start of a file wins over both. Pages
    that declare another one are decoded by that."""
    id_field: str | None = None
    """The field of the id, which every record must have; None is ``"id"``, or file and line where a record lacks it."""
    id_prefix: str | None = None
    """``"file"`` puts the file's name before the id of each record, for ids that begin anew in each file."""
    text_field: str = "text"
    simhash_field: str | None = None  # The field of the caller's own fingerprint, read instead of a text.
    simhash_format: str | None = None
    """One of `SIMHASH_FORMATS`: how fingerprints are written; None tells it by the column, if it can be only one."""
    features_field: str | None = None  # The field of the caller's own features, read instead of a text.
    metadata_fields: tuple[str, ...] = ()
    """Fields to copy; together at most 1 KB as compact JSON. Where none is named, pages have all of theirs."""
    agree_field: str | None = None
    """The field that the profile's ``agree`` names; it is copied into the metadata besides the other fields."""
    preference: Preference | None = None  # The order of preference, by a field of the record.
    by_field: str | None = None  # The field that names the source of a record, for figures by source.
    new_fields: tuple[
        str, ...
    ] = ()  # Fields that are written into records: one that has them already ends the reading.
    stdin: str | None = None
    """A file to read in place of ``"-"``, for a caller that has copied standard input to read it twice."""
    lasting: bool = False
    """Whether documents go into an index that stays: from standard input a record without an id is refused then."""
    keep_raw: bool = False  # Whether documents carry the input's own bytes.
    titles: bool = False  # Whether documents carry the field of a record that is called ``title``.
    max_document_bytes: int = DOCUMENT_BYTES
    """A longer text, in bytes of UTF-8, is refused: its analysis takes many times as much memory. So is a longer record
    with features. Pages have a lower limit of their own."""
    max_record_bytes: int | None = None
    """A longer line, CSV record or file of a folder is refused; None is four times ``max_document_bytes``, as a record
    has other fields, and JSON may write six bytes for a character."""
    block_bytes: int = 1 << 20  # How much is read and decompressed at a time.

    def __post_init__(self) -> None:
        for name, what, value, known in (
            ("format", "input format", self.format, _formats(self.format)),
            ("id_prefix", "id prefix", self.id_prefix, ID_PREFIXES),
            ("simhash_format", "simhash format", self.simhash_format, SIMHASH_FORMATS),
        ):
            if value is not None and value not in known:
                sentence = f"{what} {value!r} is unknown; there are {', '.join(known)}"
                raise InvalidArgument(sentence, parameter=name)
        if self.encoding != AUTO:
            checked_codec(self.encoding)
        if self.simhash_field is not None and self.features_field is not None:
            raise InvalidArgument("give a simhash field or a features field, not both")
        if self.simhash_format is not None and self.simhash_field is None:
            raise InvalidArgument("`simhash_format` goes with `simhash_field`")
        if isinstance(self.metadata_fields, str):
            raise InvalidArgument("metadata_fields is a tuple of names, not one string")
        if not all((self.id_name, self.source_field, *self.metadata_fields)) or self.by_field == "":
            raise InvalidArgument("a field's name must not be empty")
        if self.id_name == self.source_field:
            raise InvalidArgument(f"field {self.id_name!r} cannot be both the id and the content to fingerprint")
        if min(self.max_document_bytes, self.record_bytes, self.block_bytes) < 1:
            raise InvalidArgument("max_document_bytes, max_record_bytes and block_bytes must be at least 1")

    @property
    def record_bytes(self) -> int:
        """Longest record that is read, in bytes: `max_record_bytes`, by default four times `max_document_bytes`."""
        return _RECORD * self.max_document_bytes if self.max_record_bytes is None else self.max_record_bytes

    @property
    def id_name(self) -> str:
        """The name of the field that has a record's id."""
        return "id" if self.id_field is None else self.id_field

    @property
    def source_field(self) -> str:
        """The name of the field that has a record's content: its text, or a fingerprint or features instead."""
        for name in (self.simhash_field, self.features_field):
            if name is not None:
                return name
        return self.text_field

    @property
    def kept_fields(self) -> tuple[str, ...]:
        """The names of the fields of a record that are copied into the document's metadata, without repeats."""
        agree = () if self.agree_field is None else (self.agree_field,)
        return tuple(dict.fromkeys((*self.metadata_fields, *agree)))

    @property
    def record_fields(self) -> tuple[str, ...]:
        """The names of all fields that are read from a record, without repeats."""
        ranked = (self.preference.field,) if self.preference and self.preference.field else ()
        by = () if self.by_field is None else (self.by_field,)
        return tuple(dict.fromkeys((self.id_name, self.source_field, *self.kept_fields, *ranked, *by)))


def _formats(name: str | None) -> tuple[str, ...]:
    """Return the names of the input formats, those of plug-ins too if `name` is none of this package's formats."""
    return FORMATS if name in (None, *FORMATS) else (*FORMATS, *offered_names(INPUTS))
