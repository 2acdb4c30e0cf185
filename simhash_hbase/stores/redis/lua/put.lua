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
