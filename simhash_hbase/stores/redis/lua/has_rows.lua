-- ARGV: the keys' beginning, rows of 13 bytes one behind the other. Answer: a "1" or a "0" for each.
local space, packed, found = ARGV[1], ARGV[2], {}
for i = 1, #packed, 13 do
  local score = redis.call('ZSCORE', space .. string.sub(packed, i, i + 4), string.sub(packed, i + 5, i + 12))
  found[#found + 1] = score and '1' or '0'
end
return table.concat(found)
