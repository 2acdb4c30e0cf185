"""Passages of a table's texts that other documents contain, too, for `mark_passages`."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import msgspec.inspect as described
import pyarrow as pa

from simhash_hbase.features.chunks import analyse
from simhash_hbase.index.answers import PassagesAnswer
from simhash_hbase.index.arguments import PassageSearch
from simhash_hbase.index.index import Index
from simhash_hbase.index.jsonforms import REPEATED
from simhash_hbase.index.passages import check_kept
from simhash_hbase.inputs import DOCUMENT_BYTES, InputOptions
from simhash_hbase.stores.addresses import Address
from simhash_hbase.tables.request import Read, Refused, TableRequest, opened


def _column_type(shape: described.Type) -> pa.DataType:
    """Return the Arrow type of a column whose values msgspec describes, such as a list of objects."""
    match shape:
        case described.StructType(fields=fields):
            return pa.struct([(field.encode_name, _column_type(field.type)) for field in fields])
        case described.ListType(item_type=items):
            return pa.list_(_column_type(items))
        case described.Metadata(type=plain):
            return _column_type(plain)
    types = {described.IntType: pa.int64(), described.FloatType: pa.float64(), described.BoolType: pa.bool_()}
    return types.get(type(shape), pa.string())


# The row has its id already.
COLUMNS = pa.schema([field for field in _column_type(described.type_info(REPEATED.shape())) if field.name != "id"])


class PassagesRequest(TableRequest[PassagesAnswer]):
    """One call of `mark_passages`: its columns, and the options of `PassageTableOptions`."""

    added = COLUMNS
    index: Index | Address

    def __init__(
        self,
        text: str,
        id: str | None,
        index: Index | Address,
        search: PassageSearch,
        *,
        max_document_bytes: int = DOCUMENT_BYTES,
        progress: bool = False,
    ) -> None:
        super().__init__(text, id, index, max_document_bytes=max_document_bytes, progress=progress)
        self._search = search

    def input_options(self, id_field: str) -> InputOptions:
        """Return how rows are read: their columns, and the metadata field whose value other documents must share."""
        return InputOptions(
            id_field=id_field,
            text_field=self.text,
            max_document_bytes=self.max_document_bytes,
            metadata_fields=() if self._search.same is None else (self._search.same,),
        )

    def results(self, read: Read, rows: int | None = None) -> Iterator[tuple[int, PassagesAnswer]]:
        """Yield row numbers, ascending, with the passages of their texts.

        A row without a usable text is refused: none is yielded for it, and a warning at the end counts such rows.
        """
        refused = Refused("passages")
        with opened(self.index, readonly=True) as index:
            check_kept(index.profile)
            for chunk in analyse(self.records("passages", read, rows), None, soon=True):
                for reject in chunk.rejects:
                    refused.add(reject)
                if self.id is None:
                    # The number of a row is the id of no document of the index.
                    chunk.documents = [replace(document, id="") for document in chunk.documents]
                yield from refused.results(index.repeated(chunk, self._search))
        refused.warn()

    def values(self, result: PassagesAnswer) -> Sequence[object]:
        """Return a row's values for the columns of `COLUMNS`, from the passages found in its text."""
        record = REPEATED.write(result)
        return [record[name] for name in COLUMNS.names]
