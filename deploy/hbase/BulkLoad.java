import java.io.IOException;
import java.io.InputStream;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.Paths;
import java.nio.file.StandardOpenOption;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.atomic.AtomicLong;
import java.util.zip.CRC32;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.hbase.CellUtil;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.TableNotFoundException;
import org.apache.hadoop.hbase.client.CheckAndMutate;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptor;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Delete;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.RowMutations;
import org.apache.hadoop.hbase.client.Table;
import org.apache.hadoop.hbase.client.TableDescriptor;
import org.apache.hadoop.hbase.io.hfile.CacheConfig;
import org.apache.hadoop.hbase.io.hfile.HFileContext;
import org.apache.hadoop.hbase.io.hfile.HFileContextBuilder;
import org.apache.hadoop.hbase.regionserver.HStoreFile;
import org.apache.hadoop.hbase.regionserver.StoreFileWriter;
import org.apache.hadoop.hbase.regionserver.StoreUtils;
import org.apache.hadoop.hbase.tool.BulkLoadHFiles;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.CommonFSUtils;

/**
 * Brings the rows of `indexer bulk-rows` into HBase, past its write path: they become HFiles, cut where the regions are, and
 * these are moved into the regions. The files are drawn in schema/rows.md.
 *
 * <p>First the index table, which leads nowhere yet, so that nothing is found; then the documents, region by region, and
 * with them all that leads to them; in the end the metadata of a new index, before which nobody opens it. Between the first
 * step and the last a mark beside the metadata keeps others from taking the cells of this load for leftovers. Every step may
 * be done again, so whoever is interrupted starts from the beginning.
 */
public class BulkLoad {
  static final String USAGE =
      "usage: BulkLoad ROWS [--staging PATH] [--threads N]\n"
          + "  ROWS            a folder that `indexer bulk-rows` has written\n"
          + "  --staging PATH  where the HFiles are written, on the file system of HBase\n"
          + "                  [a folder of this load below pigeonhole-bulk-load in your home folder there]\n"
          + "  --threads N     HFiles that are written side by side [one for each core]\n"
          + "After a failure or a kill run it again.\n"
          + "exit codes: 0 loaded, 1 not loaded, 64 wrong usage";

  /** Of the row beside all documents; `crates/store-hbase/src/layout.rs` has the same. */
  static final byte[] METADATA_ROW = Bytes.toBytes("pigeonhole");
  static final byte[] METADATA_FAMILY = Bytes.toBytes("m");
  static final byte[] METADATA = Bytes.toBytes("metadata");
  static final byte[] OLDER = Bytes.toBytes("older");
  static final byte[] INDEX_FAMILY = Bytes.toBytes("f");
  static final byte[] DOCUMENT_FAMILY = Bytes.toBytes("d");

  static final int SAY_EVERY_MS = 10_000;
  static final int PATIENCE_MS = 120_000;

  final Rows rows;
  final Configuration conf;
  final org.apache.hadoop.fs.Path staging;
  final int nThreads;
  final AtomicLong nCells = new AtomicLong();

  public static void main(String[] arguments) {
    String folder = null;
    String staging = null;
    int nThreads = Runtime.getRuntime().availableProcessors();
    try {
      for (int i = 0; i < arguments.length; i++) {
        switch (arguments[i]) {
          case "--staging": staging = arguments[++i]; break;
          case "--threads": nThreads = Math.max(1, Integer.parseInt(arguments[++i])); break;
          case "--help": System.out.println(USAGE); System.exit(0); break;
          default:
            if (folder != null || arguments[i].startsWith("-")) {
              throw new IllegalArgumentException(arguments[i]);
            }
            folder = arguments[i];
        }
      }
      if (folder == null) {
        throw new IllegalArgumentException("no folder");
      }
    } catch (RuntimeException e) {
      System.err.println(USAGE);
      System.exit(64);
    }
    try {
      run(Paths.get(folder), staging, nThreads);
      System.exit(0); // HBase's client leaves threads behind.
    } catch (Exception e) {
      boolean saysWhatNext = false;
      for (Throwable cause = e; cause != null; cause = cause.getCause()) {
        say((cause == e ? "error: " : "caused by: ") + firstLine(cause));
        saysWhatNext |= firstLine(cause).contains(" again");
      }
      if (!saysWhatNext) {
        say("nothing is lost: once the cause is gone, the same command again goes on");
      }
      System.exit(1);
    }
  }

