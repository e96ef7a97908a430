-- What the scripts that write begin with, after `bucket.lua`. KEYS[6] keeps the answer for whoever did not get it: a
-- script that is run again with the same key has done its work, and only repeats what it said. Longer than any caller
-- tries (`server.rs`).
local ANSWER, ANSWER_SECONDS = KEYS[6], 180

do
  local again = call('GET', ANSWER)
  if again then return cmsgpack.unpack(again) end
end

local function keep(answers)
  call('SET', ANSWER, cmsgpack.pack(answers), 'EX', ANSWER_SECONDS)
end

-- The run of a record, and where its keys begin.
local function run_of(record)
  local first = keys_from(record)
  return sub(record, 2, first - 1), first
end

-- Files a document under its run, and a run that is new under all its keys.
local function put(id, record)
  local run, first = run_of(record)
  call('SET', DOCUMENTS .. id, record)
  call('ZADD', IDS, 0, id)
  call('ZADD', RUNS .. run, 0, id)
  if call('ZCARD', RUNS .. run) == 1 then
    for at = first, #record - 4, 5 do
      call('ZADD', BUCKETS .. sub(record, at, at + 4), 0, run)
    end
  end
end

-- Takes a document out of its run, and a run that is empty then out of all its buckets. The record stays.
local function unfile(id, record)
  local run, first = run_of(record)
  call('ZREM', RUNS .. run, id)
  if call('EXISTS', RUNS .. run) == 0 then
    for at = first, #record - 4, 5 do
      call('ZREM', BUCKETS .. sub(record, at, at + 4), run)
    end
  end
end

-- The record of a document, or false. One of another version has its keys elsewhere.
local function record_of(id)
  local record = call('GET', DOCUMENTS .. id)
  if record and (byte(record, 1) ~= 1 or #record < 14 or (#record - keys_from(record) - 3) % 5 ~= 0) then
    error('DAMAGED ' .. id, 0)
  end
  return record
end
