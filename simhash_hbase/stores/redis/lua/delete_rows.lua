local space, packed, gone = ARGV[1], ARGV[3], 0
for i = 1, #packed, 13 do
  gone = gone + redis.call('ZREM', space .. string.sub(packed, i, i + 4), string.sub(packed, i + 5, i + 12))
end
if gone > 0 then
  redis.call('HINCRBY', ARGV[2], 'b', -gone)
end