  static void run(Path folder, String staging, int nThreads) throws Exception {
    long start = System.nanoTime();
    try (FileChannel file = open(folder); FileLock lock = lock(file, folder)) {
      Path loaded = folder.resolve("loaded");
      if (Files.exists(loaded)) {
        say(folder + " was loaded before, " + Files.readString(loaded).trim() + "; there is nothing to do");
        return;
      }
      Rows rows = Rows.open(folder);
      Configuration conf = HBaseConfiguration.create();
      conf.setInt("hbase.mapreduce.bulkload.max.hfiles.perRegion.perFamily", Integer.MAX_VALUE);
      FileSystem fs = CommonFSUtils.getRootDirFileSystem(conf);
      String name = rows.name.replace(':', '.') + "-" + rows.timestamp;
      org.apache.hadoop.fs.Path path =
          staging != null
              ? new org.apache.hadoop.fs.Path(staging, name)
              : new org.apache.hadoop.fs.Path(fs.getHomeDirectory(), "pigeonhole-bulk-load/" + name);
      try (Connection connection = ConnectionFactory.createConnection(conf)) {
        new BulkLoad(rows, conf, path, nThreads).load(connection, path.getFileSystem(conf));
      }
      Files.writeString(loaded, "at " + Instant.now() + "\n");
      double seconds = (System.nanoTime() - start) / 1e9;
      System.out.printf("loaded %d documents, %d rows of the index, into %s in %.1f s%n", rows.nDocuments(), rows.nIndexCells(), rows.name, seconds);
    }
  }

  BulkLoad(Rows rows, Configuration conf, org.apache.hadoop.fs.Path staging, int nThreads) {
    this.rows = rows;
    this.conf = conf;
    this.staging = staging;
    this.nThreads = nThreads;
  }

  void load(Connection connection, FileSystem fs) throws Exception {
    TableName index = TableName.valueOf(rows.name);
    TableName documents = TableName.valueOf(rows.name + "_docs");
    boolean isNew = checkIndex(connection, documents);
    rows.check(nThreads);
    fs.delete(staging, true); // Of a run that broke off.
    org.apache.hadoop.fs.Path indexFiles = new org.apache.hadoop.fs.Path(staging, "index");
    org.apache.hadoop.fs.Path documentFiles = new org.apache.hadoop.fs.Path(staging, "documents");
    try {
      writeHFiles(connection, fs, index, INDEX_FAMILY, rows.index, indexFiles);
      writeHFiles(connection, fs, documents, DOCUMENT_FAMILY, rows.documents, documentFiles);
    } catch (Exception e) {
      throw new IOException("failed to write HFiles to " + staging + ", and nothing was loaded; " + again(), e);
    }
    byte[] mark = Bytes.toBytes("load." + rows.timestamp);
    try (Table table = connection.getTable(documents)) {
      checkStill(connection, documents, isNew, "nothing was loaded");
      String from = "from " + rows.folder.toAbsolutePath() + ", begun " + Instant.now();
      Put begun = new Put(METADATA_ROW).addColumn(METADATA_FAMILY, mark, Bytes.toBytes(from));
      if (!isNew) {
        // Also of a load that is given up: its mark goes then, and documents that it has brought may stay.
        begun.addColumn(METADATA_FAMILY, OLDER, note("begun"));
      }
      table.put(begun);
      complete(connection, index, INDEX_FAMILY, indexFiles, "no document can be found yet");
      complete(
          connection,
          documents,
          DOCUMENT_FAMILY,
          documentFiles,
          isNew ? "the index is not there yet" : "each document is there as a whole, or not at all");
      if (isNew) {
        createIndex(table);
      } else {
        checkStill(connection, documents, false, "what was loaded may be in another one, so drop both tables and begin anew");
      }
      Delete ended = new Delete(METADATA_ROW).addColumns(METADATA_FAMILY, mark);
      if (isNew) {
        table.delete(ended);
      } else {
        // It ends the tiers that processes have filled before: they lack the cells, which are older than the load's end.
        Put note = new Put(METADATA_ROW).addColumn(METADATA_FAMILY, OLDER, note("ended"));
        table.mutateRow(RowMutations.of(Arrays.asList(note, ended)));
      }
    }
    fs.delete(staging, true);
  }

