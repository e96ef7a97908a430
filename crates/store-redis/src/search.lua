-- What scripts that search begin with, after `bucket.lua` and `compare.lua`: what is near, by the rule of `rule.rs`.

-- What a comparison costs, in runs that are read.
local COMPARISON = 32

-- A rule: in how many bits the facets of candidates may differ, by family; what makes documents near, and what makes them
-- worth a count: how many bins must agree where a similarity is an estimate, and the least similarity elsewhere; whether
-- anything is verified, whether other numbers make other documents, and whether texts are counted.
local function rule_of(packed)
  local simhash, long, short, whole, bins, similarity, bins_worth, similarity_worth, flags =
    struct.unpack('>I4I4I4I4I4dI4dB', packed)
  return {
    within = { simhash, long, short, whole },
    near = { bins = bins, similarity = similarity },
    worth = { bins = bins_worth, similarity = similarity_worth },
    verifies = similarity >= 0,
    same_numbers = flags % 2 == 1,
    counts = flags >= 2,
  }
end

-- What is searched for: of a record, or of a query in the same form, and the ways in which it is filed.
local function query_of(record, facets)
  local query = { record = record, facets = facets, is_told = is_told(record) }
  local signature = ''
  if is_signed(record) then
    query.simhash, signature = features_of(record)
  else
    query.simhash = sub(record, 2, 9)
  end
  query.signature = signature ~= '' and signature or nil
  return query
end

local function bits_between(a, b)
  local high, low = struct.unpack('>I4I4', a)
  return distance(b, high, low, 64)
end

-- In how many bits the simhashes of a query and a document differ, or else what their signatures are filed with; 64 where
-- nothing can be compared.
local function distance_of(query, simhash, record)
  if query.simhash and simhash then return bits_between(query.simhash, simhash) end
  local facets = facets_of(record)
  for _, a in ipairs(query.facets) do
    for _, b in ipairs(facets or {}) do
      if a.family == b.family and a.family > 1 then return bits_between(a.member, b.member) end
    end
  end
  return 64
end

-- A record of a signed run, and what its document is compared by, as of all documents of the run. Nil where there is none.
local function any_of(run)
  local rank = 0
  repeat
    local id = call('ZRANGE', RUNS .. run, rank, rank)[1]
    local record = id and call('GET', DOCUMENTS .. id)
    if record and sub(record, 2, 17) == run then
      -- Of what follows the facets are looked at where they are needed only.
      local is_known = is_signed(record) and byte(record, 1) <= VERSION_MAX and #record > 30
      local is_long = is_known and last_of(record) >= sketch_from(record) + 10
      if is_long then
        local simhash, signature, facets = features_of(record)
        if facets <= last_of(record) + 1 then return record, simhash, signature, facets end
      end
      error('DAMAGED ' .. id, 0)
    end
    rank = rank + 1
  until not id
end

-- Whether a similarity is enough: of estimates by the bins that agree.
local function is_enough(least, similarity, n_bins)
  if n_bins then return n_bins >= least.bins end
  return similarity >= least.similarity
end

-- How near a signed run is to a query, if it is: as an entry of what `near_runs` finds. Where texts are counted the run is
-- `worth` a count, and `is_near` says what its signature says of those of its documents that have none.
local function confirm(query, rule, run)
  local record, simhash, signature, facets_from = any_of(run)
  if not record then return nil end
  local near = { run = run, similarity = -1, features = sub(record, sketch_from(record), facets_from - 1) }
  local verifies = rule.verifies and query.signature and signature ~= ''
  if verifies then
    if rule.same_numbers and numbers_differ(query.signature, signature) then return nil end
    query.prepared = query.prepared or prepare(query.signature)
    local similarity, n_bins = compare(query.prepared, signature)
    near.worth = rule.counts and query.is_told
    if not similarity or not is_enough(near.worth and rule.worth or rule.near, similarity, n_bins) then return nil end
    near.is_near = is_enough(rule.near, similarity, n_bins)
    near.similarity = similarity
  end
  near.distance = distance_of(query, simhash, record)
  if not verifies and near.distance > rule.within[1] then return nil end
  return near
end

