"""The messages that are written by hand are those of HBase's own .proto files, which lie in its jars."""

import re
import zipfile
from pathlib import Path

import pytest
from support.gates import absent

from simhash_hbase.errors import SimhashError
from simhash_hbase.stores.hbase.launcher import Downloads, cache_folder
from simhash_hbase.stores.hbase.options import Gateway
from simhash_hbase.stores.hbase.protobuf import Message, bytes_field, number_field
from simhash_hbase.stores.hbase.rpc import messages
from simhash_hbase.stores.hbase.table import TABLE_ATTRIBUTES, TableSchema

pytestmark = pytest.mark.server

FILES = ("RPC", "Client", "Comparator", "Filter", "HBase", "Master", "Registry", "ErrorHandling")
FIELD = re.compile(r"(required|optional|repeated)\s+([\w.]+)\s+(\w+)\s*=\s*(\d+)")
METHOD = re.compile(r"rpc\s+(\w+)\s*\(\s*(\w+)\s*\)\s*returns\s*\(\s*(\w+)\s*\)")
TEXTS, NUMBERS = {"string", "bytes"}, {"int32", "int64", "uint32", "uint64", "bool"}


class Definitions:
    """The messages, enumerations and methods of .proto files, by their names."""

    def __init__(self, jar):
        self.fields, self.enums, self.methods = {}, set(), {}
        with zipfile.ZipFile(jar) as packed:
            # Version 3 has folders, and 2.4 no file for the registry: its messages are in that of the master.
            for name in packed.namelist():
                if name.endswith(".proto") and Path(name).stem in FILES:
                    self._read(packed.read(name).decode())

    def _read(self, text):
        text = re.sub(r"/\*.*?\*/", "", re.sub(r"//.*", "", text), flags=re.S)
        self.methods |= {name: (taken, given) for name, taken, given in METHOD.findall(text)}
        open_blocks = []
        for token in re.finditer(r"(message|enum|service|oneof|extend)\s+(\w+)\s*\{|" + FIELD.pattern + r"|[{}]", text):
            kind, name, label, form, field, number = token.groups()
            if kind:
                open_blocks.append((kind, name))
                if kind == "message":
                    self.fields.setdefault(name, {})
                elif kind == "enum":
                    self.enums.add(name)
            elif label:
                message = next(name for kind, name in reversed(open_blocks) if kind == "message")
                self.fields[message][int(number)] = (field, form.rpartition(".")[2], label)
            elif token[0] == "{":
                open_blocks.append(("", ""))
            else:
                open_blocks.pop()

    def read(self, kind, data):
        """Read a message into its fields by name; every field must be known, and none that is required absent."""
        message, found = Message(data), {}
        for number in message._fields:
            name, form, label = self.fields[kind][number]
            if form in TEXTS:
                values = message.contents(number)
            elif form in NUMBERS or form in self.enums:
                values = message.numbers(number)
            else:
                values = [self.read(form, content) for content in message.contents(number)]
            assert label == "repeated" or len(values) == 1
            found[name] = values if label == "repeated" else values[0]
        required = {name for name, _, label in self.fields[kind].values() if label == "required"}
        assert required <= set(found), f"{kind} lacks {required - set(found)}"
        return found


LOCK = Path(__file__).parents[1] / "support" / "protocols.lock"


@pytest.fixture(scope="module")
def jars():
    try:
        return Downloads(cache_folder()).jars(LOCK)
    except SimhashError as error:
        absent(f"the messages of HBase cannot be fetched: {error}")


@pytest.fixture(scope="module", params=["2.4.17", "2.5.8-hadoop3", "2.6.1-hadoop3", "3.0.0-beta-1"])
def definitions(request, jars):
    return Definitions(jars / f"hbase-protocol-shaded-{request.param}.jar")


REGION = {"type": 1, "value": b"t,,1"}


def test_scans_are_those_of_the_definitions(definitions):
    scan = messages.Scan("d", b"a", b"b", bytes_field(1, b"Name") + bytes_field(2, b"x"), batch=16, stream=True)
    assert definitions.read("ScanRequest", messages.open_scan(b"t,,1", scan, 7, close=True)) == {
        "region": REGION,
        "scan": {
            "column": [{"family": b"d"}],
            "start_row": b"a",
            "stop_row": b"b",
            "filter": {"name": b"Name", "serialized_filter": b"x"},
            "cache_blocks": 1,
            "batch_size": 16,
            "caching": 7,
            "readType": 1,
        },
        "number_of_rows": 7,
        "close_scanner": 1,
    }
    assert definitions.read("ScanRequest", messages.go_on_scanning(5, 7, 2)) == {
        "scanner_id": 5,
        "number_of_rows": 7,
        "next_call_seq": 2,
    }
    assert definitions.read("ScanRequest", messages.go_on_scanning(5, 0, 0)) == {
        "scanner_id": 5,
        "number_of_rows": 0,
        "close_scanner": 1,
    }


def test_gets_and_changes_are_those_of_the_definitions(definitions):
    gets = [
        messages.Get(b"r", "d", b"q"),
        messages.Get(b"s", "m", filter=bytes_field(1, b"Name"), limit=9, exists=True, cached=False),
    ]
    read = definitions.read("MultiRequest", messages.multi_gets([(b"t,,1", gets)]))
    assert read["regionAction"][0]["region"] == REGION
    assert read["regionAction"][0]["action"] == [
        {"index": 0, "get": {"row": b"r", "column": [{"family": b"d", "qualifier": [b"q"]}]}},
        {
            "index": 1,
            "get": {
                "row": b"s",
                "column": [{"family": b"m"}],
                "filter": {"name": b"Name"},
                "cache_blocks": 0,
                "store_limit": 9,
                "existence_only": 1,
            },
        },
    ]
    for delete, kind in ((False, 2), (True, 3)):
        read = definitions.read("MultiRequest", messages.multi_mutations([(b"t,,1", 200)], delete=delete))
        mutation = {"mutate_type": kind, "associated_cell_count": 1}
        expected = [{"index": at, "mutation": mutation} for at in range(200)]
        assert read == {"regionAction": [{"region": REGION, "action": expected}]}


