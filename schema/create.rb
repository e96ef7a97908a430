# Creates the two tables of an index in HBase, with the settings that its searches count on. `schema/README.md` has the
# reasons, and what may be changed later.
#
#   TABLE=news deploy/hbase/hbase shell schema/create.rb
#   echo "load 'schema/create.rb'" | TABLE=news hbase shell -n        any other HBase
#
# The shell passes a script no arguments, so parameters are environment variables:
#
#   TABLE         the index table, `name` or `namespace:name`; the documents go into TABLE_docs
#   SCHEME        the table scheme that the index will have [5c2]; decides where the regions of the index are split
#   PROFILE       what it files documents by: classic, minhash or full [full]; decides of the splits too
#   REGIONS       of the index table [16]; the documents, which need less room, get a quarter of them
#   TTL           forget documents after 2d, 36h, 90m or so many seconds [never]
#   TEXTS         zstd: with a family for the documents' texts, which a new index then keeps and counts by; or none [zstd]
#   COMPRESSION   NONE, GZ, SNAPPY, LZ4 or ZSTD, as far as the region servers have the codec [NONE]
#   BLOCKSIZE     in bytes, of both tables [16384]
#   DRY_RUN       1: only say what would be done, as commands for the shell
#
# A table that is there with these settings is left as it is, so a run that broke off is run again. One with other
# settings is refused, naming them; nothing is ever dropped or altered here. Any failure ends in exit code 1.

Object.send(:remove_const, :PigeonholeCreate) if Object.const_defined?(:PigeonholeCreate)

