-- What scripts that search begin with, after `bucket.lua` and `compare.lua`: what is near, by the rule of `rule.rs`.

-- What a comparison costs, in runs that are read.
local COMPARISON = 32

-- A rule: in how many bits the facets of candidates may differ, by family; how many bins must agree where a similarity is an
-- estimate; and the least similarity, nil where nothing is verified.
local function rule_of(packed)
  local simhash, long, short, whole, min_bins, min_similarity = struct.unpack('>I4I4I4I4I4d', packed)
  local verified = min_similarity >= 0 and min_similarity or nil
  return { within = { simhash, long, short, whole }, min_bins = min_bins, min_similarity = verified }
end

-- What is searched for: of a record, or of a query in the same form, and the ways in which it is filed.
local function query_of(record, facets)
  local query = { record = record, facets = facets }
  local signature = ''
  if byte(record, 1) == SIGNED then
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
      local is_long = byte(record, 1) == SIGNED and #record > 30 and #record >= sketch_from(record) + 14
      if is_long then
        local simhash, signature, facets = features_of(record)
        if facets <= #record - 3 then return record, simhash, signature, facets end
      end
      error('DAMAGED ' .. id, 0)
    end
    rank = rank + 1
  until not id
end

-- How near a signed run is to a query, if it is: as an entry of what `near_runs` finds.
local function confirm(query, rule, run)
  local record, simhash, signature, facets_from = any_of(run)
  if not record then return nil end
  local similarity = -1
  local verifies = rule.min_similarity and query.signature and signature ~= ''
  if verifies then
    query.prepared = query.prepared or prepare(query.signature)
    local found, n_bins = compare(query.prepared, signature)
    local is_enough = found and (n_bins and n_bins >= rule.min_bins or not n_bins and found >= rule.min_similarity)
    if not is_enough then return nil end
    similarity = found
  end
  local d = distance_of(query, simhash, record)
  if not verifies and d > rule.within[1] then return nil end
  local features = sub(record, sketch_from(record), facets_from - 1)
  return { run = run, similarity = similarity, distance = d, features = features }
end

-- The runs that are near, the nearest first; how many were met in buckets; and what that has cost, in runs read. A run that
-- several buckets propose, of whichever facets, counts once.
local function near_runs(query, rule)
  local found, met, n_read, n_compared = {}, {}, 0, 0
  local verifies = rule.min_similarity and query.signature
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
