import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.util.Arrays;
import java.util.Collections;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Get;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.client.Table;

/**
 * Splits, merges, moves and flushes regions of the tables that are named, chosen at random: one for each number on standard input,
 * which is the seed of the choice. Asked for `online` it reads from each region. Answers each line with a line: what was done, or
 * `failed` and why.
 */
public class Regions {
  /** A table has from two to so many regions. */
  static final int REGIONS_MAX = 8;

  static final int WAIT_SECONDS = 30;

  public static void main(String[] names) throws Exception {
    Configuration configuration = HBaseConfiguration.create();
    configuration.setInt("hbase.client.retries.number", 2);
    configuration.setInt("hbase.rpc.timeout", 10_000);
    configuration.setInt("hbase.client.operation.timeout", 15_000);
    configuration.setInt("hbase.client.meta.operation.timeout", 15_000);
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in));
    try (Connection connection = ConnectionFactory.createConnection(configuration); Admin admin = connection.getAdmin()) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        try {
          System.out.println(line.equals("online") ? read(connection, admin, names) : change(admin, names, new Random(Long.parseLong(line))));
        } catch (Exception error) {
          System.out.println("failed " + error.toString().split("\n")[0]);
        }
      }
    }
    System.exit(0); // HBase's client leaves threads behind.
  }

  static String read(Connection connection, Admin admin, String[] names) throws Exception {
    for (String name : names) {
      try (Table table = connection.getTable(TableName.valueOf(name))) {
        for (RegionInfo region : admin.getRegions(table.getName())) {
          if (!region.isSplit() && !region.isOffline()) {
            table.exists(new Get(region.getStartKey().length == 0 ? new byte[1] : region.getStartKey()));
          }
        }
      }
    }
    return "online";
  }

  static String change(Admin admin, String[] names, Random random) throws Exception {
    TableName table = TableName.valueOf(names[random.nextInt(names.length)]);
    List<RegionInfo> regions =
        admin.getRegions(table).stream().filter(region -> !region.isSplit() && !region.isOffline()).sorted().collect(Collectors.toList());
    int one = random.nextInt(regions.size());
    int kind = random.nextInt(8);
    if (kind < 2 && regions.size() < REGIONS_MAX) {
      // A region is split in the middle of its files.
      admin.flush(table);
      wait(admin.splitRegionAsync(regions.get(one).getRegionName()));
      return "split";
    }
    if (kind < 4 && regions.size() > 2) {
      int first = Math.min(one, regions.size() - 2);
      byte[][] neighbours = {regions.get(first).getEncodedNameAsBytes(), regions.get(first + 1).getEncodedNameAsBytes()};
      wait(admin.mergeRegionsAsync(neighbours, false));
      return "merge";
    }
    if (kind < 7) {
      List<ServerName> servers = Arrays.asList(admin.getRegionServers().toArray(new ServerName[0]));
      Collections.sort(servers);
      admin.move(regions.get(one).getEncodedNameAsBytes(), servers.get(random.nextInt(servers.size())));
      return "move";
    }
    admin.flush(table);
    return "flush";
  }

  static void wait(Future<Void> done) throws Exception {
    done.get(WAIT_SECONDS, TimeUnit.SECONDS);
  }
}
