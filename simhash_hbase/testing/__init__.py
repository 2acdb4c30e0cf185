"""The contract of stores as tests by pytest, for whoever writes a store in another package (extra ``test``).

A test file of that package has a class with a fixture ``store``:

>>> import pytest
>>> from simhash_hbase.testing import StoreContract, TransactionContract
>>> class TestMyStore(StoreContract, TransactionContract):
...     @pytest.fixture
...     def store(self, tmp_path):
...         store = MyStore.create(f"mine:{tmp_path}")
...         yield store
...         store.close()
"""

from simhash_hbase.errors import missing_extra

try:
    import pytest
except ImportError as error:
    raise missing_extra("the tests of a store need pytest", "test") from error

# Without rewriting, a failed assertion would not show its values.
pytest.register_assert_rewrite("simhash_hbase.testing.contract")

from simhash_hbase.testing.contract import StoreContract, TransactionContract  # noqa: E402

__all__ = ["StoreContract", "TransactionContract"]
