-- What every script begins with: the layout of `schema/redis.md`, and walking through a bucket.
--
-- Strings are never compared by order in here: Redis's Lua does that by the locale of the server, not by bytes.
local METADATA, IDS, DOCUMENTS, RUNS, BUCKETS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local TIMES, RUN_TIMES = KEYS[6], KEYS[7]
local call, byte, sub = redis.call, string.byte, string.sub

-- How the metadata of the index end for which the script is run: with its identity, and a checksum over all of them.
local SEAL = ARGV[1]

-- What was inserted at this time or before has expired; in milliseconds since 1970. Nil where documents stay for good,
-- and then there are no times but those in the records.
local EXPIRED = tonumber(ARGV[2])
local AFTER = '(' .. ARGV[2]

-- How many runs of a bucket, or ids of a run, are read at a time.
local PAGE = 128
-- A run of more ids than this has a set of them by time.
local SMALL = 128
-- At most so many ids of a run are answered where fewer are wanted, so that one that has nearly all expired is not walked
-- through for the few that have not.
local ANSWERED = 1000

do
  local metadata = call('GET', METADATA)
  if not metadata then return redis.error_reply('NOINDEX there is no index') end
  if SEAL == '' or sub(metadata, -#SEAL) ~= SEAL then
    return redis.error_reply('REPLACED the index is another one')
  end
end

-- Where the time of a record begins: after its version and its run. Then come the length of its source and the source.
local function time_at(record)
  return byte(record, 10) == 0 and 11 or 19
end

-- Where the keys of a record begin.
local function keys_from(record)
  local at = time_at(record)
  return at + 9 + byte(record, at + 8)
end

-- When the document of a record was inserted, in milliseconds since 1970: below 2^48, so exact.
local function time_of(record)
  local high, low = struct.unpack('>I4I4', record, time_at(record))
  return high * 4294967296 + low
end

-- The source of a record, empty where it has none.
local function source_of(record)
  return sub(record, time_at(record) + 9, keys_from(record) - 1)
end

local function n_ones(x, n, most)
  -- Each round takes the lowest one away. Numbers of `bit` are signed and of 32 bits, so both halves are exact.
  while x ~= 0 do
    n = n + 1
    if n > most then return nil end
    x = bit.band(x, x - 1)
  end
  return n
end

-- In how many bits a run's fingerprint differs from the one in two halves, or nil for more than `most`.
local function distance(run, high, low, most)
  local run_high, run_low = struct.unpack('>I4I4', run)
  local n = n_ones(bit.bxor(run_high, high), 0, most)
  return n and n_ones(bit.bxor(run_low, low), n, most)
end

-- The runs that are near and in one of the buckets listed in `keys` from `first` to `last`, the nearest first, and how
-- many were looked at. A run that is in several of them counts once.
local function near_runs(high, low, most, keys, first, last)
  local found, met, n_read = {}, {}, 0
  for at = first, last, 5 do
    local bucket = BUCKETS .. sub(keys, at, at + 4)
    local from, page = '-', nil
    repeat
      page = call('ZRANGEBYLEX', bucket, from, '+', 'LIMIT', 0, PAGE)
      n_read = n_read + #page
      for _, run in ipairs(page) do
        local d = not met[run] and distance(run, high, low, most)
        if d then
          met[run] = true
          found[#found + 1] = { run = run, distance = d }
        end
        from = '(' .. run
      end
    until #page < PAGE
  end
  table.sort(found, function(a, b) return a.distance < b.distance end)
  return found, n_read
end

-- Whether a document of a record is there, in an index of any kind.
local function is_live(record)
  return not EXPIRED or time_of(record) > EXPIRED
end

-- Whether anything has expired and was not swept yet. Mostly nothing has, and then no run need be looked through.
local function has_expired()
  return EXPIRED and call('ZCOUNT', TIMES, '-inf', ARGV[2]) > 0
end

-- How many documents of a run are there, some ids of them, among which the first `limit`, and how many ids were looked at.
-- `filters` says that some may have expired.
local function live_of(run, limit, filters)
  local n = call('ZCARD', RUNS .. run)
  if not filters then
    return n, limit > 0 and call('ZRANGE', RUNS .. run, 0, limit - 1) or {}, 0
  end
  local is_small = n <= SMALL
  if not is_small then
    n = call('ZCOUNT', RUN_TIMES .. run, AFTER, '+inf')
    if limit == 0 or n == 0 then return n, {}, 0 end
    if n <= ANSWERED or n <= limit then
      return n, call('ZRANGEBYSCORE', RUN_TIMES .. run, AFTER, '+inf'), n
    end
  end
  local live, n_live, n_looked, from, page = {}, 0, 0, '-', nil
  repeat
    page = call('ZRANGEBYLEX', RUNS .. run, from, '+', 'LIMIT', 0, PAGE)
    n_looked = n_looked + #page
    for _, id in ipairs(page) do
      local time = call('ZSCORE', TIMES, id)
      if time and tonumber(time) > EXPIRED then
        n_live = n_live + 1
        if n_live <= limit then live[n_live] = id end
      end
      from = '(' .. id
    end
  until #page < PAGE or (not is_small and n_live >= limit)
  return is_small and n_live or n, live, n_looked
end
