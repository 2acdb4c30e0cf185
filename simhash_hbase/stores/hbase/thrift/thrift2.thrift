// The calls of HBase's Thrift 2 gateway that the store makes, with the fields it uses and their numbers on the wire.
// The two services are one on the wire: Keys decodes the row keys of an answer alone and skips the cells.

enum DeleteType { DELETE_COLUMNS = 1 }
enum ReadType { STREAM = 2, PREAD = 3 }
enum BloomFilter { NONE = 0, ROW = 1, ROWCOL = 2, ROWPREFIX_FIXED_LENGTH = 3 }
enum Compression { LZO = 0, GZ = 1, NONE = 2, SNAPPY = 3, LZ4 = 4, BZIP2 = 5, ZSTD = 6 }
enum Encoding { NONE = 0, PREFIX = 2, DIFF = 3, FAST_DIFF = 4, ROW_INDEX_V1 = 7 }

struct Column { 1: binary family, 2: optional binary qualifier, 3: optional i64 timestamp }
struct ColumnValue { 1: binary family, 2: binary qualifier, 3: binary value, 4: optional i64 timestamp }
struct Row { 1: optional binary row, 2: list<ColumnValue> columnValues }
struct RowKey { 1: optional binary row }

struct Get {
  1: binary row
  2: optional list<Column> columns
  6: optional binary filterString
  11: optional bool cacheBlocks
  12: optional i32 storeLimit
}
struct Put { 1: binary row, 2: list<ColumnValue> columnValues, 3: optional i64 timestamp }
struct Delete { 1: binary row, 2: optional list<Column> columns, 4: optional DeleteType deleteType }
struct Scan {
  1: optional binary startRow
  2: optional binary stopRow
  3: optional list<Column> columns
  4: optional i32 caching
  8: optional i32 batchSize
  12: optional bool cacheBlocks
  14: optional ReadType readType
  15: optional i32 limit
  18: optional binary filterBytes
}

struct TableName { 1: optional binary ns, 2: binary qualifier }
struct Family {
  1: binary name
  3: optional map<string, string> configuration
  4: optional i32 blockSize
  5: optional BloomFilter bloomnFilterType
  6: optional Compression compressionType
  8: optional Encoding dataBlockEncoding
  10: optional i32 maxVersions
  13: optional i32 timeToLive
  14: optional bool blockCacheEnabled
}
struct Table { 1: TableName tableName, 2: optional list<Family> columns, 3: optional map<binary, binary> attributes }
struct RegionInfo { 1: i64 regionId, 2: binary tableName, 3: optional binary startKey, 4: optional binary endKey }
struct ServerName { 1: string hostName, 2: optional i32 port }
struct RegionLocation { 1: ServerName serverName, 2: RegionInfo regionInfo }

exception IOFailure { 1: optional binary message, 2: optional bool canRetry }

service Cells {
  list<bool> existsAll(1: binary table, 2: list<Get> tgets) throws (1: IOFailure io)
  list<Row> getMultiple(1: binary table, 2: list<Get> tgets) throws (1: IOFailure io)
  list<Row> getScannerResults(1: binary table, 2: Scan tscan, 3: i32 numRows) throws (1: IOFailure io)
  void putMultiple(1: binary table, 2: list<Put> tputs) throws (1: IOFailure io)
  list<Delete> deleteMultiple(1: binary table, 2: list<Delete> tdeletes) throws (1: IOFailure io)
  bool checkAndPut(
    1: binary table, 2: binary row, 3: binary family, 4: binary qualifier, 5: binary value, 6: Put tput
  ) throws (1: IOFailure io)
  list<RegionLocation> getAllRegionLocations(1: binary table) throws (1: IOFailure io)
  Table getTableDescriptor(1: TableName table) throws (1: IOFailure io)
  bool tableExists(1: TableName tableName) throws (1: IOFailure io)
  bool isTableDisabled(1: TableName tableName) throws (1: IOFailure io)
  void createTable(1: Table desc, 2: list<binary> splitKeys) throws (1: IOFailure io)
  void enableTable(1: TableName tableName) throws (1: IOFailure io)
  void disableTable(1: TableName tableName) throws (1: IOFailure io)
  void deleteTable(1: TableName tableName) throws (1: IOFailure io)
}

service Keys {
  list<RowKey> getScannerResults(1: binary table, 2: Scan tscan, 3: i32 numRows) throws (1: IOFailure io)
}
