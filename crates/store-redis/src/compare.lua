-- How similar two signatures are: by the same arithmetic as `minhash::Signature::compare`, so that a script and its caller
-- never differ. What is counted are small integers; the quotients are doubles here as there, each rounded once.
local EQUALITY, SHORT, LONG, BOTH = 0x11, 0x12, 0x13, 0x14

-- Bins of which a byte is kept, before those of two bits, and where the first of them is.
local BYTE_BINS, BINS_FROM, BINS_TO = 80, 5, 128
local ELEMENT = 3

-- Where the elements of a small set begin, by the kind of the signature that has them.
local SET_FROM = { [SHORT] = 2, [BOTH] = 129 }
local HAS_BINS = { [LONG] = true, [BOTH] = true }

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
  local kind = byte(signature, 1)
  local prepared = { signature = signature, kind = kind }
  if SET_FROM[kind] then
    prepared.set = {}
    for at = SET_FROM[kind], #signature, ELEMENT do
      prepared.set[sub(signature, at, at + 2)] = true
    end
    prepared.n = (#signature + 1 - SET_FROM[kind]) / ELEMENT
  end
  if HAS_BINS[kind] and #signature >= BINS_TO then
    if not zero_pairs then count_zero_pairs() end
    prepared.bins = { byte(signature, BINS_FROM, BINS_TO) }
  end
  return prepared
end

-- In how many of 256 bins the bits that are kept agree.
local function n_agreeing(a, signature)
  local n, bxor, b = 0, bit.bxor, { byte(signature, BINS_FROM, BINS_TO) }
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
  local kind = byte(signature, 1)
  local from = SET_FROM[kind]
  if a.set and from then
    local n_common, n = 0, (#signature + 1 - from) / ELEMENT
    for at = from, #signature, ELEMENT do
      if a.set[sub(signature, at, at + 2)] then n_common = n_common + 1 end
    end
    return n_common / (a.n + n - n_common)
  elseif a.bins and HAS_BINS[kind] and #signature >= BINS_TO then
    local n = n_agreeing(a.bins, signature)
    return similarity_of_agreeing(n), n
  elseif a.kind == EQUALITY and kind == EQUALITY then
    return a.signature == signature and 1 or 0
  end
end
