import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.zip.CRC32;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.AdvancedScanResultConsumer;
import org.apache.hadoop.hbase.client.AsyncConnection;
import org.apache.hadoop.hbase.client.AsyncTable;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.Put;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;

/**
 * HBase's own Java client doing Pigeonhole's work: the figure to beat.
 *
 * <p>The documents are made, not read, and another program can make the same: document n (from 0) of worker w has the
 * id {@code doc<w>-<n>} and as fingerprint the number n + 1 (from 1) of splitmix64 with the seed 7 + 1000 w.
 *
 * <p>A document is eleven rows. Ten are in the index table, one for each pair of the five blocks of scheme 5c2: the key
 * is the segment (4 bytes, big-endian), the number of the pair (1 byte) and the fingerprint (8 bytes); the family is
 * {@code f}, the qualifier the id, the value empty. One is in the table of documents: see {@link #documentRow}.
 */
public class HBaseClientBaseline {
  static final String USAGE =
      """
      load N THREADS BATCH TABLE [--read-first]
          N documents by THREADS workers, BATCH documents a call. --read-first reads the documents of a batch before
          it writes them, as an upsert must.
      query N THREADS TABLE [--no-verify] [--documents D] [--warm-up W]
          N queries by THREADS workers. Every second one asks for one of the first D documents of worker 0 [N / 2] with
          two bits flipped, the others for random fingerprints. A match counts when the document's own row is live and
          has its fingerprint; --no-verify leaves that out. W more queries [2000] come first and are not counted.
      """;

  static final int MAX_DISTANCE = 3;

  /** The five blocks of scheme 5c2: the lowest bit and the number of bits. */
  static final int[][] BLOCKS = {{51, 13}, {38, 13}, {25, 13}, {12, 13}, {0, 12}};

  static final int N_TABLES = 10;
  static final int KEY_BYTES = 13;
  static final int BUCKET_BYTES = 5;

  static final byte[] INDEX_FAMILY = {'f'};
  static final byte[] DOCUMENT_FAMILY = {'d'};
  static final byte[] RECORD = "record".getBytes(StandardCharsets.US_ASCII);
  static final byte[] EMPTY = {};

  public static void main(String[] arguments) throws Exception {
    Options options;
    try {
      options = Options.parse(arguments);
    } catch (RuntimeException e) {
      System.err.println("usage (" + e.getMessage() + "):\n" + USAGE);
      System.exit(64);
      return;
    }
    Configuration configuration = HBaseConfiguration.create();
    String line = options.isLoad ? load(options, configuration) : query(options, configuration);
    System.out.println(line);
    System.exit(0); // HBase's client leaves threads behind.
  }

  // ---- load ----

  static String load(Options options, Configuration configuration) throws Exception {
    try (Connection connection = ConnectionFactory.createConnection(configuration)) {
      long start = System.nanoTime();
      List<Tally> tallies =
          runWorkers(options.nThreads, w -> loadWorker(options, connection, w, share(options.n, options.nThreads, w)));
      return Tally.sum(tallies)
          .line("load", "documents", options, System.nanoTime() - start, "us a batch", "already there");
    }
  }

  static Tally loadWorker(Options options, Connection connection, int worker, int nDocuments) throws Exception {
    Tally tally = new Tally();
    try (Table index = connection.getTable(options.indexTable());
        Table documents = connection.getTable(options.documentTable())) {
      for (int first = 0; first < nDocuments; first += options.batch) {
        int end = Math.min(first + options.batch, nDocuments);
        long start = System.nanoTime();
        if (options.readFirst) {
          tally.nMatches += countPresent(documents, worker, first, end);
        }
        writeBatch(index, documents, worker, first, end);
        tally.add(end - first, System.nanoTime() - start);
      }
    }
    return tally;
  }

  static int countPresent(Table documents, int worker, int first, int end) throws Exception {
    List<Get> gets = new ArrayList<>(end - first);
    for (int n = first; n < end; n++) {
      gets.add(documentGet(documentId(worker, n)));
    }
    int nPresent = 0;
    for (Result result : documents.get(gets)) {
      nPresent += result.isEmpty() ? 0 : 1;
    }
    return nPresent;
  }

