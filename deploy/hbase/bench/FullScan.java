import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.ResultScanner;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.Table;

/** HBase's own Java client reading a table from its beginning to its end: the figure to hold `indexer pairs` against. */
public class FullScan {
  static final String USAGE =
      """
      TABLE [THREADS] [ROUNDS] [REGIONS]
          Reads all rows of a table ROUNDS times [1], with the client's own settings: in one scan, or with THREADS a
          scan for each region, so many at a time; with REGIONS only the first ones.
      """;

  public static void main(String[] args) throws Exception {
    if (args.length < 1 || args.length > 4) {
      System.err.print(USAGE);
      System.exit(2);
    }
    int threads = args.length > 1 ? Integer.parseInt(args[1]) : 0;
    int rounds = args.length > 2 ? Integer.parseInt(args[2]) : 1;
    int regions = args.length > 3 ? Integer.parseInt(args[3]) : Integer.MAX_VALUE;
    TableName name = TableName.valueOf(args[0]);
    try (Connection connection = ConnectionFactory.createConnection(HBaseConfiguration.create())) {
      for (int round = 0; round < rounds; round++) {
        long begun = System.nanoTime();
        long rows =
            threads == 0 ? read(connection, name, new Scan()) : readRegions(connection, name, threads, regions);
        double seconds = (System.nanoTime() - begun) / 1e9;
        System.out.printf("%d rows in %.2f s, %.0f rows/s%n", rows, seconds, rows / seconds);
      }
    }
    System.exit(0);
  }

  static long readRegions(Connection connection, TableName name, int threads, int count) throws Exception {
    ExecutorService workers = Executors.newFixedThreadPool(threads);
    List<Future<Long>> regions = new ArrayList<>();
    List<HRegionLocation> all = connection.getRegionLocator(name).getAllRegionLocations();
    for (HRegionLocation location : all.subList(0, Math.min(count, all.size()))) {
      Scan scan = new Scan().withStartRow(location.getRegion().getStartKey()).withStopRow(location.getRegion().getEndKey());
      regions.add(workers.submit(() -> read(connection, name, scan)));
    }
    long rows = 0;
    for (Future<Long> region : regions) {
      rows += region.get();
    }
    workers.shutdown();
    return rows;
  }

  static long read(Connection connection, TableName name, Scan scan) throws Exception {
    long rows = 0;
    try (Table table = connection.getTable(name); ResultScanner results = table.getScanner(scan)) {
      for (Result result : results) {
        rows += result.isEmpty() ? 0 : 1;
      }
    }
    return rows;
  }
}