  /** A note that differs from all others; `crates/store-hbase/src/older.rs` reads it. */
  byte[] note(String what) {
    return Bytes.toBytes("load." + rows.timestamp + " " + what + " " + Instant.now());
  }

  /** Whether the index is to be created. */
  boolean checkIndex(Connection connection, TableName documents) throws IOException {
    if (rows.retainSeconds > 0 && rows.timestamp + 1000 * rows.retainSeconds <= System.currentTimeMillis()) {
      throw new IOException("the index keeps documents for " + rows.retainSeconds + " s, and these are older; make the rows anew");
    }
    return isToBeMade(connection, documents);
  }

  /** The same again: writing the HFiles may take hours, in which the tables can be dropped and made anew. */
  void checkStill(Connection connection, TableName documents, boolean isNew, String so) throws IOException {
    if (isToBeMade(connection, documents) != isNew) {
      throw new IOException("the index at " + rows.name + (isNew ? " was made" : " has gone") + " since this load began; " + so);
    }
  }

  /** Whether there is no index; refuses another one than the rows were made for. */
  boolean isToBeMade(Connection connection, TableName documents) throws IOException {
    try (Table table = connection.getTable(documents)) {
      byte[] stored = table.get(new Get(METADATA_ROW).addColumn(METADATA_FAMILY, METADATA)).value();
      if (stored != null && !Arrays.equals(stored, rows.metadata)) {
        throw new IOException("the rows were made for another index than the one at " + rows.name + " now; make them anew");
      }
      return stored == null;
    } catch (TableNotFoundException e) {
      throw new IOException("there is no table " + documents + "; make it with schema/create.rb, then " + again(), e);
    }
  }

  /** The tables are filled: from here on the index is there. */
  void createIndex(Table documents) throws IOException {
    Put put = new Put(METADATA_ROW).addColumn(METADATA_FAMILY, METADATA, rows.metadata);
    CheckAndMutate create =
        CheckAndMutate.newBuilder(METADATA_ROW).ifNotExists(METADATA_FAMILY, METADATA).build(put);
    if (!documents.checkAndMutate(create).isSuccess()) {
      byte[] stored = documents.get(new Get(METADATA_ROW).addColumn(METADATA_FAMILY, METADATA)).value();
      if (!Arrays.equals(stored, rows.metadata)) {
        throw new IOException("somebody else has made another index of " + rows.name + " meanwhile; drop both tables, or take another name");
      }
    }
  }

  String again() {
    return "the same command again goes on";
  }

  void complete(
      Connection connection, TableName table, byte[] family, org.apache.hadoop.fs.Path files, String meanwhile)
      throws IOException {
    say("loading the HFiles of " + table);
    try {
      if (files.getFileSystem(conf).exists(files)) {
        TableDescriptor descriptor = connection.getAdmin().getDescriptor(table);
        // With their settings, by which the tool cuts a file in two whose region has been split.
        bulkLoad(BulkLoadHFiles.create(settings(descriptor, descriptor.getColumnFamily(family))), table, files);
      }
    } catch (Exception e) {
      throw new IOException("failed to load the HFiles of " + table + " (" + meanwhile + "); " + again(), e);
    }
  }

  /** A region that is being split or moved is away for a moment, and the tool does not wait for it to begin with. */
  static void bulkLoad(BulkLoadHFiles tool, TableName table, org.apache.hadoop.fs.Path files) throws Exception {
    long until = System.currentTimeMillis() + PATIENCE_MS;
    while (true) {
      try {
        tool.bulkLoad(table, files);
        return;
      } catch (TableNotFoundException e) {
        // It says so of a table that is there, too, and has done nothing yet.
        if (System.currentTimeMillis() > until) {
          throw e;
        }
        Thread.sleep(200);
      }
    }
  }

  // ---- HFiles ----

