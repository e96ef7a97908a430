-- What every script begins with: the layout of `schema/redis.md`, and walking through a bucket.
--
-- Strings are never compared by order in here: Redis's Lua does that by the locale of the server, not by bytes.
local METADATA, IDS, DOCUMENTS, RUNS, BUCKETS = KEYS[1], KEYS[2], KEYS[3], KEYS[4], KEYS[5]
local TIMES, RUN_TIMES, TEXTS = KEYS[6], KEYS[7], KEYS[8]
local call, byte, sub = redis.call, string.byte, string.sub

-- How the metadata of the index end for which the script is run: with its identity, and a checksum over all of them.
local SEAL = ARGV[1]

-- What was inserted at this time or before has expired; in milliseconds since 1970. Nil where documents stay for good,
-- and then there are no times but those in the records.
local UNTIL, EVICTED = string.match(ARGV[2], '^(%S*) (%d*)$')
local EXPIRED = tonumber(UNTIL)
local AFTER = '(' .. UNTIL

-- How many runs of a bucket, or ids of a run, are read at a time.
local PAGE = 128
-- A run of more ids than this has a set of them by time.
local SMALL = 128
-- At most so many ids of a run are answered where fewer are wanted, so that one that has nearly all expired is not walked
-- through for the few that have not.
local ANSWERED = 1000
-- More ids than any run has.
local ALL = 2147483647

do
  local metadata = call('GET', METADATA)
  if not metadata then return redis.error_reply('NOINDEX there is no index') end
  if SEAL == '' or sub(metadata, -#SEAL) ~= SEAL then
    return redis.error_reply('REPLACED the index is another one')
  end
end

-- How many keys the server had dropped by itself when the caller first saw it; nothing where it
-- does not tell. What it has dropped since may be of this index.
do
  local evicted = EVICTED ~= '' and string.match(call('INFO', 'stats'), 'evicted_keys:(%d+)')
  if evicted and tonumber(evicted) > tonumber(EVICTED) then
    return redis.error_reply('EVICTED keys were dropped')
  end
end

-- Records of odd versions have a signature, or no simhash; those of even ones have a simhash and nothing else. From this
-- version on a record names the text of its document, by a digest before the checksum.
local VERSION_MIN, TOLD, VERSION_MAX = 2, 4, 5
local DIGEST = 16

local function is_signed(record)
  return byte(record, 1) % 2 == 1
end

local function is_told(record)
  return byte(record, 1) >= TOLD
end

-- The last byte of what a record says of the sketch: before the digest of the text, if there is one, and the checksum.
local function last_of(record)
  return #record - 4 - (is_told(record) and DIGEST or 0)
end

-- The digest of the text of a record, empty where none is kept.
local function digest_of(record)
  return sub(record, last_of(record) + 1, -5)
end

-- Where the time of a record begins: after its version and its run. Then come the length of its source and the source.
local function time_at(record)
  if is_signed(record) then return 18 end
  return byte(record, 10) == 0 and 11 or 19
end

-- Where that begins by which the document of a record is found and compared: after the source.
local function sketch_from(record)
  local at = time_at(record)
  return at + 9 + byte(record, at + 8)
end

-- What documents with equal sketches have in common.
local function run_of(record)
  return sub(record, 2, time_at(record) - 1)
end

-- When the document of a record was inserted, in milliseconds since 1970: below 2^48, so exact.
local function time_of(record)
  local high, low = struct.unpack('>I4I4', record, time_at(record))
  return high * 4294967296 + low
end

-- The source of a record, empty where it has none.
local function source_of(record)
  return sub(record, time_at(record) + 9, sketch_from(record) - 1)
end

-- The simhash of a signed record, if it has one, its signature, maybe empty, and where its facets begin.
local function features_of(record)
  local at = sketch_from(record)
  local facets = at + 11 + struct.unpack('>I2', record, at + 9)
  return byte(record, at) % 2 == 1 and sub(record, at + 1, at + 8), sub(record, at + 11, facets - 1), facets
end

-- The ways in which the document of a record is filed, one for each family: 1 is simhashes, then long, short and whole
-- texts. Each with the member that its buckets have, which begins with the bits of the facet, and with where its buckets are
-- listed. Nil for what no program of ours writes.
local function facets_of(record)
  local run, last = run_of(record), last_of(record)
  if not is_signed(record) then
    local first = sketch_from(record)
    local is_whole = first <= last + 1 and (last + 1 - first) % 5 == 0
    return is_whole and { { family = 1, member = run, first = first, last = last } }
  end
  if sketch_from(record) + 10 > last then return nil end
  local facets, _, at = {}, nil, nil
  _, _, at = features_of(record)
  while at + 9 <= last do
    local first = at + 10
    local facet = { family = byte(record, at), member = sub(record, at + 1, at + 8) .. run, first = first }
    at = first + 5 * byte(record, at + 9)
    facet.last = at - 1
    facets[#facets + 1] = facet
  end
  return at == last + 1 and facets or nil
end

-- The record of a document, or false; and the ways in which it is filed. One of another version has them elsewhere.
local function record_of(id)
  local record = call('GET', DOCUMENTS .. id)
  if not record then return false end
  local version = byte(record, 1)
  local is_known = version and version >= VERSION_MIN and version <= VERSION_MAX
  local is_long = is_known and #record > 10 and last_of(record) >= time_at(record) + 8
  local facets = is_long and facets_of(record)
  if not facets then error('DAMAGED ' .. id, 0) end
  return record, facets
end

-- The run of a member of a bucket: the member itself, but of signed documents, whose members have the bits of the facet first.
local function run_of_member(member)
  return #member == 24 and sub(member, 9) or member
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

-- In how many bits a member's first 64 differ from those in two halves, or nil for more than `most`.
local function distance(member, high, low, most)
  local member_high, member_low = struct.unpack('>I4I4', member)
  local n = n_ones(bit.bxor(member_high, high), 0, most)
  return n and n_ones(bit.bxor(member_low, low), n, most)
end

-- Whether a document of a record is there, in an index of any kind.
local function is_live(record)
  return not EXPIRED or time_of(record) > EXPIRED
end

-- Whether anything has expired and was not swept yet. Mostly nothing has, and then no run need be looked through.
local function has_expired()
  return EXPIRED and call('ZCOUNT', TIMES, '-inf', UNTIL) > 0
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
