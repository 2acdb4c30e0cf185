-- One script for each call of the interface `Store`, run inside the server.
-- A script runs alone, so nothing changes between its reads and its writes: the highest timestamp wins without a race, and
-- the counters of rows and cells are exact. The server does nothing else meanwhile, so a call sends its work in chunks,
-- many in one round trip.
--
-- The scripts are sent whole each time: half a kilobyte beside a chunk, and no special case for a restarted server or one
-- that forgot them. They make the keys they touch from their arguments, so they do not run on Redis Cluster, which has one
-- database only and would split a query's prefixes into many calls.
--
-- Keys, each after ``simhash-hbase:``
-- -----------------------------------
-- ``format``
--     Text: the version of this form; a database with this key holds an index.
-- ``rows``
--     Hash: how many block rows (``b``) and cells (``d:FLAG``, ``m:FLAG``; the flag is the row's fifth byte) there are.
-- ``b:PREFIX``
--     Sorted set of simhashes, 8 bytes each, all with score 0. It is the *set for each segment and flag* of the write-ups:
--     with equal scores Redis keeps members in byte order, so a limit cuts every set at the same place; a plain set has no
--     order. Small sets take no more memory than plain ones, since Redis stores both as one packed list.
-- ``d:ROW``, ``m:ROW``
--     Hash: qualifier to timestamp (8 bytes, big-endian) and value.

-- == scan
-- ARGV: the keys' beginning, rows a prefix at most, rows after which to stop, prefixes of 5 bytes one behind the other.
-- Answer: how many prefixes were done, their rows packed, the positions of those with more rows than the limit.
local space, most, enough, packed = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]
local rows, cut, at, n = {}, {}, 0, #packed / 5
while at < n and #rows < enough do
  local prefix = string.sub(packed, at * 5 + 1, at * 5 + 5)
  local found = redis.call('ZRANGE', space .. prefix, '0', ARGV[2])
  if #found > most then
    cut[#cut + 1] = at
    found[#found] = nil
  end
  for i = 1, #found do
    rows[#rows + 1] = prefix .. found[i]
  end
  at = at + 1
end
return {at, table.concat(rows), cut}

-- == has_rows
-- ARGV: the keys' beginning, rows of 13 bytes one behind the other. Answer: a "1" or a "0" for each.
local space, packed, found = ARGV[1], ARGV[2], {}
for i = 1, #packed, 13 do
  local score = redis.call('ZSCORE', space .. string.sub(packed, i, i + 4), string.sub(packed, i + 5, i + 12))
  found[#found + 1] = score and '1' or '0'
end
return table.concat(found)

-- == put_rows
-- ARGV: the keys' beginning, the counters' key, rows of 13 bytes one behind the other.
local space, packed, added = ARGV[1], ARGV[3], 0
for i = 1, #packed, 13 do
  added = added + redis.call('ZADD', space .. string.sub(packed, i, i + 4), '0', string.sub(packed, i + 5, i + 12))
end
if added > 0 then
  redis.call('HINCRBY', ARGV[2], 'b', added)
end

-- == delete_rows
local space, packed, gone = ARGV[1], ARGV[3], 0
for i = 1, #packed, 13 do
  gone = gone + redis.call('ZREM', space .. string.sub(packed, i, i + 4), string.sub(packed, i + 5, i + 12))
end
if gone > 0 then
  redis.call('HINCRBY', ARGV[2], 'b', -gone)
end

-- == put
-- ARGV: the keys' beginning, the counters' key, the family, the time or nothing for the server's own; for each cell row,
-- qualifier, timestamp or nothing, value.
local space, family, now = ARGV[1], ARGV[3], tonumber(ARGV[4])
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
for i = 5, #ARGV, 4 do
  local key, qualifier = space .. ARGV[i], ARGV[i + 1]
  local old = redis.call('HGET', key, qualifier)
  local before = old and struct.unpack('>i8', old) or -1
  local stamp = tonumber(ARGV[i + 2]) or math.max(now, before + 1)
  if stamp >= before then
    redis.call('HSET', key, qualifier, struct.pack('>i8', stamp) .. ARGV[i + 3])
  end
  if not old then
    redis.call('HINCRBY', ARGV[2], family .. ':' .. (string.byte(ARGV[i], 5) or ''), 1)
  end
end

-- == compare_and_set
-- ARGV: the keys' beginning, the counters' key, the family, the time or nothing for the server's own; for each swap row,
-- qualifier, a "1" if a value is expected and nothing if none may be there, the value expected, the new value.
-- Answer: a "1" or a "0" for each.
local space, family, now, swapped = ARGV[1], ARGV[3], tonumber(ARGV[4]), {}
if not now then
  local time = redis.call('TIME')
  now = time[1] * 1000 + math.floor(time[2] / 1000)
end
for i = 5, #ARGV, 5 do
  local key, qualifier = space .. ARGV[i], ARGV[i + 1]
  local old = redis.call('HGET', key, qualifier)
  local expected = ARGV[i + 2] == '1' and ARGV[i + 3]
  local is_same = (old and string.sub(old, 9)) == expected
  if is_same then
    local stamp = old and math.max(now, struct.unpack('>i8', old) + 1) or now
    redis.call('HSET', key, qualifier, struct.pack('>i8', stamp) .. ARGV[i + 4])
    if not old then
      redis.call('HINCRBY', ARGV[2], family .. ':' .. (string.byte(ARGV[i], 5) or ''), 1)
    end
  end
  swapped[#swapped + 1] = is_same and '1' or '0'
end
return table.concat(swapped)

-- == rows_after
-- ARGV: the keys' beginning, a row of 13 bytes, rows at most. Answer: the simhashes of the rows that come after it under
-- its prefix, one behind the other.
return table.concat(redis.call('ZRANGEBYLEX', ARGV[1] .. string.sub(ARGV[2], 1, 5), '(' .. string.sub(ARGV[2], 6), '+',
  'LIMIT', '0', ARGV[3]))

-- == get
-- ARGV: the keys' beginning; for each cell row, qualifier. Answer: a value or nothing for each.
local found = {}
for i = 2, #ARGV, 2 do
  found[#found + 1] = redis.call('HGET', ARGV[1] .. ARGV[i], ARGV[i + 1])
end
return found

-- == get_rows
-- ARGV: the keys' beginning, cells a row at most, rows. Answer: for each row its qualifiers and values by turns; of a
-- row with more cells than the limit only the qualifiers, and its position in the second list.
local most, found, wide = tonumber(ARGV[2]), {}, {}
for i = 3, #ARGV do
  local key = ARGV[1] .. ARGV[i]
  if redis.call('HLEN', key) > most then
    wide[#wide + 1] = i - 3
    found[#found + 1] = redis.call('HKEYS', key)
  else
    found[#found + 1] = redis.call('HGETALL', key)
  end
end
return {found, wide}

-- == delete
-- ARGV: the keys' beginning, the counters' key, the family; for each cell row, qualifier, timestamp.
local space, family = ARGV[1], ARGV[3]
for i = 4, #ARGV, 3 do
  local key, qualifier = space .. ARGV[i], ARGV[i + 1]
  local old = redis.call('HGET', key, qualifier)
  if old and struct.unpack('>i8', old) <= tonumber(ARGV[i + 2]) then
    redis.call('HDEL', key, qualifier)
    redis.call('HINCRBY', ARGV[2], family .. ':' .. (string.byte(ARGV[i], 5) or ''), -1)
  end
end