  /** The index rows first: a document that can be read is one that can be found. */
  static void writeBatch(Table index, Table documents, int worker, int first, int end) throws Exception {
    long now = System.currentTimeMillis();
    List<Put> indexPuts = new ArrayList<>((end - first) * N_TABLES);
    List<Put> documentPuts = new ArrayList<>(end - first);
    for (int n = first; n < end; n++) {
      long fingerprint = fingerprint(worker, n);
      byte[] id = documentId(worker, n);
      for (byte[] key : indexKeys(fingerprint)) {
        indexPuts.add(new Put(key).addColumn(INDEX_FAMILY, id, EMPTY));
      }
      byte[] record = (liveRecord(fingerprint) + now).getBytes(StandardCharsets.US_ASCII);
      documentPuts.add(new Put(documentRow(id)).addColumn(DOCUMENT_FAMILY, RECORD, record));
    }
    index.put(indexPuts);
    documents.put(documentPuts);
  }

  // ---- query ----

  static String query(Options options, Configuration configuration) throws Exception {
    try (AsyncConnection connection = ConnectionFactory.createAsyncConnection(configuration).get()) {
      // The same documents as later, but other bits of them, so that code and caches are as they are in the long run.
      runWorkers(
          options.nThreads,
          w -> queryWorker(options, connection, w, 500_009, share(options.nWarmUp, options.nThreads, w)));
      long start = System.nanoTime();
      List<Tally> tallies =
          runWorkers(
              options.nThreads,
              w -> queryWorker(options, connection, w, 99, share(options.n, options.nThreads, w)));
      return Tally.sum(tallies)
          .line("query", "queries", options, System.nanoTime() - start, "us a query", "matches");
    }
  }

  static Tally queryWorker(Options options, AsyncConnection connection, int worker, long seed, int nQueries)
      throws Exception {
    AsyncTable<AdvancedScanResultConsumer> index = connection.getTable(options.indexTable());
    AsyncTable<AdvancedScanResultConsumer> documents = connection.getTable(options.documentTable());
    SplitMix64 random = new SplitMix64(seed + worker);
    Tally tally = new Tally();
    for (int q = 0; q < nQueries; q++) {
      long asked = q % 2 == 0 ? nearDocument(options, worker, q / 2, random) : random.next();
      long start = System.nanoTime();
      List<Match> matches = search(index, asked);
      tally.nMatches += options.verify ? countLive(documents, matches) : matches.size();
      tally.add(1, System.nanoTime() - start);
    }
    return tally;
  }

  /** A document of worker 0, every worker another, with two different bits flipped. */
  static long nearDocument(Options options, int worker, int n, SplitMix64 random) {
    int document = (int) (((long) n * options.nThreads + worker) % options.nDocuments);
    int bit = (int) Long.remainderUnsigned(random.next(), 64);
    int other = (bit + 1 + (int) Long.remainderUnsigned(random.next(), 63)) % 64;
    return fingerprint(0, document) ^ (1L << bit) ^ (1L << other);
  }

  /** A document found, once for each id and fingerprint, however many tables it was found in. */
  record Match(String id, long fingerprint) {}

  /** Ten scans at once, one for each bucket; the candidates in them are compared with what was asked for. */
  static List<Match> search(AsyncTable<AdvancedScanResultConsumer> index, long asked) throws Exception {
    List<CompletableFuture<List<Result>>> scans = new ArrayList<>(N_TABLES);
    for (byte[] key : indexKeys(asked)) {
      scans.add(index.scanAll(bucketScan(key)));
    }
    List<Match> matches = new ArrayList<>();
    for (CompletableFuture<List<Result>> scan : scans) {
      for (Result row : scan.get()) {
        long fingerprint = ByteBuffer.wrap(row.getRow()).getLong(BUCKET_BYTES);
        if (Long.bitCount(asked ^ fingerprint) > MAX_DISTANCE) {
          continue;
        }
        for (byte[] id : row.getFamilyMap(INDEX_FAMILY).keySet()) {
          Match match = new Match(new String(id, StandardCharsets.UTF_8), fingerprint);
          if (!matches.contains(match)) {
            matches.add(match);
          }
        }
      }
    }
    return matches;
  }

