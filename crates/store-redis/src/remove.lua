-- Removes. ARGV after the first two: how much may be swept; the caller's time, how far it may be ahead, and 1 if nothing is
-- to be written then; a source, or nothing for any; the earliest time of insertion and the first one too late, in
-- milliseconds since 1970; then ids. Answers what `sweep` does, then 1 for each that was there and matched, and 0 for the
-- others.
local source, from, before = ARGV[7], tonumber(ARGV[8]), tonumber(ARGV[9])
local ahead_of = sweep(tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]), ARGV[6] == '1')
if ahead_of > 0 and ARGV[6] == '1' then return { ahead_of } end

local function matches(record)
  local time = time_of(record)
  return time >= from and time < before and (source == '' or source == source_of(record))
end

local answers, wrote = { ahead_of }, false
for i = 10, #ARGV do
  local id = ARGV[i]
  local record, facets = record_of(id)
  local gone = record and is_live(record) and matches(record)
  if gone then
    remove(id, record, facets)
    wrote = true
  end
  answers[#answers + 1] = gone and 1 or 0
end
if wrote then keep(answers) end
return answers