module ::PigeonholeCreate
  # What is printed after ERROR by the shell, which then exits with 1.
  class Refused < StandardError; end

  HBase = Java::OrgApacheHadoopHbase
  Client = Java::OrgApacheHadoopHbaseClient

  # The key bits of each table of a scheme. Derived from its masks (`pigeonhole scheme NAME`) and held against them,
  # and the splits against `SketchKind::splits`, by tests/it/hbase/schema.rs.
  SCHEMES = {
    '5c2' => [26, 26, 26, 25, 26, 26, 25, 26, 25, 25],
    '4c1' => [16] * 4,
    '4x4' => [28] * 16,
    't6' => [22, 21, 21, 22, 21, 21],
    't8' => [24] * 8,
    't11' => [29, 29, 30, 30, 29, 28, 28, 29, 29, 29, 30],
    't14' => [32] * 14
  }.freeze

  # What is filed by signatures has so many keys more, which are hashes.
  BANDS = [32] * 16
  PROFILES = %w[classic minhash full].freeze

  # What a new index may keep of the texts.
  TEXTS = %w[zstd none].freeze

  COMPRESSIONS = %w[NONE GZ SNAPPY LZ4 ZSTD].freeze

  # A master carries few more regions of one table in comfort, and a table splits by itself as it grows.
  REGIONS_MAX = 10_000

  SECONDS = { '' => 1, 's' => 1, 'm' => 60, 'h' => 3600, 'd' => 86_400 }.freeze

  # HBase keeps seconds in an int, whose greatest value means for ever.
  FOREVER = 2**31 - 1

  # No bucket, which is a prefix of five bytes, is ever cut by a later split (HBase 2.5 and later; others ignore it).
  WHOLE_BUCKETS = {
    'hbase.regionserver.region.split_restriction.type' => 'KeyPrefix',
    'hbase.regionserver.region.split_restriction.prefix_length' => '5'
  }.freeze

  class << self
    # A refusal ends a script, by an exception of one line. It would end an interactive shell, too, which only prints it.
    def report
      run
    rescue Refused => e
      shell = TOPLEVEL_BINDING.receiver.instance_variable_get(:@shell)
      return puts("ERROR #{e.message}") if shell.interactive?
      raise Refused, e.message, []
    end

    private

    def run
      parameters
      @connection = Client::ConnectionFactory.createConnection(configuration)
      @admin = @connection.getAdmin
      check_namespace
      tables = [index_table, documents_table]
      tables.each { |table| table[:there] = @admin.tableExists(HBase::TableName.valueOf(table[:name])) }
      check_existing(tables.select { |table| table[:there] })
      check_scheme if tables.last[:there]
      tables.each { |table| make(table) }
      asked = []
      asked << "--profile #{@profile}" unless @profile == 'full'
      asked << "--scheme #{@scheme}" unless @scheme == '5c2' || @profile == 'minhash'
      puts "open the index the first time with #{asked.join(' ')}" unless asked.empty? || @opened
    rescue Java::JavaIo::IOException => e
      raise Refused, "HBase: #{e.message.to_s.lines.first.to_s.strip}"
    ensure
      @connection.close if @connection
      @connection = nil
    end

    # Of the shell, with what its command line overrides.
    def configuration
      TOPLEVEL_BINDING.receiver.instance_variable_get(:@hbase).configuration
    end

    # ---- parameters ----

    def parameter(name, default)
      value = ENV[name].to_s.strip
      value.empty? ? default : value
    end

    def parameters
      @table = parameter('TABLE', nil) || raise(Refused, 'TABLE is missing: TABLE=news, or TABLE=namespace:news')
      check_name
      @scheme = parameter('SCHEME', '5c2')
      SCHEMES.key?(@scheme) || raise(Refused, "SCHEME #{@scheme.inspect} is not known: #{SCHEMES.keys.join(', ')}")
      @profile = parameter('PROFILE', 'full')
      PROFILES.include?(@profile) || raise(Refused, "PROFILE #{@profile.inspect} is not known: #{PROFILES.join(', ')}")
      @regions = number('REGIONS', '16', 1, [REGIONS_MAX, regions_max].min)
      @blocksize = number('BLOCKSIZE', '16384', 1024, 1 << 20)
      @ttl = ttl
      @texts = parameter('TEXTS', 'zstd')
      TEXTS.include?(@texts) || raise(Refused, "TEXTS #{@texts.inspect}: #{TEXTS.join(' or ')}")
      @compression = parameter('COMPRESSION', 'NONE').upcase
      COMPRESSIONS.include?(@compression) || raise(Refused, "COMPRESSION #{@compression.inspect}: #{COMPRESSIONS.join(', ')}")
      dry = parameter('DRY_RUN', '0')
      %w[0 1].include?(dry) || raise(Refused, "DRY_RUN #{dry.inspect}: it is 1 or 0")
      @dry = dry == '1'
    end

    def check_name
      unless @table =~ /\A(?:[A-Za-z0-9_]+:)?[A-Za-z0-9_][A-Za-z0-9_.-]*\z/
        raise Refused, "TABLE #{@table.inspect}: letters, digits, _ . - and at most one namespace before a colon"
      end
      raise Refused, "TABLE #{@table}: the namespace hbase is HBase's own" if @table.start_with?('hbase:')
      raise Refused, "TABLE #{@table}: a name in _docs is a document table's" if @table.end_with?('_docs')
    end

    def number(name, default, min, max)
      text = parameter(name, default)
      unless text =~ /\A\d{1,10}\z/ && text.to_i.between?(min, max)
        raise Refused, "#{name} #{text.inspect}: a number from #{min} to #{max}"
      end
      text.to_i
    end

    def ttl
      text = parameter('TTL', nil)
      return FOREVER unless text
      digits, unit = text.match(/\A(\d{1,10})([smhd]?)\z/).to_a.drop(1)
      seconds = digits.to_i * SECONDS.fetch(unit, 0)
      return seconds if seconds.between?(1, FOREVER - 1)
      raise Refused, "TTL #{text.inspect}: a time like 2d, 36h, 90m or a number of seconds, up to 24855d"
    end

    # ---- splits ----

    # The bits of the segments of each key of a document: SketchKind::key_bits.
    def key_bits
      (@profile == 'minhash' ? [] : SCHEMES[@scheme]) + (@profile == 'classic' ? [] : BANDS)
    end

    # How much of the rows of uniform keys lies below a segment; the rows of one key weigh 2^32 together.
    def mass_below(segment)
      key_bits.reduce(0) { |sum, bits| sum + ([segment, 1 << bits].min << (32 - bits)) }
    end

    def regions_max
      mass_below(1 << 32) / mass_below(1)
    end

    # The least segments with 1/n, 2/n … of the mass below them, as four bytes: SketchKind::splits.
    def index_splits
      all = mass_below(1 << 32)
      (1...@regions).map do |region|
        [(0..1 << 32).bsearch { |segment| mass_below(segment) * @regions >= all * region }].pack('N')
      end
    end

    # A document's row begins with four hexadecimal digits of a checksum.
    def documents_splits(regions)
      (1...regions).map { |region| format('%04x', (region * 65_536 + regions - 1) / regions) }
    end

    # ---- tables as they should be ----

    def family(name, more)
      {
        'NAME' => name, 'VERSIONS' => '1', 'MIN_VERSIONS' => '0', 'KEEP_DELETED_CELLS' => 'FALSE',
        'NEW_VERSION_BEHAVIOR' => 'false', 'DATA_BLOCK_ENCODING' => 'FAST_DIFF', 'BLOOMFILTER' => 'ROW',
        'COMPRESSION' => @compression, 'BLOCKSIZE' => @blocksize.to_s, 'TTL' => ttl_text(@ttl),
        'IN_MEMORY' => 'false', 'BLOCKCACHE' => 'true'
      }.merge(more)
    end

    def index_table
      bloom = { 'BLOOMFILTER' => 'ROWPREFIX_FIXED_LENGTH', 'RowPrefixBloomFilter.prefix_length' => '5' }
      { name: @table, values: WHOLE_BUCKETS, families: [family('f', bloom)], splits: index_splits }
    end

    def documents_table
      families = [family('d', {}), family('m', 'TTL' => ttl_text(FOREVER))]
      families << texts_family if @texts == 'zstd'
      { name: "#{@table}_docs", values: {}, families: families, splits: documents_splits((@regions + 3) / 4) }
    end

    # Its cells are compressed already, and so many that they would push what all searches read out of the cache.
    def texts_family
      family('t', 'COMPRESSION' => 'NONE', 'BLOCKCACHE' => 'false')
    end

    def ttl_text(seconds)
      seconds == FOREVER ? 'FOREVER' : seconds.to_s
    end

    # ---- tables as they are ----

    def check_namespace
      namespace = @table[/\A[^:]+(?=:)/] || return
      return if @admin.listNamespaceDescriptors.any? { |there| there.getName == namespace }
      raise Refused, "the namespace #{namespace} does not exist; to create it: create_namespace '#{namespace}'"
    end

    def check_existing(tables)
      differences = tables.flat_map { |table| differences_of(table) }
      return if differences.empty?
      puts differences
      raise Refused, "#{@table}: #{differences.length} differences from what was asked for; nothing was changed"
    end

    def differences_of(table)
      name = HBase::TableName.valueOf(table[:name])
      found = []
      found << "#{table[:name]} is disabled; to mend: enable '#{table[:name]}'" unless @admin.isTableEnabled(name)
      there = @admin.getDescriptor(name)
      table[:values].each do |key, value|
        is = there.getValue(key)
        next if is == value
        mend = "alter '#{table[:name]}', CONFIGURATION => {'#{key}' => '#{value}'}"
        found << "#{table[:name]}: #{key} is #{is || 'not set'}, asked for is #{value}; to change: #{mend}"
      end
      wanted = table[:families].map { |family| family['NAME'] }
      families = there.getColumnFamilies.map { |family| [family.getNameAsString, family] }.to_h
      # An index of before has none, and needs none. One that is there does no harm where no texts are asked for.
      wanted.delete('t') unless families.key?('t') || parameter('TEXTS', nil)
      (families.keys - wanted - ['t']).each do |extra|
        found << "#{table[:name]} has a family #{extra}, which is not ours; to mend: choose another TABLE"
      end
      asked = table[:families].select { |family| wanted.include?(family['NAME']) }
      found + asked.flat_map { |family| differences_of_family(table[:name], family, families) }
    end

    def differences_of_family(table, wanted, families)
      name = wanted['NAME']
      family = families[name]
      return ["#{table} has no family #{name}; to mend: alter '#{table}', #{family_text(wanted)}"] unless family
      is = settings_of(family)
      # In an order in which they can be run: HBase wants the length of a prefix before the filter that needs it.
      wanted.reject { |key, value| is[key] == value }.sort_by { |key, _| configuration?(key) ? 0 : 1 }.map do |key, value|
        mend = "alter '#{table}', #{family_text('NAME' => name, key => value)}"
        "#{table}, family #{name}: #{key} is #{is[key] || 'not set'}, asked for is #{value}; to change: #{mend}"
      end
    end

    def settings_of(family)
      {
        'NAME' => family.getNameAsString, 'VERSIONS' => family.getMaxVersions, 'MIN_VERSIONS' => family.getMinVersions,
        'KEEP_DELETED_CELLS' => family.getKeepDeletedCells, 'NEW_VERSION_BEHAVIOR' => family.isNewVersionBehavior,
        'DATA_BLOCK_ENCODING' => family.getDataBlockEncoding, 'BLOOMFILTER' => family.getBloomFilterType,
        'COMPRESSION' => family.getCompressionType, 'BLOCKSIZE' => family.getBlocksize,
        'TTL' => ttl_text(family.getTimeToLive), 'IN_MEMORY' => family.isInMemory,
        'BLOCKCACHE' => family.isBlockCacheEnabled,
        'RowPrefixBloomFilter.prefix_length' => family.getConfigurationValue('RowPrefixBloomFilter.prefix_length')
      }.map { |key, value| [key, value && value.to_s] }.to_h.merge(
        # false is a value, too.
        'NEW_VERSION_BEHAVIOR' => family.isNewVersionBehavior.to_s, 'IN_MEMORY' => family.isInMemory.to_s,
        'BLOCKCACHE' => family.isBlockCacheEnabled.to_s
      )
    end

    # An index that was opened before says itself which scheme and profile it has, for good.
    def check_scheme
      table = @connection.getTable(HBase::TableName.valueOf("#{@table}_docs"))
      cell = table.get(Client::Get.new('pigeonhole'.to_java_bytes)).getValue('m'.to_java_bytes, 'metadata'.to_java_bytes)
      return unless cell
      @opened = true
      require 'json'
      said = JSON.parse(String.from_java_bytes(cell).force_encoding('UTF-8'))
      profile = said.fetch('profile', 'classic')
      unless profile == @profile || parameter('PROFILE', nil).nil?
        raise Refused, "#{@table} is an index of profile #{profile}, asked for is #{@profile}: an index keeps its profile; " \
                       'choose another TABLE, or pass the PROFILE that it has'
      end
      return if profile == 'minhash'
      name = said.fetch('scheme').fetch('name')
      return if name == @scheme
      raise Refused, "#{@table} is an index of scheme #{name}, asked for is #{@scheme}: an index keeps its scheme; " \
                     'choose another TABLE, or pass the SCHEME that it has'
    rescue JSON::ParserError, KeyError, TypeError
      raise Refused, "#{@table}: the metadata in #{@table}_docs are damaged; `pigeonhole info` says more"
    ensure
      table.close if table
    end

    # ---- doing it ----

    def make(table)
      for_scheme = table[:name] == @table ? ", split for #{kind_text}" : ''
      n = table[:splits].length + 1
      regions = "#{n} region#{'s' if n > 1}#{for_scheme if n > 1}"
      if table[:there]
        puts "#{table[:name]} is there, with these settings"
        say_texts(table)
      elsif @dry
        puts "would create #{table[:name]}: #{regions}"
        puts "  splits #{splits_text(table)}" unless table[:splits].empty?
        puts "  #{command(table)}"
      else
        create(table)
        puts "created #{table[:name]}: #{regions}"
      end
    end

    # Tables that were made before there were texts.
    def say_texts(table)
      return unless table[:families].any? { |family| family['NAME'] == 't' }
      return if @admin.getDescriptor(HBase::TableName.valueOf(table[:name])).hasColumnFamily('t'.to_java_bytes)
      puts "  without a family for texts, so its index keeps none; to add it: alter '#{table[:name]}', #{family_text(texts_family)}"
    end

    def kind_text
      { 'full' => "scheme #{@scheme}", 'classic' => "scheme #{@scheme}, profile classic", 'minhash' => 'profile minhash' }[@profile]
    end

    def create(table)
      builder = Client::TableDescriptorBuilder.newBuilder(HBase::TableName.valueOf(table[:name]))
      table[:values].each { |key, value| builder.setValue(key, value) }
      table[:families].each { |family| builder.setColumnFamily(descriptor(family)) }
      splits = table[:splits].map(&:to_java_bytes)
      return @admin.createTable(builder.build) if splits.empty?
      @admin.createTable(builder.build, splits.to_java(Java::byte[]))
    end

    def descriptor(family)
      builder = Client::ColumnFamilyDescriptorBuilder.newBuilder(family['NAME'].to_java_bytes)
      family.reject { |key, _| key == 'NAME' }.each do |key, value|
        value = FOREVER.to_s if value == 'FOREVER'
        configuration?(key) ? builder.setConfiguration(key, value) : builder.setValue(key, value)
      end
      builder.build
    end

    # HBase's own settings are in capitals; what is not goes into a map beside them.
    def configuration?(key)
      key != key.upcase
    end

    # The bytes in hexadecimal; the documents' splits are hexadecimal digits as they are.
    def splits_text(table)
      table[:splits].map { |split| table[:name] == @table ? split.unpack('H*').first : split }.join(' ')
    end

    def family_text(settings)
      inside, outside = settings.partition { |key, _| configuration?(key) }
      words = outside.map { |key, value| "#{key} => '#{value}'" }
      words << "CONFIGURATION => #{hash_text(inside)}" unless inside.empty?
      "{#{words.join(', ')}}"
    end

    def hash_text(pairs)
      "{#{pairs.map { |key, value| "'#{key}' => '#{value}'" }.join(', ')}}"
    end

    # In SPLITS the shell wants single quotes: it reads the escapes itself, and mangles a double-quoted byte from 80 on.
    def command(table)
      words = ["create '#{table[:name]}'"] + table[:families].map { |family| family_text(family) }
      splits = table[:splits].map { |split| "'#{split.bytes.map { |byte| format('\x%02X', byte) }.join}'" }
      words << "SPLITS => [#{splits.join(', ')}]" unless splits.empty?
      words << "CONFIGURATION => #{hash_text(table[:values])}" unless table[:values].empty?
      words.join(', ')
    end
  end
end

PigeonholeCreate.report
nil
