"""Of documents with one id the first; those that come later are refused."""

from collections.abc import Callable, Iterable

from simhash_hbase.inputs import Document, Reject, repeated_id
from simhash_hbase.pipeline.analyse import Chunk
from simhash_hbase.rows.entries import Entries
from simhash_hbase.rows.keys import id_digest


class Once:
    """Passes each id once; `refuse` takes the other documents, and `known` were passed by an earlier run."""

    def __init__(self, refuse: Callable[[Reject], None], known: Iterable[str] = ()) -> None:
        self._refuse = refuse
        self._seen = set(map(id_digest, known))

    def __call__(self, chunk: Chunk) -> tuple[Entries, list[Document]]:
        """Leave out documents whose id came before in this input."""
        entries, documents = chunk.entries, chunk.kept
        keep = []
        for at, document in enumerate(documents):
            digest = id_digest(document.id)
            if digest in self._seen:
                reason = repeated_id(document.id, document.place)
                self._refuse(Reject(document.place, reason, document.raw or b"", document.id))
            else:
                self._seen.add(digest)
                keep.append(at)
        if len(keep) == len(documents):
            return entries, documents
        return entries.take(keep), [documents[at] for at in keep]
