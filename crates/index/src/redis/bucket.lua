-- What every script begins with: the layout of `schema/redis.md`, and walking through a bucket.
--
-- Strings are never compared by order in here: Redis's Lua does that by the locale of the server, not by bytes.
local METADATA, IDS, DOCUMENTS, RUNS, BUCKETS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local call, byte, sub = redis.call, string.byte, string.sub

-- How many runs of a bucket are read at a time.
local PAGE = 128

if call('EXISTS', METADATA) == 0 then
  return redis.error_reply('NOINDEX there is no index')
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

-- The first ids of a run.
local function ids_of(run, limit)
  return call('ZRANGE', RUNS .. run, 0, limit - 1)
end
