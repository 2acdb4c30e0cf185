// What tells the two Thrift gateways of HBase apart: the first call is known to both from HBase 2.1 on and to neither
// before; the second one is known to Thrift 1 alone.

enum ServerType { ONE = 1, TWO = 2 }

exception IOFailure { 1: binary message }
exception IllegalArgument { 1: binary message }

service Either {
  ServerType getThriftServerType()
  void scannerClose(1: i32 id) throws (1: IOFailure io, 2: IllegalArgument ia)
}