  /** Start and stop share the prefix that the bloom filter holds, or it would not be asked. */
  static Scan bucketScan(byte[] key) {
    byte[] start = Arrays.copyOf(key, KEY_BYTES);
    byte[] stop = Arrays.copyOf(key, KEY_BYTES);
    Arrays.fill(start, BUCKET_BYTES, KEY_BYTES, (byte) 0x00);
    Arrays.fill(stop, BUCKET_BYTES, KEY_BYTES, (byte) 0xff);
    return new Scan()
        .withStartRow(start)
        .withStopRow(stop, true)
        .addFamily(INDEX_FAMILY)
        .setReadType(Scan.ReadType.PREAD)
        .setCaching(1000);
  }

  static int countLive(AsyncTable<AdvancedScanResultConsumer> documents, List<Match> matches) throws Exception {
    if (matches.isEmpty()) {
      return 0;
    }
    List<Get> gets = new ArrayList<>(matches.size());
    for (Match match : matches) {
      gets.add(documentGet(match.id().getBytes(StandardCharsets.UTF_8)));
    }
    List<Result> results = documents.getAll(gets).get();
    int nLive = 0;
    for (int i = 0; i < matches.size(); i++) {
      byte[] record = results.get(i).getValue(DOCUMENT_FAMILY, RECORD);
      String live = liveRecord(matches.get(i).fingerprint());
      if (record != null && new String(record, StandardCharsets.US_ASCII).startsWith(live)) {
        nLive++;
      }
    }
    return nLive;
  }

  // ---- rows ----

  static byte[][] indexKeys(long fingerprint) {
    byte[][] keys = new byte[N_TABLES][];
    int n = 0;
    for (int i = 0; i < BLOCKS.length; i++) {
      for (int j = i + 1; j < BLOCKS.length; j++) {
        long segment = block(fingerprint, i) << BLOCKS[j][1] | block(fingerprint, j);
        ByteBuffer key = ByteBuffer.allocate(KEY_BYTES);
        keys[n] = key.putInt((int) segment).put((byte) (n + 1)).putLong(fingerprint).array();
        n++;
      }
    }
    return keys;
  }

  static long block(long fingerprint, int i) {
    return fingerprint >>> BLOCKS[i][0] & ((1L << BLOCKS[i][1]) - 1);
  }

  /** Four hexadecimal digits of the id's CRC-32, which spread ids over the regions, a colon, and the id. */
  static byte[] documentRow(byte[] id) {
    CRC32 crc = new CRC32();
    crc.update(id);
    byte[] prefix = String.format("%04x:", crc.getValue() >>> 16).getBytes(StandardCharsets.US_ASCII);
    byte[] row = Arrays.copyOf(prefix, prefix.length + id.length);
    System.arraycopy(id, 0, row, prefix.length, id.length);
    return row;
  }

  static Get documentGet(byte[] id) {
    return new Get(documentRow(id)).addColumn(DOCUMENT_FAMILY, RECORD);
  }

  /** A live document's record, up to the time in milliseconds since 1970 at its end. */
  static String liveRecord(long fingerprint) {
    return String.format("live %016x ", fingerprint);
  }

  // ---- documents ----

  static byte[] documentId(int worker, int n) {
    return ("doc" + worker + "-" + n).getBytes(StandardCharsets.UTF_8);
  }

  static long fingerprint(int worker, int n) {
    return SplitMix64.mix(7 + 1000L * worker + (n + 1L) * SplitMix64.STEP);
  }

  static final class SplitMix64 {
    static final long STEP = 0x9E3779B97F4A7C15L;
    private long state;

    SplitMix64(long seed) {
      state = seed;
    }

    long next() {
      state += STEP;
      return mix(state);
    }

