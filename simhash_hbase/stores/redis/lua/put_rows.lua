-- ARGV: the keys' beginning, the counters' key, rows of 13 bytes one behind the other.
local space, packed, added = ARGV[1], ARGV[3], 0
for i = 1, #packed, 13 do
  added = added + redis.call('ZADD', space .. string.sub(packed, i, i + 4), '0', string.sub(packed, i + 5, i + 12))
end
if added > 0 then
  redis.call('HINCRBY', ARGV[2], 'b', added)
end
