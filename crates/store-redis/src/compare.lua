-- How similar two signatures are: by the same arithmetic as `minhash::Signature::compare`, so that a script and its caller
-- never differ. What is counted are small integers; the quotients are doubles here as there, each rounded once.
local EQUALITY, SHORT, LONG, BOTH = 1, 2, 3, 4

-- Bins of which a byte is kept, before those of two bits, and where the first of them is after the version.
local BYTE_BINS, BINS_FROM, BINS_TO = 80, 4, 127
local ELEMENT = 3

-- Where the elements of a small set begin after the version, by the kind of the signature that has them.
local SET_FROM = { [SHORT] = 1, [BOTH] = 128 }
local HAS_BINS = { [LONG] = true, [BOTH] = true }

-- The kind of a signature, and how long what comes before its body is: of version 1 a byte, and of version 2 a digest of
-- numbers, too.
local function kind_of(signature)
  local first = byte(signature, 1)
  return first % 16, first >= 32 and 5 or 1
end

-- Whether the sequences of numbers of two signatures differ, where both have a digest of them.
local function numbers_differ(a, b)
  local _, head_a = kind_of(a)
  local _, head_b = kind_of(b)
  return head_a > 1 and head_b > 1 and sub(a, 2, head_a) ~= sub(b, 2, head_b)
end

-- How many of the four pairs of bits of a byte are 0.
local zero_pairs

local function count_zero_pairs()
  zero_pairs = {}
  for x = 0, 255 do
    local n, rest = 0, x
    for _ = 1, 4 do
      if rest % 4 == 0 then n = n + 1 end
      rest = math.floor(rest / 4)
    end
    zero_pairs[x] = n
  end
end

-- A signature, made ready to be compared with many.
local function prepare(signature)
  local kind, head = kind_of(signature)
  local prepared = { kind = kind, body = sub(signature, head + 1), has_numbers = head > 1 }
  if SET_FROM[kind] then
    prepared.set = {}
    for at = head + SET_FROM[kind], #signature, ELEMENT do
      prepared.set[sub(signature, at, at + 2)] = true
    end
    prepared.n = (#signature + 1 - head - SET_FROM[kind]) / ELEMENT
  elseif kind == EQUALITY then
    prepared.only = sub(signature, -ELEMENT)
  end
  if HAS_BINS[kind] and #signature >= head + BINS_TO then
    if not zero_pairs then count_zero_pairs() end
    prepared.bins = { byte(signature, head + BINS_FROM, head + BINS_TO) }
  end
  return prepared
end

-- In how many of 256 bins the bits that are kept agree.
local function n_agreeing(a, signature, head)
  local n, bxor, b = 0, bit.bxor, { byte(signature, head + BINS_FROM, head + BINS_TO) }
  for i = 1, BYTE_BINS do
    if a[i] == b[i] then n = n + 1 end
  end
  for i = BYTE_BINS + 1, #a do
    n = n + zero_pairs[bxor(a[i], b[i])]
  end
  return n
end

-- 44.3125 bins agree by chance; the others of 256 are 211.6875.
local function similarity_of_agreeing(n)
  return math.max(0, math.min(1, (n - 44.3125) / 211.6875))
end

-- The similarity of a prepared signature and another one, and the number of agreeing bins where it is an estimate. Nil where
-- they have no kind in common.
local function compare(a, signature)
  local kind, head = kind_of(signature)
  local from = SET_FROM[kind]
  if a.set and from then
    local n_common, n = 0, (#signature + 1 - head - from) / ELEMENT
    for at = head + from, #signature, ELEMENT do
      if a.set[sub(signature, at, at + 2)] then n_common = n_common + 1 end
    end
    return n_common / (a.n + n - n_common)
  elseif a.bins and HAS_BINS[kind] and #signature >= head + BINS_TO then
    local n = n_agreeing(a.bins, signature, head)
    return similarity_of_agreeing(n), n
  elseif a.kind == EQUALITY and kind == EQUALITY then
    return a.body == sub(signature, head + 1) and 1 or 0
  elseif a.has_numbers and head > 1 then
    -- A hash is that of the only element of a set.
    if a.set and kind == EQUALITY then
      return a.set[sub(signature, -ELEMENT)] and 1 / a.n or 0
    elseif a.only and from then
      for at = head + from, #signature, ELEMENT do
        if sub(signature, at, at + 2) == a.only then return ELEMENT / (#signature + 1 - head - from) end
      end
      return 0
    end
  end
end