  /** One for each region, or several where it would be too great. */
  void writeHFiles(
      Connection connection, FileSystem fs, TableName name, byte[] family, List<RowFile> files, org.apache.hadoop.fs.Path folder)
      throws Exception {
    long nAll = files.stream().mapToLong(file -> file.nCells).sum();
    TableDescriptor table;
    List<byte[]> starts = new ArrayList<>();
    try {
      table = connection.getAdmin().getDescriptor(name);
      for (RegionInfo region : connection.getAdmin().getRegions(name)) {
        starts.add(region.getStartKey());
      }
    } catch (TableNotFoundException e) {
      throw new IOException("there is no table " + name + "; make it with schema/create.rb", e);
    }
    starts.sort(Bytes.BYTES_COMPARATOR);
    org.apache.hadoop.fs.Path into = new org.apache.hadoop.fs.Path(folder, Bytes.toString(family));
    nCells.set(0);
    List<Callable<Void>> tasks = new ArrayList<>();
    for (int i = 0; i < starts.size(); i++) {
      byte[] start = starts.get(i);
      byte[] end = i + 1 < starts.size() ? starts.get(i + 1) : null;
      tasks.add(() -> writeRegion(fs, table, family, files, start, end, into));
    }
    Thread progress = new Thread(() -> sayProgress(name, nAll));
    progress.setDaemon(true);
    progress.start();
    try {
      inParallel(nThreads, tasks);
    } finally {
      progress.interrupt();
    }
    if (nCells.get() != nAll) {
      throw new IOException(name + " should get " + nAll + " cells, and its HFiles have " + nCells.get());
    }
    say(String.format("wrote the HFiles of %s: %,d cells for %d %s", name, nAll, starts.size(), starts.size() == 1 ? "region" : "regions"));
  }

  void sayProgress(TableName name, long nAll) {
    try {
      while (true) {
        Thread.sleep(SAY_EVERY_MS);
        say(String.format("writing the HFiles of %s: %,d of %,d cells", name, nCells.get(), nAll));
      }
    } catch (InterruptedException e) {
      // All are written.
    }
  }

  /** The cells of the region that begins with the row `start` and ends before `end`, or with the table. */
  Void writeRegion(
      FileSystem fs, TableDescriptor table, byte[] family, List<RowFile> files, byte[] start, byte[] end, org.apache.hadoop.fs.Path into)
      throws IOException {
    ColumnFamilyDescriptor settings = table.getColumnFamily(family);
    long nBytesMax = table.getMaxFileSize() > 0 ? table.getMaxFileSize() : HConstants.DEFAULT_MAX_FILE_SIZE;
    StoreFileWriter writer = null;
    long nBytes = 0;
    long nWritten = 0;
    KeyValue last = null;
    try {
      for (RowFile file : files) {
        if (Bytes.compareTo(file.lastRow, start) < 0 || end != null && Bytes.compareTo(file.firstRow, end) >= 0) {
          continue;
        }
        boolean isBefore = Bytes.compareTo(file.firstRow, start) < 0;
        try (CellReader cells = new CellReader(file.path)) {
          while (cells.next()) {
            isBefore = isBefore && cells.compareRow(start) < 0;
            if (isBefore) {
              continue;
            }
            if (end != null && cells.compareRow(end) >= 0) {
              break;
            }
            KeyValue cell = cells.cell(family, rows.timestamp);
            if (writer != null && nBytes > nBytesMax && !CellUtil.matchingRows(cell, last)) {
              close(writer);
              writer = null;
            }
            if (writer == null) {
              writer = open(fs, table, settings, into);
              nBytes = 0;
            }
            writer.append(cell);
            nBytes += cell.getLength();
            last = cell;
            if (++nWritten % 4096 == 0) {
              nCells.addAndGet(4096);
            }
          }
        }
      }
    } finally {
      if (writer != null) {
        close(writer);
      }
    }
    nCells.addAndGet(nWritten % 4096);
    return null;
  }

  /** As a region server makes one when it flushes a family. */
  StoreFileWriter open(FileSystem fs, TableDescriptor table, ColumnFamilyDescriptor family, org.apache.hadoop.fs.Path into)
      throws IOException {
    Configuration conf = settings(table, family);
    HFileContext context =
        new HFileContextBuilder()
            .withCompression(family.getCompressionType())
            .withDataBlockEncoding(family.getDataBlockEncoding())
            .withBlockSize(family.getBlocksize())
            .withChecksumType(StoreUtils.getChecksumType(conf))
            .withBytesPerCheckSum(StoreUtils.getBytesPerChecksum(conf))
            .withColumnFamily(family.getName())
            .withTableName(table.getTableName().getName())
            .withCreateTime(System.currentTimeMillis())
            .build();
    return new StoreFileWriter.Builder(conf, CacheConfig.DISABLED, fs)
        .withOutputDir(into)
        .withBloomType(family.getBloomFilterType())
        .withFileContext(context)
        .build();
  }

