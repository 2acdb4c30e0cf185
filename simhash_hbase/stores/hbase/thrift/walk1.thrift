// How Thrift 1 opens a scan that leaves the servers' cache alone: happybase's description of a scan lacks that field.

struct Scan {
  1: optional binary startRow
  2: optional binary stopRow
  4: optional list<binary> columns
  5: optional i32 caching
  6: optional binary filterString
  7: optional i32 batchSize
  10: optional bool cacheBlocks
}

exception IOFailure { 1: binary message }

service Walk {
  i32 scannerOpenWithScan(1: binary tableName, 2: Scan scan, 3: map<binary, binary> attributes) throws (1: IOFailure io)
}
