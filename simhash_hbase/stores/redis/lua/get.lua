-- ARGV: the keys' beginning; for each cell row, qualifier. Answer: a value or nothing for each.
local found = {}
for i = 2, #ARGV, 2 do
  found[#found + 1] = redis.call('HGET', ARGV[1] .. ARGV[i], ARGV[i + 1])
end
return found