def test_a_compare_and_set_is_that_of_the_definitions(definitions):
    for expected, comparable in ((b"old", b"old"), (None, b"")):
        read = definitions.read("MutateRequest", messages.check_and_put(b"t,,1", (b"r", "d", b"q"), expected))
        condition = read["condition"]
        comparator = condition.pop("comparator")
        assert condition == {"row": b"r", "family": b"d", "qualifier": b"q", "compare_type": 2}
        assert comparator["name"] == b"org.apache.hadoop.hbase.filter.BinaryComparator"
        compared = definitions.read("BinaryComparator", comparator["serialized_comparator"])
        assert compared == {"comparable": {"value": comparable}}
        assert read["mutation"] == {"row": b"r", "mutate_type": 2, "associated_cell_count": 1}


def test_headers_are_those_of_the_definitions(definitions):
    header = definitions.read("ConnectionHeader", messages.connection_header("me", messages.CLIENT))
    assert (header["user_info"], header["service_name"]) == ({"effective_user": b"me"}, b"ClientService")
    assert header["version_info"]["version_major"] == 2

    call = messages.RpcCall(Gateway("h", 1), messages.CLIENT, "Multi", b"parameter", b"cells", priority=200)
    written = messages.request(300, call, 1500)
    assert int.from_bytes(written[:4]) == len(written) - 4 + len(b"cells")
    assert definitions.read("RequestHeader", written[5 : 5 + written[4]]) == {
        "call_id": 300,
        "method_name": b"Multi",
        "request_param": 1,
        "cell_block_meta": {"length": 5},
        "priority": 200,
        "timeout": 1500,
    }


def test_a_table_and_its_settings_are_those_of_the_definitions(definitions):
    schema = TableSchema(regions=2)
    written = messages.create_table("news:t", schema, TABLE_ATTRIBUTES)
    read = definitions.read("CreateTableRequest", written)
    assert read["table_schema"]["table_name"] == {"namespace": b"news", "qualifier": b"t"}
    assert read["split_keys"] == schema.split_keys
    families = read["table_schema"]["column_families"]
    assert [family["name"] for family in families] == [b"b", b"d", b"m"]
    assert {"first": b"VERSIONS", "second": b"1"} in families[0]["attributes"]
    assert families[0]["configuration"] == [{"name": b"RowPrefixBloomFilter.prefix_length", "value": b"5"}]

    # Read as the answer to a question for it.
    settings = messages.table_settings(bytes_field(1, Message(written).content(1)))
    assert settings == (
        {family.name: {**family.settings, **family.configuration} for family in schema.families},
        dict(TABLE_ATTRIBUTES),
    )
    definitions.read("GetTableDescriptorsRequest", bytes_field(1, messages.table_name("t")))
    definitions.read("GetProcedureResultRequest", number_field(1, 5))


def test_what_is_read_of_answers_has_these_numbers(definitions):
    numbers = {
        kind: {name: number for number, (name, *_) in fields.items()} for kind, fields in definitions.fields.items()
    }
    for kind, names in {
        "ResponseHeader": {"call_id": 1, "exception": 2, "cell_block_meta": 3},
        "ExceptionResponse": {"exception_class_name": 1, "stack_trace": 2, "do_not_retry": 5},
        "ScanResponse": {"cells_per_result": 1, "scanner_id": 2, "more_results": 3, "more_results_in_region": 8},
        "MultiResponse": {"regionActionResult": 1},
        "RegionActionResult": {"resultOrException": 1, "exception": 2},
        "ResultOrException": {"index": 1, "result": 2, "exception": 3},
        "Result": {"associated_cell_count": 2, "exists": 3},
        "MutateResponse": {"processed": 2},
        "RegionInfo": {"table_name": 2, "start_key": 3, "end_key": 4, "offline": 5, "split": 6},
        "ServerName": {"host_name": 1, "port": 2},
        "RegionLocation": {"region_info": 1, "server_name": 2},
        "GetMetaRegionLocationsResponse": {"meta_locations": 1},
        "GetActiveMasterResponse": {"server_name": 1},
        "TableState": {"state": 1},
        "GetProcedureResultResponse": {"state": 1, "exception": 5},
        "ForeignExceptionMessage": {"generic_exception": 2},
        "GenericExceptionMessage": {"class_name": 1, "message": 2},
    }.items():
        assert names.items() <= numbers[kind].items(), kind


def test_the_methods_have_these_names_and_messages(definitions):
    for method, taken in {
        "Scan": "ScanRequest",
        "Multi": "MultiRequest",
        "Mutate": "MutateRequest",
        "GetMetaRegionLocations": "GetMetaRegionLocationsRequest",
        "GetActiveMaster": "GetActiveMasterRequest",
        "CreateTable": "CreateTableRequest",
        "getProcedureResult": "GetProcedureResultRequest",
        "GetTableDescriptors": "GetTableDescriptorsRequest",
    }.items():
        assert definitions.methods[method][0] == taken
