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
  return sub(record, 2, time_at(record) - 1), keys_from(record)
end

-- Whether two records are of equal sketches, whatever their times and sources.
local function same_sketch(a, b)
  local run_a, first_a = run_of(a)
  local run_b, first_b = run_of(b)
  return run_a == run_b and sub(a, first_a, -5) == sub(b, first_b, -5)
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
  if not record then return false end
  local at = #record > 10 and byte(record, 1) == 2 and time_at(record)
  local n_key_bytes = at and #record >= at + 12 and #record - keys_from(record) - 3
  if not n_key_bytes or n_key_bytes < 0 or n_key_bytes % 5 ~= 0 then
    error('DAMAGED ' .. id, 0)
  end
  return record
end

-- Takes a document away altogether.
local function remove(id, record)
  unfile(id, record)
  call('DEL', DOCUMENTS .. id)
  call('ZREM', IDS, id)
end