  /** What holds for a family, such as the prefix length of its bloom filter. */
  Configuration settings(TableDescriptor table, ColumnFamilyDescriptor family) {
    Configuration settings = new Configuration(conf);
    table.getValues().forEach((key, value) -> settings.set(Bytes.toString(key.get()), Bytes.toString(value.get())));
    family.getValues().forEach((key, value) -> settings.set(Bytes.toString(key.get()), Bytes.toString(value.get())));
    family.getConfiguration().forEach(settings::set);
    return settings;
  }

  static void close(StoreFileWriter writer) throws IOException {
    // By this a region server tells such a file from one of its own, which it would order by its number.
    writer.appendFileInfo(HStoreFile.BULKLOAD_TIME_KEY, Bytes.toBytes(System.currentTimeMillis()));
    writer.appendMetadata(0, true);
    writer.appendTrackedTimestampsToMetadata();
    writer.close();
  }

  // ---- the folder of rows ----

  /** What the manifest says. */
  static class Rows {
    Path folder;
    String name;
    long timestamp;
    long retainSeconds;
    byte[] metadata;
    final List<RowFile> index = new ArrayList<>();
    final List<RowFile> documents = new ArrayList<>();

    long nDocuments() {
      return documents.stream().mapToLong(file -> file.nCells).sum();
    }

    long nIndexCells() {
      return index.stream().mapToLong(file -> file.nCells).sum();
    }

    static Rows open(Path folder) throws IOException {
      Path manifest = folder.resolve("manifest");
      if (!Files.exists(manifest)) {
        throw new IOException(folder + " has no manifest, so its rows are not whole; run `indexer bulk-rows` again");
      }
      String text = Files.readString(manifest, StandardCharsets.UTF_8);
      int end = text.lastIndexOf("end\t");
      if (end < 0 || !text.substring(end).equals(String.format("end\t%08x\n", crc32(Bytes.toBytes(text.substring(0, end)))))) {
        throw damaged(manifest, "its checksum does not fit");
      }
      Rows rows = new Rows();
      rows.folder = folder;
      for (String line : text.substring(0, end).split("\n")) {
        String[] words = line.split("\t");
        switch (words[0]) {
          case "pigeonhole rows":
            if (!words[1].equals("1")) {
              throw new IOException(folder + " has rows of version " + words[1] + ", and this program knows version 1");
            }
            break;
          case "index": rows.name = words[1]; break;
          case "timestamp": rows.timestamp = Long.parseLong(words[1]); break;
          case "retain_seconds": rows.retainSeconds = Long.parseLong(words[1]); break;
          case "metadata":
            Path path = folder.resolve(words[1]);
            rows.metadata = Files.exists(path) ? Files.readAllBytes(path) : new byte[0];
            if (rows.metadata.length != Long.parseLong(words[2]) || !words[3].equals(String.format("%08x", crc32(rows.metadata)))) {
              throw damaged(path, "it is not what the manifest says");
            }
            break;
          case "rows":
            (words[1].equals("index") ? rows.index : rows.documents).add(new RowFile(folder, words));
            break;
          default:
            throw damaged(manifest, "it has a line " + words[0]);
        }
      }
      return rows;
    }

    /** Reads all files once. */
    void check(int nThreads) throws Exception {
      say(String.format("checking the rows of %,d documents in %s", nDocuments(), folder));
      List<Callable<Void>> tasks = new ArrayList<>();
      index.forEach(file -> tasks.add(file::check));
      documents.forEach(file -> tasks.add(file::check));
      inParallel(nThreads, tasks);
    }
  }

  /** A line of the manifest. */
  static class RowFile {
    final Path path;
    final long nCells;
    final long nBytes;
    final String crc32;
    final byte[] firstRow;
    final byte[] lastRow;

    RowFile(Path folder, String[] words) {
      path = folder.resolve(words[2]);
      nCells = Long.parseLong(words[3]);
      nBytes = Long.parseLong(words[4]);
      crc32 = words[5];
      firstRow = Bytes.fromHex(words[6]);
      lastRow = Bytes.fromHex(words[7]);
    }