    static long mix(long z) {
      z = (z ^ (z >>> 30)) * 0xBF58476D1CE4E5B9L;
      z = (z ^ (z >>> 27)) * 0x94D049BB133111EBL;
      return z ^ (z >>> 31);
    }
  }

  // ---- workers, figures, arguments ----

  interface Worker {
    Tally run(int worker) throws Exception;
  }

  static List<Tally> runWorkers(int nThreads, Worker worker) throws Exception {
    ExecutorService threads = Executors.newFixedThreadPool(nThreads);
    try {
      List<Future<Tally>> futures = new ArrayList<>(nThreads);
      for (int w = 0; w < nThreads; w++) {
        int number = w;
        futures.add(threads.submit(() -> worker.run(number)));
      }
      List<Tally> tallies = new ArrayList<>(nThreads);
      for (Future<Tally> future : futures) {
        tallies.add(future.get());
      }
      return tallies;
    } finally {
      threads.shutdownNow();
    }
  }

  /** What falls to worker w of n things: the first workers take one more of what does not divide. */
  static int share(int n, int nThreads, int w) {
    return n / nThreads + (w < n % nThreads ? 1 : 0);
  }

  static final class Tally {
    long nDone;
    long nMatches;
    final List<Long> nanos = new ArrayList<>();

    void add(int n, long elapsed) {
      nDone += n;
      nanos.add(elapsed);
    }

    static Tally sum(List<Tally> tallies) {
      Tally sum = new Tally();
      for (Tally tally : tallies) {
        sum.nDone += tally.nDone;
        sum.nMatches += tally.nMatches;
        sum.nanos.addAll(tally.nanos);
      }
      sum.nanos.sort(null);
      return sum;
    }

    long percentileMicros(int percent) {
      return nanos.get((int) ((nanos.size() - 1L) * percent / 100)) / 1000;
    }

    String line(String command, String things, Options options, long elapsed, String unit, String found) {
      return String.format(
          "%s %s threads=%d: %d %s in %.1f s, %.0f %s/s, p50 %d p99 %d %s, %d %s",
          command, options.describe(), options.nThreads, nDone, things, elapsed / 1e9, nDone * 1e9 / elapsed, things,
          percentileMicros(50), percentileMicros(99), unit, nMatches, found);
    }
  }

  static final class Options {
    boolean isLoad;
    int n;
    int nThreads;
    int batch;
    String table;
    boolean readFirst;
    boolean verify = true;
    int nDocuments;
    int nWarmUp = 2000;

    static Options parse(String[] arguments) {
      Options options = new Options();
      List<String> words = new ArrayList<>();
      for (int i = 0; i < arguments.length; i++) {
        switch (arguments[i]) {
          case "--read-first" -> options.readFirst = true;
          case "--verify" -> options.verify = true;
          case "--no-verify" -> options.verify = false;
          case "--documents" -> options.nDocuments = positive(arguments[++i]);
          case "--warm-up" -> options.nWarmUp = Integer.parseInt(arguments[++i]);
          default -> words.add(arguments[i]);
        }
      }
      options.isLoad = words.size() == 5 && words.get(0).equals("load");
      if (!options.isLoad && !(words.size() == 4 && words.get(0).equals("query"))) {
        throw new IllegalArgumentException("wrong number of arguments");
      }
      options.n = positive(words.get(1));
      options.nThreads = positive(words.get(2));
      options.batch = options.isLoad ? positive(words.get(3)) : 1;
      options.table = words.get(words.size() - 1);
      options.nDocuments = options.nDocuments == 0 ? Math.max(1, options.n / 2) : options.nDocuments;
      return options;
    }

    static int positive(String word) {
      int number = Integer.parseInt(word);
      if (number < 1) {
        throw new IllegalArgumentException("not positive: " + word);
      }
      return number;
    }

    String describe() {
      if (isLoad) {
        return "batch=" + batch + (readFirst ? " read-first" : "");
      }
      return verify ? "verify" : "no-verify";
    }

    TableName indexTable() {
      return TableName.valueOf(table);
    }

    TableName documentTable() {
      return TableName.valueOf(table + "_docs");
    }
  }
}
