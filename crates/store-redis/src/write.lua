-- What the scripts that write begin with, after `bucket.lua`. KEYS[9] keeps the answer for a caller that did not get it: a
-- script that is run again with the same key has done its work, and only repeats what it said. Longer than any caller
-- tries (`server/waits.rs`).
local ANSWER, ANSWER_SECONDS = KEYS[9], 180

-- How many scripts have written documents: an older copy of the index has a lower number.
local WRITES = KEYS[10]

-- When the index was last written to, by which clocks are doubted (`last_write.rs`): a time, then the first and the last of
-- those that were too far ahead of it, or two zeros. A later time is noted when it is so much later.
local LAST_WRITE, STEP_MS_MAX = KEYS[11], 60000

-- A script sweeps no more documents once they were in more buckets than this.
local SWEPT_BUCKETS = 4096

do
  local again = call('GET', ANSWER)
  if again then return cmsgpack.unpack(again) end
end

local function keep(answers)
  call('SET', ANSWER, cmsgpack.pack(answers), 'EX', ANSWER_SECONDS)
  call('INCR', WRITES)
end

-- Does something with each bucket that a record lists, and the member that it has there.
local function each_bucket(record, facets, visit)
  for _, facet in ipairs(facets) do
    for at = facet.first, facet.last, 5 do
      visit(BUCKETS .. sub(record, at, at + 4), facet.member)
    end
  end
end

local function add_to_bucket(bucket, member)
  call('ZADD', bucket, 0, member)
end

local function take_from_bucket(bucket, member)
  call('ZREM', bucket, member)
end

-- In how many buckets a document is.
local function n_buckets_of(facets)
  local n = 0
  for _, facet in ipairs(facets) do
    n = n + (facet.last + 1 - facet.first) / 5
  end
  return n
end

-- A run has just become large: its ids by time. `time` is of the one that has no time yet.
local function fill_run_times(run, time)
  for _, member in ipairs(call('ZRANGE', RUNS .. run, 0, -1)) do
    call('ZADD', RUN_TIMES .. run, call('ZSCORE', TIMES, member) or time, member)
  end
end

-- A document has left its run, which has `n` now.
local function take_from_run_times(run, id, n)
  if n == SMALL then
    call('DEL', RUN_TIMES .. run)
  elseif n > SMALL then
    call('ZREM', RUN_TIMES .. run, id)
  end
end

-- Files a document under its run, and a run that is new under all its keys; and keeps its text, if there is one.
local function put(id, record, facets, text)
  local run = run_of(record)
  call('SET', DOCUMENTS .. id, record)
  if text ~= '' then call('SET', TEXTS .. id, text) end
  call('ZADD', IDS, 0, id)
  call('ZADD', RUNS .. run, 0, id)
  local n = call('ZCARD', RUNS .. run)
  if n == 1 then each_bucket(record, facets, add_to_bucket) end
  if not EXPIRED then return end
  local time = time_of(record)
  call('ZADD', TIMES, time, id)
  if n == SMALL + 1 then
    fill_run_times(run, time)
  elseif n > SMALL then
    call('ZADD', RUN_TIMES .. run, time, id)
  end
end

-- Takes a document out of its run, and a run that is empty then out of all its buckets; and its text away. The record stays.
local function unfile(id, record, facets)
  local run = run_of(record)
  if is_told(record) then call('DEL', TEXTS .. id) end
  call('ZREM', RUNS .. run, id)
  local n = call('ZCARD', RUNS .. run)
  if n == 0 then each_bucket(record, facets, take_from_bucket) end
  if EXPIRED then take_from_run_times(run, id, n) end
end

-- Takes a document away altogether.
local function remove(id, record, facets)
  unfile(id, record, facets)
  call('DEL', DOCUMENTS .. id)
  call('ZREM', IDS, id)
  if EXPIRED then call('ZREM', TIMES, id) end
end

-- What is noted at a write at `now` by a clock that may be `ahead_max` ahead: the time to sweep by, and what is to be
-- written down, if that is news. The rule is that of `last_write.rs`.
local function next_write(now, ahead_max)
  local noted, first, last = string.match(call('GET', LAST_WRITE) or '', '^(%d+) (%d+) (%d+)$')
  -- An index that has not noted it yet has the time of its youngest document.
  local at = tonumber(noted or call('ZREVRANGE', TIMES, 0, 0, 'WITHSCORES')[2])
  first, last = tonumber(first or 0), tonumber(last or 0)
  local function news(at, first, last)
    return string.format('%.0f %.0f %.0f', at, first, last)
  end
  local step = math.min(math.floor(ahead_max / 2), STEP_MS_MAX)
  if not at then
    return now, news(now, 0, 0), false
  elseif now - at <= ahead_max then
    return now, (not noted or first > 0 or math.abs(now - at) >= step) and news(now, 0, 0), false
  elseif first == 0 then
    return at, news(at, now, now), at
  elseif now - last > ahead_max then
    return last, news(last, now, now), at
  elseif now - first > ahead_max then
    return now, news(now, 0, 0), at
  end
  local is_news = now < first or math.abs(now - last) >= step
  return at, is_news and news(at, math.min(first, now), now), at
end

-- Removes what has expired, the oldest first, at most `most` documents. Before anything is inserted: a server that is
-- full refuses a script whose first step needs room. What has expired only by a clock that is doubted stays. Answers when
-- the index was last written to, where the clock is too far ahead of that, else 0; a caller who refuses ends there.
local function sweep(most, now, ahead_max, refuses)
  if not EXPIRED then return 0 end
  local at, news, ahead_of = next_write(now, ahead_max)
  if ahead_of and refuses then return ahead_of end
  local n_buckets = 0
  local swept = string.format('%.0f', EXPIRED - (now - math.min(now, at)))
  for _, id in ipairs(call('ZRANGEBYSCORE', TIMES, '-inf', swept, 'LIMIT', 0, most)) do
    local record, facets = record_of(id)
    if record then
      n_buckets = n_buckets + n_buckets_of(facets)
      remove(id, record, facets)
    else
      call('ZREM', TIMES, id)
    end
    if n_buckets > SWEPT_BUCKETS then break end
  end
  -- A server that is full refuses this, and a later write notes it.
  if news then redis.pcall('SET', LAST_WRITE, news) end
  return ahead_of or 0
end
