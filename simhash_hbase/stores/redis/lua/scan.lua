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
