-- Removes. ARGV after the first: how much may be swept; a source, or nothing for any; the earliest time of insertion and
-- the first one too late, in milliseconds since 1970; then ids. Answers 1 for each that was there and matched, and 0 for
-- the others.
local source, from, before = ARGV[3], tonumber(ARGV[4]), tonumber(ARGV[5])
sweep(tonumber(ARGV[2]))

local function matches(record)
  local time = time_of(record)
  return time >= from and time < before and (source == '' or source == source_of(record))
end

local answers, wrote = {}, false
for i = 6, #ARGV do
  local id = ARGV[i]
  local record = record_of(id)
  local gone = record and is_live(record) and matches(record)
  if gone then
    remove(id, record)
    wrote = true
  end
  answers[#answers + 1] = gone and 1 or 0
end
if wrote then keep(answers) end
return answers