    Void check() throws IOException {
      if (!Files.exists(path)) {
        throw damaged(path, "it is not there");
      }
      if (Files.size(path) != nBytes) {
        throw damaged(path, "it does not have its " + nBytes + " bytes");
      }
      CRC32 crc = new CRC32();
      ByteBuffer buffer = ByteBuffer.allocateDirect(1 << 20);
      try (FileChannel channel = FileChannel.open(path)) {
        while (channel.read(buffer) >= 0) {
          crc.update(buffer.flip());
          buffer.clear();
        }
      }
      if (!crc32.equals(String.format("%08x", crc.getValue()))) {
        throw damaged(path, "its checksum does not fit");
      }
      return null;
    }
  }

  /** The cells of a file, one after another, where they lie in its buffer. */
  static class CellReader implements AutoCloseable {
    static final byte[] MAGIC = {'P', 'H', 'R', 'O', 'W', 'S', 0, 1};
    static final int CELL_BYTES_MAX = 3 * (2 + 0xffff);
    final Path path;
    final InputStream in;
    final byte[] buffer = new byte[1 << 20];
    /** What of the buffer is yet to be read. */
    int start = 0;
    int end = 0;
    /** The parts of the present cell: where they begin, and their lengths. */
    int row, rowLength, qualifier, qualifierLength, value, valueLength;

    CellReader(Path path) throws IOException {
      this.path = path;
      in = Files.newInputStream(path);
      fill();
      if (end < MAGIC.length || !Arrays.equals(buffer, 0, MAGIC.length, MAGIC, 0, MAGIC.length)) {
        in.close();
        throw damaged(path, "it does not begin as rows do");
      }
      start = MAGIC.length;
    }

    boolean next() throws IOException {
      if (end - start < CELL_BYTES_MAX) {
        fill();
      }
      if (start == end) {
        return false;
      }
      rowLength = partLength();
      row = part(rowLength);
      qualifierLength = partLength();
      qualifier = part(qualifierLength);
      valueLength = partLength();
      value = part(valueLength);
      return true;
    }

    int compareRow(byte[] other) {
      return Bytes.compareTo(buffer, row, rowLength, other, 0, other.length);
    }

    KeyValue cell(byte[] family, long timestamp) {
      return new KeyValue(
          buffer, row, rowLength, family, 0, family.length, buffer, qualifier, qualifierLength, timestamp,
          KeyValue.Type.Put, buffer, value, valueLength);
    }

    /** Moves what is left to the beginning, and reads on. */
    private void fill() throws IOException {
      System.arraycopy(buffer, start, buffer, 0, end - start);
      end -= start;
      start = 0;
      end += in.readNBytes(buffer, end, buffer.length - end);
    }

    private int partLength() throws IOException {
      int at = part(2);
      return (buffer[at] & 0xff) << 8 | buffer[at + 1] & 0xff;
    }

    private int part(int length) throws IOException {
      if (end - start < length) {
        throw damaged(path, "it ends within a cell");
      }
      start += length;
      return start - length;
    }

    @Override
    public void close() throws IOException {
      in.close();
    }
  }

  // ---- small things ----

  static IOException damaged(Path path, String why) {
    return new IOException(path + " is damaged: " + why + "; remove the folder and run `indexer bulk-rows` again");
  }

  static FileChannel open(Path folder) throws IOException {
    if (!Files.isDirectory(folder)) {
      throw new IOException("there is no folder " + folder);
    }
    return FileChannel.open(folder.resolve("loading"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
  }

  static FileLock lock(FileChannel file, Path folder) throws IOException {
    FileLock lock = file.tryLock();
    if (lock == null) {
      throw new IOException("somebody else is loading " + folder + "; wait for it");
    }
    return lock;
  }

  /** Runs all, and throws what the first one threw. */
  static void inParallel(int nThreads, List<Callable<Void>> tasks) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(nThreads);
    try {
      List<Future<Void>> futures = new ArrayList<>();
      tasks.forEach(task -> futures.add(threads.submit(task)));
      for (Future<Void> future : futures) {
        future.get();
      }
    } catch (ExecutionException e) {
      throw e.getCause() instanceof Exception ? (Exception) e.getCause() : e;
    } finally {
      threads.shutdownNow();
    }
  }

  static long crc32(byte[] bytes) {
    CRC32 crc = new CRC32();
    crc.update(bytes);
    return crc.getValue();
  }

  static String firstLine(Throwable e) {
    return String.valueOf(e.getMessage() == null ? e : e.getMessage()).lines().findFirst().orElse("");
  }

  static void say(String what) {
    System.err.println("bulk-load: " + what);
  }
}