-- The runs that are near, the nearest first; how many were met in buckets; and what that has cost, in runs read. A run that
-- several buckets propose, of whichever facets, counts once.
local function near_runs(query, rule)
  local found, met, n_read, n_compared = {}, {}, 0, 0
  local verifies = rule.verifies and query.signature
  for _, facet in ipairs(query.facets) do
    local most, keys, by_simhash = rule.within[facet.family], query.record, facet.family == 1
    local high, low = struct.unpack('>I4I4', facet.member)
    for at = facet.first, facet.last, 5 do
      local bucket = BUCKETS .. sub(keys, at, at + 4)
      local from, page = '-', nil
      repeat
        page = call('ZRANGEBYLEX', bucket, from, '+', 'LIMIT', 0, PAGE)
        n_read = n_read + #page
        for _, member in ipairs(page) do
          local d = not met[member] and distance(member, high, low, most)
          if d then
            met[member] = true
            local run = run_of_member(member)
            if run == member then
              -- What has a simhash alone is near by it.
              if by_simhash then found[#found + 1] = { run = run, similarity = -1, distance = d } end
            elseif not met[run] then
              met[run] = true
              if by_simhash and not verifies then
                found[#found + 1] = { run = run, similarity = -1, distance = d, bits = sub(member, 1, 8) }
              else
                n_compared = n_compared + 1
                found[#found + 1] = confirm(query, rule, run)
              end
            end
          end
          from = '(' .. member
        end
      until #page < PAGE
    end
  end
  table.sort(found, function(a, b)
    if a.similarity ~= b.similarity then return a.similarity > b.similarity end
    return a.distance < b.distance
  end)
  return found, n_read, n_read + COMPARISON * n_compared
end

-- The runs that are near whatever texts say, and those that are worth a count.
local function by_worth(found)
  local near, worth = {}, {}
  for _, run in ipairs(found) do
    local list = run.worth and worth or near
    list[#list + 1] = run
  end
  return near, worth
end

-- Lets `visit` at each of the first `most` documents that are worth a count, the most similar first, and leaves out `own` and
-- those without a text that are not near by their signatures: at its run, id and digest, empty where it has no text. Answers
-- whether some were left, and how many were looked at. Where `visit` answers true it ends.
local function each_worth(worth, own, most, filters, visit)
  local n_left, n_looked, is_cut = most, 0, false
  for _, near in ipairs(worth) do
    local n, ids, n_filtered = live_of(near.run, n_left + 1, filters)
    n_looked = n_looked + n_filtered + #ids
    for _, id in ipairs(ids) do
      local record = id ~= own and record_of(id)
      if record and run_of(record) == near.run and (near.is_near or is_told(record)) then
        if n_left == 0 then return true, n_looked end
        n_left = n_left - 1
        if visit(near, id, digest_of(record)) then return false, n_looked end
      end
    end
    is_cut = is_cut or n > #ids
  end
  return is_cut, n_looked
end

local function is_as_near(a, b)
  return a.similarity == b.similarity and a.distance == b.distance
end

-- Lists ids of a run as matches: runs each with an id after it; and of those that were read what they are compared by, with
-- all the ids.
local function list(matches, near, ids)
  if near.features then
    if #ids == 0 then return end
    local group = { near.features }
    for i, id in ipairs(ids) do group[i + 1] = id end
    matches[#matches + 1] = group
    return
  end
  -- That a signed document follows from its simhash is not so, but all that is asked for is the simhash.
  local run = near.bits and near.bits .. '\0' or near.run
  for _, id in ipairs(ids) do
    matches[#matches + 1] = run .. id
  end
end

-- What `compare_own` says of the same document.
local SAME = 'U'

-- Whether two records are of equal sketches, whatever their times, sources and texts.
local function same_sketch(a, b)
  return run_of(a) == run_of(b) and sub(a, sketch_from(a), last_of(a)) == sub(b, sketch_from(b), last_of(b))
end

-- What is stored under the id of a document that comes: `SAME` if it is the same one, which a document without a text does
-- not doubt; of one with the same sketch and another text the digest of that; else nothing. A text that is lost is none.
local function compare_own(id, old, record)
  if not same_sketch(old, record) then return '' end
  local digest, stored = digest_of(record), digest_of(old)
  if digest == '' then return SAME end
  if stored == '' or call('EXISTS', TEXTS .. id) == 0 then return '' end
  return stored == digest and SAME or stored
end

-- Other ids of all the nearest of these runs that have one, the first of each run among them, as matches, or nil; and how many
-- ids were looked at.
local function nearest_of(found, own, filters)
  local matches, first, n_looked = {}, nil, 0
  for _, near in ipairs(found) do
    if first and not is_as_near(near, first) then break end
    local _, ids, n = live_of(near.run, 2, filters)
    n_looked = n_looked + n
    local others = {}
    for _, other in ipairs(ids) do
      if other ~= own then others[#others + 1] = other end
    end
    if #others > 0 then first = near end
    list(matches, near, others)
  end
  return first and matches, n_looked
end
