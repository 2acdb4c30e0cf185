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
