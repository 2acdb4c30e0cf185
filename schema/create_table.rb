# Makes the table of an index by hand: hbase shell schema/create_table.rb
# Then run simhash-hbase create hbase://host:port/simhash, which takes the table over. Change as needed: the name, COMPRESSION (the
# servers must have the codec), TTL of b and d (in seconds: the index's ttl plus a day, or plus a tenth of it if that is longer), and SPLITS.
create 'simhash',
  {NAME => 'b', VERSIONS => '1', BLOOMFILTER => 'ROWPREFIX_FIXED_LENGTH', DATA_BLOCK_ENCODING => 'FAST_DIFF', COMPRESSION => 'NONE', TTL => '2147483647', BLOCKCACHE => 'true', BLOCKSIZE => '8192',
   CONFIGURATION => {'RowPrefixBloomFilter.prefix_length' => '5'}},
  {NAME => 'd', VERSIONS => '1', BLOOMFILTER => 'ROW', DATA_BLOCK_ENCODING => 'FAST_DIFF', COMPRESSION => 'NONE', TTL => '2147483647', BLOCKCACHE => 'true', BLOCKSIZE => '8192'},
  {NAME => 'm', VERSIONS => '1', BLOOMFILTER => 'ROW', DATA_BLOCK_ENCODING => 'FAST_DIFF', COMPRESSION => 'NONE', TTL => '2147483647', BLOCKCACHE => 'true', BLOCKSIZE => '8192'},
  {CONFIGURATION => {'hbase.regionserver.region.split_restriction.type' => 'KeyPrefix', 'hbase.regionserver.region.split_restriction.prefix_length' => '5'},
   SPLITS => ["\x40\x00\x00\x00", "\x80\x00\x00\x00", "\xc0\x00\x00\x00"]}
exit
