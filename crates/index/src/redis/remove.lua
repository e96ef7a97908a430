-- Removes. ARGV: ids. Answers 1 for each that was there, and 0 for the others.
local answers, wrote = {}, false
for i, id in ipairs(ARGV) do
  local record = record_of(id)
  if record then
    unfile(id, record)
    call('DEL', DOCUMENTS .. id)
    call('ZREM', IDS, id)
    wrote = true
  end
  answers[i] = record and 1 or 0
end
if wrote then keep(answers) end
return answers
