# The two tables of HBaseClientBaseline, empty: $TABLE (default: baseline) and $TABLE_docs, in $REGIONS regions each (4).
# Run by `hbase shell`, which gives a script no arguments, only the environment.

name = ENV.fetch('TABLE', 'baseline')
n_regions = Integer(ENV.fetch('REGIONS', '4'))

# Of the ten segments of scheme 5c2, four have 25 bits and six have 26: 7 of 10 rows lie below 2^25, spread evenly, and
# 3 of 10 from there to 2^26. A split is where the share of the rows is i / n.
def segment_at(share)
  low = 0.7
  half = 2**25
  share < low ? (share / low * half).to_i : half + ((share - low) / (1 - low) * half).to_i
end

# In a split, single-quoted text with \x escapes is taken byte by byte.
def escaped(segment)
  [segment].pack('N').bytes.map { |byte| format('\x%02x', byte) }.join
end

shares = (1...n_regions).map { |i| i / n_regions.to_f }
index_splits = shares.map { |share| escaped(segment_at(share)) }
docs_splits = shares.map { |share| format('%04x', (share * 0x10000).to_i) }

[name, "#{name}_docs"].each do |table|
  next unless exists(table)

  disable table
  drop table
end

create name,
       { NAME => 'f', VERSIONS => 1, DATA_BLOCK_ENCODING => 'FAST_DIFF', BLOCKSIZE => '16384',
         BLOOMFILTER => 'ROWPREFIX_FIXED_LENGTH', CONFIGURATION => { 'RowPrefixBloomFilter.prefix_length' => '5' } },
       SPLITS => index_splits
create "#{name}_docs",
       { NAME => 'd', VERSIONS => 1, DATA_BLOCK_ENCODING => 'FAST_DIFF', BLOOMFILTER => 'ROW' },
       SPLITS => docs_splits
