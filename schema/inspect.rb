# Looks into the tables of an index in HBase's shell: row keys decoded, buckets, documents, near-duplicates. It only reads.
# `schema/README.md` draws what is stored.
#
#   TABLE=news COMMAND='near 9e3779b97f4a7c15' deploy/hbase/hbase shell schema/inspect.rb
#   echo "load 'schema/inspect.rb'" | TABLE=news COMMAND=info hbase shell -n     any other HBase
#
# Several commands stand on lines of their own or between semicolons. In an interactive shell, without COMMAND:
#
#   hbase:001:0> load 'schema/inspect.rb'
#   hbase:002:0> ph 'use news; near 9e3779b97f4a7c15'
#
# `ph 'help'` lists the commands. A failure is one line after ERROR, and exit code 1 of a shell that runs a script.

Object.send(:remove_const, :PigeonholeInspect) if Object.const_defined?(:PigeonholeInspect)

module ::PigeonholeInspect
  # What is printed after ERROR.
  class Refused < StandardError; end

  HBase = Java::OrgApacheHadoopHbase
  Client = Java::OrgApacheHadoopHbaseClient

  # The newest format of metadata that is known here.
  FORMAT_VERSION = 4
  # The newest version of signatures.
  SIGNATURES = 1
  # Results fetched at once, and cells of one row in a result: a row may have a million.
  PAGE = 1000
  # Records fetched at once.
  GETS = 200
  # Entries of the index that `near` keeps; it says so when there are more.
  ENTRIES_MAX = 10_000
  # Entries that are listed where no limit is given.
  LIMIT = 20
  ID_BYTES_MAX = 4096

  # What signatures are filed under: the first flag, how many bands, and how many bins make one (minhash::BandScheme).
  LONG_BANDS = [64, 16, 5].freeze
  SHORT_BANDS = [128, 16, 4].freeze
  WHOLE_FLAG = 192
  # The kinds by the low half of the first byte of a signature; its version is the other half.
  SIGNATURE_KINDS = { 1 => 'whole', 2 => 'short', 3 => 'long', 4 => 'long and short' }.freeze

  # Of minhash::hash_words.
  SECRET = [0x2d358dccaa6c78a5, 0x8bb84b93962eacc9, 0x4b33a62ed433d4a3, 0x4d5a2da51de1aa47].freeze
  WORD = (1 << 64) - 1

  HELP = [
    ['help', 'this list'],
    ['use TABLE', 'the index that the commands after it are about [TABLE of the environment]'],
    ['info', 'what the index says of itself: profile, scheme, distance, recipe, masks'],
    ['key ROWKEY', "a row key of the index, decoded: 26 hex digits or as the shell prints it, '\\x02x\\xDC...'"],
    ['bucket FLAG SEGMENT [LIMIT]', "the entries of a bucket; the flag is decimal, the segment hexadecimal [#{LIMIT}]"],
    ['rows FINGERPRINT [LIMIT]', "the rows of a simhash, one a table: which exist, with their documents [#{LIMIT} a row]"],
    ['doc ID', "a document: its record, its claim and its rows; an ID with spaces, ; or ' goes in double quotes, one with \" in single"],
    ['near FINGERPRINT [DISTANCE]', "the documents whose simhashes are near it, and what that cost [the index's own distance]"],
    ['claims [LIMIT]', "claims by state, and those that are pending; reads all documents [#{LIMIT}]"],
    ['count [ROWS]', 'rows by flag and by region; reads the whole table, or its first ROWS rows']
  ].freeze

  # state, simhash, timestamp and further `name=value` words of a document's record, or of the claim on it. A text without a
  # simhash has - in its place. A state or word that later versions add is kept as it is; without either there, there is only
  # the text.
  Record = Struct.new(:text, :state, :fingerprint, :timestamp, :more) do
    def self.parse(bytes)
      text = PigeonholeInspect.printable(bytes)
      state, fingerprint, timestamp, *more = text.split(' ')
      return new(text, state, nil, nil, []) unless fingerprint =~ /\A(\h{16}|-)\z/ && timestamp =~ /\A\d{1,19}\z/
      new(text, state, fingerprint == '-' ? nil : fingerprint.hex, timestamp.to_i, more)
    end

    # The bytes of the signature; none where the index has none.
    def signature
      base64 = word('sig')
      base64 && (base64 + '=' * (-base64.length % 4)).unpack('m').first
    end

    # The [flag, segment] that the record lists for the simhash, where they are not those of the index's scheme.
    def keys
      listed = word('keys')
      listed && listed.split(',').map { |key| key.split(':').map(&:hex) }
    end

    def word(name)
      found = more.find { |word| word.start_with?("#{name}=") }
      found && found.sub("#{name}=", '')
    end

    # Whether an entry of the index under this fingerprint counts; else it is a ghost.
    def live?(of)
      %w[live committed].include?(state) && fingerprint == of
    end

    # Whether it says of its document that it is there, or that it is not; a claim that is pending or aborted does neither.
    def decides?
      %w[live committed removed].include?(state)
    end
  end

  # What a document's row says: its record, the latest claim on it, and the one of them that decides.
  Row = Struct.new(:record, :claim) do
    def self.parse(result)
      new(*%w[record claim].map do |qualifier|
        value = result.getValue('d'.to_java_bytes, qualifier.to_java_bytes)
        value && Record.parse(String.from_java_bytes(value))
      end)
    end

    def decisive
      known = [record, claim].compact.select { |said| said.decides? && said.timestamp }
      # The claim, where both are of one time.
      known.max_by { |said| [said.timestamp, said.equal?(claim) ? 1 : 0] } || record || claim
    end
  end

  class << self
    # Runs the commands of a text. A connection is open as long as they run.
    def run(text)
      raise Refused, 'the commands are not UTF-8' unless text.valid_encoding?
      commands = split(text)
      commands.each_with_index do |words, i|
        puts "#{"\n" if i > 0}> #{words.join(' ')}" if commands.length > 1
        command(*words)
      end
    rescue Java::JavaIo::IOException => e
      raise Refused, "HBase: #{e.message.to_s.lines.first.to_s.strip}"
    ensure
      @connection.close if @connection
      @connection = @metadata = nil
    end

    # A refusal ends a script, by an exception of one line. It would end an interactive shell, too, which only prints it.
    def report(text)
      run(text)
    rescue Refused => e
      shell = TOPLEVEL_BINDING.receiver.instance_variable_get(:@shell)
      return puts("ERROR #{e.message}") if shell.interactive?
      raise Refused, e.message, []
    end

    # Text as it is; anything else as the shell prints it, so that no control character reaches a terminal.
    def printable(bytes)
      text = bytes.dup.force_encoding('UTF-8')
      return text if text.valid_encoding? && text !~ /[[:cntrl:]]/
      Java::OrgApacheHadoopHbaseUtil::Bytes.toStringBinary(bytes.to_java_bytes)
    end

    private

    # ---- commands ----

    def command(name, *args)
      usage, = HELP.find { |line, _| line.split.first == name }
      raise Refused, "unknown command #{name.inspect}: try help" unless usage
      needed, allowed = usage.split.drop(1).partition { |word| !word.start_with?('[') }
      unless args.length.between?(needed.length, needed.length + allowed.length)
        raise Refused, "usage: #{usage}"
      end
      send("command_#{name}", *args)
    end

    def command_help
      HELP.each { |usage, what| puts format('%-29s %s', usage, what) }
    end

    def command_use(name)
      @name = name
      @metadata = nil
    end

    def command_info
      meta = metadata
      puts "index           #{name}"
      puts "documents       #{name}_docs"
      puts "format version  #{meta['format_version']}"
      puts "profile         #{meta['profile']}" if meta['profile']
      scheme = meta['scheme']
      puts "scheme          #{scheme ? "#{scheme['name']}, finds all within #{scheme['max_distance']} bits" : 'none'}"
      puts "max distance    #{meta['max_distance']}"
      puts "verified        near is what has a similarity from #{min_similarity} on" if min_similarity
      puts "texts           #{meta.fetch('texts', 'none')}"
      puts "retention       #{meta['retain_seconds'] ? "#{meta['retain_seconds']} s" : 'for good'}"
      puts "checksum        #{meta['crc32']}, fits"
      puts 'recipe'
      width = meta['recipe'].keys.map(&:length).max.to_i
      meta['recipe'].each { |field, value| puts "  #{field.ljust(width)}  #{printable(value)}" }
      puts 'flag  key bits  mask' unless masks.empty?
      masks.each { |flag, mask| puts format('%4d  %8d  %016x', flag, ones(mask), mask) }
      return unless files_signatures?
      puts 'flag      key bits  of signatures'
      [[LONG_BANDS, 'bands of long texts'], [SHORT_BANDS, 'bands of short texts']].each do |(first, n), what|
        puts format('%-8s  %8d  %s', "#{first}-#{first + n - 1}", 32, what)
      end
      puts format('%-8s  %8d  %s', WHOLE_FLAG, 32, 'hashes of texts that equal another or do not')
    end

    def command_key(text)
      key = key_bytes(text)
      raise Refused, "a row key has 13 bytes, #{text.inspect} has #{key.bytesize}" unless key.bytesize == 13
      segment, flag, fingerprint = key.unpack('NCQ>')
      puts "row          #{hex(key)}"
      puts "segment      #{format('%08x', segment)}"
      puts "flag         #{flag}"
      puts "fingerprint  #{format('%016x', fingerprint)}"
      expected = masks[flag] && segment_of(masks[flag], fingerprint)
      puts "scheme       #{scheme_says(flag, segment, expected)}"
    end

    def command_bucket(flag, segment, limit = LIMIT)
      flag, segment, limit = flag_of(flag), segment_of_text(segment), count_of(limit)
      check_bucket(flag, segment)
      entries = []
      more = each_entry(*bucket_range(flag, segment)) do |row, id, timestamp|
        break true if entries.length == limit
        entries << [row, id, timestamp]
      end
      puts 'row                         fingerprint       timestamp      id'
      entries.each do |row, id, timestamp|
        fingerprint = row.bytesize == 13 ? hex(row[5, 8]) : '-'
        puts format('%-26s  %-16s  %-13d  %s', hex(row), fingerprint, timestamp, printable(id))
      end
      rows = entries.map(&:first).uniq.length
      puts "# #{of(entries.length, 'entry')} in #{of(rows, 'row')}#{', there are more' if more == true}"
    end

    def command_rows(fingerprint, limit = LIMIT)
      fingerprint, limit = fingerprint_of(fingerprint), count_of(limit)
      check_simhashes
      there = ghosts = 0
      puts 'flag  row                         timestamp      state    id'
      masks.each do |flag, mask|
        row = [segment_of(mask, fingerprint), flag, fingerprint].pack('NCQ>')
        entries, more = entries_of_row(row, limit)
        there += 1 unless entries.empty?
        puts format('%4d  %s  %-13s  %s', flag, hex(row), '-', 'absent') if entries.empty?
        records = records_of(entries.map(&:first))
        entries.each do |id, timestamp|
          live = counts?(records[id], fingerprint)
          ghosts += 1 unless live
          puts format('%4d  %s  %-13d  %-7s  %s', flag, hex(row), timestamp, live ? 'live' : 'ghost', printable(id))
        end
        puts format('%4d  %s  and more', flag, hex(row)) if more
      end
      puts "# #{there} of #{of(masks.length, 'row')} there; #{of(ghosts, 'ghost')} among the entries"
    end

    def command_doc(id)
      check_id(id)
      row = rows_of_documents([id])[id]
      record = row && row.decisive
      raise Refused, "no document #{id.inspect} in #{name}_docs (row #{printable(document_row(id))})" unless record
      puts "id           #{printable(id)}"
      puts "row          #{printable(document_row(id))}"
      return puts("record       #{record.text}") unless record.timestamp
      puts "state        #{record.state}#{', expired' if expired?(record)}"
      puts "fingerprint  #{record.fingerprint ? format('%016x', record.fingerprint) : 'none'}"
      puts "signature    #{signature_text(record.signature)}" if record.signature
      puts "timestamp    #{record.timestamp}  #{time_text(record.timestamp)}"
      puts "text         t:#{record.timestamp}.#{record.word('text')}" if record.word('text')
      (record.more.reject { |word| word.start_with?('keys=', 'sig=', 'text=') }).each { |word| puts "further      #{word}" }
      puts "claim        #{row.claim.text}" if row.claim && row.claim != record
      keys = record.keys ? 'listed in the record' : "those of scheme #{scheme_name}"
      puts "keys         #{keys}" unless masks.empty? || record.fingerprint.nil?
      print_rows_of(id, record)
    end

    def command_near(text, distance = nil)
      fingerprint = fingerprint_of(text)
      check_simhashes
      distance = distance_of(distance)
      entries, ranges, rows, more = entries_near(fingerprint, distance)
      records = records_of(entries.map(&:last).uniq)
      live, ghosts = entries.partition { |found, id| counts?(records[id], found) }
      puts 'distance  fingerprint       id'
      live.map { |found, id| [ones(found ^ fingerprint), id, found] }.sort.each do |bits, id, found|
        puts format('%8d  %016x  %s', bits, found, printable(id))
      end
      puts "# only the first #{ENTRIES_MAX} entries that are near: there are more" if more
      puts "# #{of(live.length, 'document')} within #{of(distance, 'bit')}, #{of(ghosts.length, 'ghost')} left out; " \
           "read #{of(ranges, 'range')} with #{of(rows, 'row')}, and #{of(records.length, 'record')}"
      return unless min_similarity
      puts '# this is what simhashes propose: the index finds more by signatures, and only what is similar enough'
    end

    def command_claims(limit = LIMIT)
      limit = count_of(limit)
      states, pending, now = Hash.new(0), [], java.lang.System.currentTimeMillis
      scan = Client::Scan.new.addColumn('d'.to_java_bytes, 'claim'.to_java_bytes).setCaching(PAGE).setCacheBlocks(false)
      each_result(scan, "#{name}_docs") do |result|
        claim = Row.parse(result).claim
        states[claim.state] += 1
        pending << [bytes(result.getRow).sub(/\A\h{4}:/n, ''), claim] if claim.state == 'pending' && pending.length < limit
      end
      puts 'until                     id'
      pending.each do |id, claim|
        over = claim.word('until').to_i < now ? 'over' : ''
        puts format('%-24s  %s  %s', time_text(claim.word('until').to_i), printable(id), over).rstrip
      end
      puts "# #{states.sort.map { |state, n| "#{n} #{state}" }.join(', ')}" unless states.empty?
      puts '# no claims' if states.empty?
    end

    def command_count(limit = nil)
      limit &&= count_of(limit)
      open_table(name)
      starts = connection.getRegionLocator(table_name(name)).getStartKeys.map { |key| bytes(key) }
      puts limit ? "reads the first #{of(limit, 'row')}: the least segments, no fair sample" : 'reads the whole table'
      flags, regions, region, total = Hash.new(0), Array.new(starts.length, 0), 0, 0
      each_row do |row|
        break if total == limit
        total += 1
        region += 1 while region + 1 < starts.length && starts[region + 1] <= row
        regions[region] += 1
        flags[row.bytesize == 13 ? row.getbyte(4) : nil] += 1
      end
      puts 'flag        rows'
      flags.sort_by { |flag, _| flag || 256 }.each { |flag, n| puts format('%4s  %10d', flag || '?', n) }
      puts 'region from          rows'
      starts.zip(regions) { |start, n| puts format('%-13s  %10d', start.empty? ? '-' : hex(start), n) }
      return puts("# #{of(total, 'row')}") if limit || total.zero?
      puts "# #{of(total, 'row')}; the fullest of #{of(starts.length, 'region')} has " \
           "#{format('%.2f', regions.max.to_f * starts.length / total)} times the mean"
    end

    # ---- what they are made of ----

    def scheme_says(flag, segment, expected)
      scheme = scheme_name
      return "flag #{flag} is #{signature_flag(flag)}; what comes after it are bits of a signature" if signature_flag(flag)
      return "#{scheme} has no table with flag #{flag}" unless expected
      return "#{scheme} files this fingerprint here" if expected == segment
      format('%s files this fingerprint under segment %08x of flag %d', scheme, expected, flag)
    end

    # [fingerprint, id] of all entries within a distance, whether they count or not; then how many ranges and rows were
    # read, and whether there are more.
    def entries_near(fingerprint, distance)
      found, rows, ranges = {}, 0, 0
      masks.each do |flag, mask|
        ranges += 1
        last, near = nil, nil
        each_entry(*bucket_range(flag, segment_of(mask, fingerprint))) do |row, id|
          if row != last
            last, rows = row, rows + 1
            near = row.bytesize == 13 ? row[5, 8].unpack('Q>').first : nil
            near = nil if near && ones(near ^ fingerprint) > distance
          end
          next unless near
          return found.keys, ranges, rows, true if found.length == ENTRIES_MAX && !found.key?([near, id])
          found[[near, id]] = true
        end
      end
      [found.keys, ranges, rows, false]
    end

    def entries_of_row(row, limit)
      entries = []
      more = each_entry(row, row + "\0".b) do |_, id, timestamp|
        break true if entries.length == limit
        entries << [id, timestamp]
      end
      [entries, more == true]
    end

    def print_rows_of(id, record)
      rows = rows_of_simhash(record)
      rows += rows_of_signature(record.signature) if record.signature && files_signatures?
      there = 0
      puts 'flag  row                         state'
      rows.each do |flag, row|
        get = Client::Get.new(row.to_java_bytes).addColumn('f'.to_java_bytes, id.to_java_bytes)
        result = open_table(name).get(get)
        there += 1 unless result.isEmpty
        puts format('%4d  %s  %s', flag, hex(row), cell_state(result, record))
      end
      note = "; a document that is #{record.state} has none that count" unless record.live?(record.fingerprint)
      puts "# #{there} of #{of(rows.length, 'row')} there#{note}"
    end

    # [flag, row] for each key of the simhash.
    def rows_of_simhash(record)
      return [] unless record.fingerprint
      keys = record.keys || masks.map { |flag, mask| [flag, segment_of(mask, record.fingerprint)] }
      keys.map { |flag, segment| [flag, [segment, flag, record.fingerprint].pack('NCQ>')] }
    end

    def cell_state(result, record)
      return 'absent' if result.isEmpty
      timestamp = result.rawCells.first.getTimestamp
      timestamp == record.timestamp ? 'there' : "there, written at #{timestamp}"
    end

    # ---- the format ----

    def masks
      @masks if metadata
    end

    # The bits of a mask, moved together in their order: simhash::Table::segment.
    def segment_of(mask, fingerprint)
      63.downto(0).reduce(0) { |segment, bit| mask[bit] == 1 ? segment << 1 | fingerprint[bit] : segment }
    end

    # Nobody looks into a bucket that the index does not have.
    def check_bucket(flag, segment)
      mask = masks[flag]
      return if signature_flag(flag)
      raise Refused, "#{scheme_name} has no table with flag #{flag}, only 1 to #{masks.length}" unless mask
      return if segment < 1 << ones(mask)
      raise Refused, format('the segments of flag %d have %d bits: up to %08x', flag, ones(mask), (1 << ones(mask)) - 1)
    end

    def check_simhashes
      raise Refused, "#{name} files by signatures alone: there are no simhashes to ask for" if masks.empty?
    end

    def scheme_name
      metadata['scheme'] ? metadata['scheme']['name'] : 'none'
    end

    def files_signatures?
      %w[minhash full].include?(metadata['profile'])
    end

    def min_similarity
      metadata['signatures'] && metadata['signatures']['min_similarity']
    end

    # What is filed under a flag by signatures, if that is.
    def signature_flag(flag)
      return unless files_signatures?
      return 'the hash of a whole text' if flag == WHOLE_FLAG
      { LONG_BANDS => 'a band of long texts', SHORT_BANDS => 'a band of short texts' }.each do |(first, n, _), what|
        return what if flag.between?(first, first + n - 1)
      end
      nil
    end

    def signature_text(signature)
      version, kind = signature.getbyte(0).divmod(16)
      kind = [1, 2].include?(version) ? SIGNATURE_KINDS[kind] : nil
      "#{kind || 'of an unknown kind'}, #{of(signature.bytesize, 'byte')}"
    end

    # [flag, row] for each key of a signature, drawn in signature.md: minhash::FilingScheme::filings.
    def rows_of_signature(signature)
      version, kind = signature.getbyte(0).divmod(16)
      # Version 2 has a digest of the numbers first.
      rest = signature.byteslice((version == 2 ? 5 : 1)..-1)
      rows = []
      if [3, 4].include?(kind)
        # After the size: a byte of each of 80 bins, and two bits of each of 176.
        low_bits = rest[83, 16].bytes.flat_map { |byte| [6, 4, 2, 0].map { |bit| byte[bit] } }
        rows += rows_of_bands(LONG_BANDS, rest[3, 80].bytes, low_bits)
      end
      if [2, 4].include?(kind)
        elements = rest.bytes.drop(kind == 4 ? 127 : 0).each_slice(3)
        bins = bins_of(elements.map { |a, b, c| hash_words(a << 16 | b << 8 | c, 0) })
        rows += rows_of_bands(SHORT_BANDS, bins.map { |value| value & 0xff }, bins[64, 64].map { |value| value & 1 })
      end
      rows << [WHOLE_FLAG, rest[0, 4] + [WHOLE_FLAG].pack('C') + rest] if kind == 1
      rows
    end

    def rows_of_bands((first, n, rows), bytes, suffix_bits)
      suffix = suffix_bits.reduce(0) { |suffix, bit| suffix << 1 | bit }
      bytes.first(n * rows).each_slice(rows).each_with_index.map do |band, i|
        hash = band.reduce(0) { |hash, byte| hash_words(hash, byte) }
        [first + i, [hash >> 32, first + i, suffix].pack('NCQ>')]
      end
    end

    # The 128 bins of a short text: minhash::Bins::of.
    def bins_of(elements)
      bins = Array.new(128)
      keep = ->(bin, value) { bins[bin] = value if bins[bin].nil? || value < bins[bin] }
      value_of = ->(hash) { hash & (1 << 52) - 1 }
      elements.each { |element| keep.call(element >> 57, value_of.call(element)) }
      (1...128).each do |round|
        return bins unless bins.include?(nil)
        elements.each do |element|
          hash = throw_of(element, round)
          keep.call(hash >> 57, round << 52 | value_of.call(hash))
        end
      end
      bins.each_with_index.map do |value, i|
        value || 128 << 52 | elements.map { |element| value_of.call(throw_of(element, 128 + i)) }.min
      end
    end

    def throw_of(element, round)
      fold(element ^ (round * 0x9e3779b97f4a7c15 & WORD), SECRET[0])
    end

    def hash_words(first, second)
      fold(fold(first ^ SECRET[0], second ^ SECRET[1]) ^ SECRET[2], SECRET[3])
    end

    def fold(first, second)
      product = first * second
      product & WORD ^ product >> 64
    end

    # All of a bucket and nothing else. Both ends share the five bytes that HBase's prefix bloom filter looks at.
    def bucket_range(flag, segment)
      prefix = [segment, flag].pack('NC')
      [prefix + "\x00".b * 8, prefix + "\xff".b * 8 + "\x00".b]
    end

    def document_row(id)
      crc = java.util.zip.CRC32.new
      crc.update(id.to_java_bytes)
      format('%04x:', crc.getValue >> 16).b + id.b
    end

    # Read once a run, and held against its checksum.
    def metadata
      return @metadata if @metadata
      get = Client::Get.new('pigeonhole'.to_java_bytes).addColumn('m'.to_java_bytes, 'metadata'.to_java_bytes)
      value = open_table("#{name}_docs").get(get).value
      raise Refused, "#{name} has no metadata yet: no index was opened there" unless value
      @metadata = parse_metadata(bytes(value))
      tables = @metadata['scheme'] ? @metadata['scheme']['tables'] : []
      @masks = tables.map { |table| [table['flag'], table['mask'].hex] }.to_h
      @metadata
    end

    def parse_metadata(json)
      require 'json'
      meta = JSON.parse(json.force_encoding('UTF-8'))
      version = meta['format_version']
      if version.is_a?(Integer) && version > FORMAT_VERSION
        raise Refused, "#{name} has format version #{version}, this script knows versions up to #{FORMAT_VERSION}"
      end
      crc = java.util.zip.CRC32.new
      crc.update(JSON.generate(meta.reject { |field, _| field == 'crc32' }).to_java_bytes)
      signatures = meta['signatures'] && meta['signatures']['version'].to_i
      if signatures && signatures > SIGNATURES
        raise Refused, "#{name} has signatures of version #{signatures}, this script knows versions up to #{SIGNATURES}"
      end
      return meta if format('%08x', crc.getValue) == meta['crc32']
      raise Refused, "the metadata of #{name} are damaged: the checksum does not fit"
    rescue JSON::ParserError, NoMethodError, TypeError
      raise Refused, "the metadata of #{name} are damaged: they are not JSON as expected"
    end

    # ---- tables ----

    def name
      @name ||= ENV['TABLE'].to_s
      raise Refused, 'TABLE is missing: TABLE=news, or the command use' if @name.empty?
      @name
    end

    def table_name(text)
      HBase::TableName.valueOf(text)
    rescue Java::JavaLang::IllegalArgumentException
      raise Refused, "#{text.inspect} is no name of a table"
    end

    # Of the shell, with what its command line overrides.
    def connection
      shell = TOPLEVEL_BINDING.receiver.instance_variable_get(:@hbase)
      @connection ||= Client::ConnectionFactory.createConnection(shell.configuration).tap { @tables = {} }
    end

    def open_table(text)
      connection
      @tables[text] ||= begin
        there = table_name(text)
        admin = connection.getAdmin
        raise Refused, "no table #{text}: schema/create.rb makes the tables of an index" unless admin.tableExists(there)
        raise Refused, "the table #{text} is disabled: enable '#{text}'" unless admin.isTableEnabled(there)
        connection.getTable(there)
      end
    end

    # Yields row, id and timestamp of every entry in a range, in order, and holds one page of them.
    def each_entry(start, stop)
      scan = Client::Scan.new.withStartRow(start.to_java_bytes).withStopRow(stop.to_java_bytes)
      scan.addFamily('f'.to_java_bytes).setCaching(PAGE).setBatch(PAGE)
      each_result(scan) do |result|
        result.rawCells.each do |cell|
          yield bytes(HBase::CellUtil.cloneRow(cell)), bytes(HBase::CellUtil.cloneQualifier(cell)), cell.getTimestamp
        end
      end
    end

    # Yields the key of every row, without leaving the table in the servers' block cache.
    def each_row
      filters = Java::OrgApacheHadoopHbaseFilter
      filter = filters::FilterList.new(filters::FirstKeyOnlyFilter.new, filters::KeyOnlyFilter.new)
      scan = Client::Scan.new.setCaching(10 * PAGE).setCacheBlocks(false).setFilter(filter)
      each_result(scan) { |result| yield bytes(result.getRow) }
    end

    def each_result(scan, table = name)
      scanner = open_table(table).getScanner(scan)
      while (result = scanner.next)
        yield result
      end
      nil
    ensure
      scanner.close if scanner
    end

    # What decides of those ids that have a row.
    def records_of(ids)
      rows_of_documents(ids).transform_values(&:decisive)
    end

    # The rows of those ids that have one.
    def rows_of_documents(ids)
      ids.each_slice(GETS).each_with_object({}) do |some, rows|
        gets = some.map { |id| Client::Get.new(document_row(id).to_java_bytes) }
        gets.each { |get| %w[record claim].each { |column| get.addColumn('d'.to_java_bytes, column.to_java_bytes) } }
        results = open_table("#{name}_docs").get(java.util.ArrayList.new(gets))
        some.zip(results) { |id, result| rows[id] = Row.parse(result) unless result.isEmpty }
      end
    end

    # Whether an entry of the index under this fingerprint is a document that is there.
    def counts?(record, fingerprint)
      record && record.live?(fingerprint) && !expired?(record)
    end

    # HBase lets go of it by its own clock, soon.
    def expired?(record)
      retain = metadata['retain_seconds']
      retain && record.timestamp + 1000 * retain <= java.lang.System.currentTimeMillis
    end

    # ---- words in, words out ----

    # Commands stand between semicolons and line ends, words between spaces; quotation marks of either kind keep all
    # that is between them together, and a backslash is a backslash.
    def split(text)
      commands, words, word = [], [], nil
      text.scan(/'([^']*)'|"([^"]*)"|([;\n])|([ \t\r]+)|([^'";\s]+)|(.)/m) do |single, double, stop, space, plain, odd|
        raise Refused, "a quotation mark is not closed: #{text.strip}" if odd
        word = word.to_s + (single || double || plain) unless stop || space
        next unless stop || space
        words << word if word
        word = nil
        commands << words if stop
        words = [] if stop
      end
      words << word if word
      (commands << words).reject(&:empty?)
    end

    def key_bytes(text)
      return [text].pack('H*') if text =~ /\A\h{26}\z/
      text.b.gsub(/\\x(\h\h)/n) { $1.hex.chr }
    end

    def fingerprint_of(text)
      raise Refused, "#{text.inspect} is no fingerprint: it has 16 hex digits" unless text =~ /\A\h{16}\z/
      text.hex
    end

    def flag_of(text)
      return text.to_i if text =~ /\A\d{1,3}\z/ && text.to_i.between?(1, 255)
      raise Refused, "#{text.inspect} is no flag: a number from 1 to 255"
    end

    def segment_of_text(text)
      raise Refused, "#{text.inspect} is no segment: up to 8 hex digits" unless text =~ /\A\h{1,8}\z/
      text.hex
    end

    def count_of(text)
      raise Refused, "#{text.inspect} is no number from 1" unless text.to_s =~ /\A[1-9]\d{0,11}\z/
      text.to_i
    end

    def distance_of(text)
      most = metadata['max_distance']
      return most unless text
      return text.to_i if text =~ /\A\d\z/ && text.to_i <= most
      raise Refused, "#{text.inspect} is no distance: this index finds what differs in 0 to #{most} bits"
    end

    def check_id(id)
      return if id.bytesize.between?(1, ID_BYTES_MAX) && id.valid_encoding? && id !~ /[[:cntrl:]]/
      raise Refused, "#{printable(id).inspect} is no id: 1 to #{ID_BYTES_MAX} bytes of UTF-8 without control characters"
    end

    def time_text(ms)
      seconds, ms = ms.divmod(1000)
      Time.at(seconds).utc.strftime("%Y-%m-%dT%H:%M:%S.#{format('%03d', ms)}Z")
    end

    def bytes(java)
      String.from_java_bytes(java)
    end

    def hex(bytes)
      bytes.unpack('H*').first
    end

    def ones(bits)
      bits.to_s(2).count('1')
    end

    def of(n, noun)
      n == 1 ? "1 #{noun}" : "#{n} #{noun.sub(/y\z/, 'ie')}s"
    end
  end
end

Object.send(:define_method, :ph) do |text = 'help'|
  PigeonholeInspect.report(text)
  nil
end
ENV['COMMAND'].to_s.empty? ? puts("ph 'help' lists what there is to ask") : ph(ENV['COMMAND'])
nil
