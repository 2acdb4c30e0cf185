"""The folder of a load on any Hadoop file system: its analysed documents, and how far it has come."""

import secrets

import msgspec
from pyspark.sql import SparkSession

from simhash_hbase.errors import InvalidInput

TOKEN_BYTES = 8
FILE = "load.json"


class Progress(msgspec.Struct, kw_only=True):
    """One load."""

    url: str
    profile: str  # Digest of the index's profile.
    input: str  # Digest of the files and of how they are read.
    token: str = msgspec.field(default_factory=lambda: secrets.token_hex(TOKEN_BYTES))  # Names it in the index.
    stamp: int | None = None  # The timestamp of all cells; None until the index was asked for its time.
    order: dict[str, int] | None = None  # Lines before each file; None until all documents are analysed.
    writing: bool = False  # Whether cells may be in the index already.


class WorkPlace:
    """The folder."""

    def __init__(self, spark: SparkSession, path: str) -> None:
        self.path = path.rstrip("/")
        self.documents = f"{self.path}/documents"
        self._jvm = spark._jvm
        self._file = self._jvm.org.apache.hadoop.fs.Path(f"{self.path}/{FILE}")
        self._new = self._jvm.org.apache.hadoop.fs.Path(f"{self.path}/{FILE}.new")
        self._system = self._file.getFileSystem(spark._jsc.hadoopConfiguration())

    def read(self) -> Progress | None:
        """Read how far the load has come; None before it was begun."""
        path = next((path for path in (self._file, self._new) if self._system.exists(path)), None)
        if path is None:
            return None
        stream = self._system.open(path)
        content = bytes(self._jvm.org.apache.commons.io.IOUtils.toByteArray(stream))
        stream.close()
        try:
            return msgspec.json.decode(content, type=Progress)
        except msgspec.MsgspecError as error:
            raise InvalidInput(f"{self.path}/{FILE} does not describe a load: {error}") from error

    def save(self, progress: Progress) -> None:
        """Replace the file: the new one is whole before it gets the name."""
        stream = self._system.create(self._new, True)
        stream.write(bytearray(msgspec.json.encode(progress)))
        stream.close()
        # A rename does not replace on every file system; after a crash in between the new one is read.
        self._system.delete(self._file, False)
        self._system.rename(self._new, self._file)

    def remove(self) -> None:
        """Delete the folder's own files, and the folder if nothing else is in it."""
        folder = self._file.getParent()
        self._system.delete(self._jvm.org.apache.hadoop.fs.Path(self.documents), True)
        self._system.delete(self._file, False)
        if not len(self._system.listStatus(folder)):
            self._system.delete(folder, False)
