import com.sun.tools.attach.VirtualMachine;
import java.lang.management.ManagementFactory;
import java.util.Arrays;
import java.util.Map;
import java.util.TreeMap;
import javax.management.MBeanAttributeInfo;
import javax.management.MBeanServerConnection;
import javax.management.ObjectName;
import javax.management.remote.JMXConnector;
import javax.management.remote.JMXConnectorFactory;
import javax.management.remote.JMXServiceURL;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.RegionMetrics;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.Size;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.CompactionState;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;

/** What HBase's servers say of themselves, as a line of JSON; and a major compaction. */
public class Server {
  static final String USAGE =
      """
      counters PID…   what the region servers in these processes have counted, summed up
      table NAME      regions, files and bytes
      compact NAME    flushes the table, compacts all of it, and waits for the end
      """;

  /** A JVM's metrics stay for 10 s as they were read the last time. */
  static final int METRICS_MS = 10_500;

  static final int POLL_MS = 500;

  public static void main(String[] args) throws Exception {
    if (args.length < 2) {
      System.err.print(USAGE);
      System.exit(2);
    }
    switch (args[0]) {
      case "counters":
        print(counters(Arrays.copyOfRange(args, 1, args.length)));
        break;
      case "table":
        print(table(args[1], false));
        break;
      case "compact":
        print(table(args[1], true));
        break;
      default:
        System.err.print(USAGE);
        System.exit(2);
    }
    System.exit(0); // HBase's client leaves threads behind.
  }

  /** Attaches to each process, so no port needs to be open. */
  static Map<String, Number> counters(String[] pids) throws Exception {
    Map<String, Number> sum = new TreeMap<>();
    Thread.sleep(METRICS_MS);
    for (String pid : pids) {
      VirtualMachine machine = VirtualMachine.attach(pid);
      String address = machine.startLocalManagementAgent();
      machine.detach();
      try (JMXConnector connector = JMXConnectorFactory.connect(new JMXServiceURL(address))) {
        MBeanServerConnection beans = connector.getMBeanServerConnection();
        ObjectName system = new ObjectName(ManagementFactory.OPERATING_SYSTEM_MXBEAN_NAME);
        add(sum, "cpu_ns", beans.getAttribute(system, "ProcessCpuTime"));
        ObjectName server = new ObjectName("Hadoop:service=HBase,name=RegionServer,sub=Server");
        for (MBeanAttributeInfo attribute : beans.getMBeanInfo(server).getAttributes()) {
          String name = attribute.getName();
          if (name.matches("blockCache\\w*(Hit|Miss)Count|blockCache(Size|Count|EvictionCount)|bloomFilter\\w*Count"
              + "|(read|write|rpc\\w*)RequestCount|static(Bloom|Index)Size|regionCount|storeFile(Size|Count)")) {
            add(sum, name, beans.getAttribute(server, name));
          }
        }
      }
    }
    return sum;
  }

  static void add(Map<String, Number> sum, String name, Object value) {
    sum.merge(name, ((Number) value).longValue(), (a, b) -> a.longValue() + b.longValue());
  }

  static Map<String, Number> table(String name, boolean compacts) throws Exception {
    TableName table = TableName.valueOf(name);
    try (Connection connection = ConnectionFactory.createConnection(HBaseConfiguration.create());
        Admin admin = connection.getAdmin()) {
      long begun = System.nanoTime();
      if (compacts) {
        admin.flush(table);
        long flushed = System.currentTimeMillis();
        admin.majorCompact(table);
        // A region that waits for its turn may say that it compacts nothing, so the time of its last one counts, too.
        while (admin.getCompactionState(table) != CompactionState.NONE || !compacted(admin, table, flushed)) {
          Thread.sleep(POLL_MS);
        }
      }
      double seconds = (System.nanoTime() - begun) / 1e9;
      if (!compacts) {
        // Region servers report to the master every 3 s.
        Thread.sleep(METRICS_MS);
      }
      Map<String, Number> sum = new TreeMap<>();
      for (RegionMetrics region : regions(admin, table).values()) {
        add(sum, "regions", 1);
        add(sum, "files", region.getStoreFileCount());
        add(sum, "bytes", (long) region.getStoreFileSize().get(Size.Unit.BYTE));
        add(sum, "bloom_bytes", (long) region.getBloomFilterSize().get(Size.Unit.BYTE));
        add(sum, "index_bytes", (long) region.getStoreFileUncompressedDataIndexSize().get(Size.Unit.BYTE));
        add(sum, "memstore_bytes", (long) region.getMemStoreSize().get(Size.Unit.BYTE));
      }
      if (compacts) {
        sum.put("compaction_seconds", Math.round(seconds * 10) / 10.0);
      }
      return sum;
    }
  }

  static boolean compacted(Admin admin, TableName table, long since) throws Exception {
    for (RegionMetrics region : regions(admin, table).values()) {
      boolean isEmpty = region.getStoreFileCount() == 0;
      if (!isEmpty && (region.getLastMajorCompactionTimestamp() < since || region.getStoreFileCount() > region.getStoreCount())) {
        return false;
      }
    }
    return true;
  }

  static Map<String, RegionMetrics> regions(Admin admin, TableName table) throws Exception {
    Map<String, RegionMetrics> regions = new TreeMap<>();
    for (ServerName server : admin.getRegionServers()) {
      for (RegionMetrics region : admin.getRegionMetrics(server, table)) {
        regions.put(region.getNameAsString(), region);
      }
    }
    return regions;
  }

  static void print(Map<String, Number> values) {
    StringBuilder line = new StringBuilder("{");
    values.forEach((name, value) -> line.append(line.length() > 1 ? ", " : "").append('"').append(name).append("\": ").append(value));
    System.out.println(line.append('}'));
  }
}
