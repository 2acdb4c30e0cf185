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
