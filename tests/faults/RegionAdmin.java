import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.HRegionLocation;
import org.apache.hadoop.hbase.ServerName;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.RegionInfo;
import org.apache.hadoop.hbase.util.Bytes;

/**
 * Moves, splits and merges regions, which Thrift gateways cannot.
 *
 * <pre>
 * RegionAdmin regions TABLE            prints number, first key and server of each region
 * RegionAdmin move TABLE NUMBER [PORT] to the region server of that port, else to one that HBase chooses
 * RegionAdmin split TABLE KEY          at a key in hexadecimal digits
 * RegionAdmin merge TABLE NUMBER       with the region behind it
 * RegionAdmin flush|compact|drop TABLE
 * </pre>
 *
 * <p>Without arguments it carries out lines of standard input, and answers each with one line: "done" and the result, or
 * "fail" and the reason.
 */
public final class RegionAdmin {
  private static final long WAIT_S = 120;

  private final Connection connection;
  private final Admin admin;

  private RegionAdmin(Connection connection, Admin admin) {
    this.connection = connection;
    this.admin = admin;
  }

  public static void main(String[] arguments) throws Exception {
    try (Connection connection = ConnectionFactory.createConnection(HBaseConfiguration.create());
        Admin admin = connection.getAdmin()) {
      RegionAdmin program = new RegionAdmin(connection, admin);
      if (arguments.length > 0) {
        System.out.print(program.carryOut(arguments));
        return;
      }
      BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        System.out.println(program.answer(line.split(" ")));
      }
    } catch (IOException | ExecutionException e) {
      System.err.println(firstLine(e));
      System.exit(1);
    }
  }

  private static String firstLine(Exception error) {
    return String.valueOf(error).lines().findFirst().orElse("");
  }

  private String answer(String[] words) {
    try {
      return "done " + carryOut(words).replace('\n', ';');
    } catch (Exception e) {
      return "fail " + firstLine(e);
    }
  }

  private String carryOut(String[] words) throws Exception {
    TableName table = TableName.valueOf(words[1]);
    switch (words[0]) {
      case "regions":
        return list(table);
      case "move":
        RegionInfo moved = region(table, words[2]);
        admin.move(moved.getEncodedNameAsBytes(), words.length > 3 ? server(words[3]) : null);
        return "";
      case "split":
        byte[] key = Bytes.fromHex(words[2]);
        RegionInfo parent = connection.getRegionLocator(table).getRegionLocation(key, true).getRegion();
        admin.splitRegionAsync(parent.getRegionName(), key).get(WAIT_S, TimeUnit.SECONDS);
        return "";
      case "merge":
        byte[] first = region(table, words[2]).getRegionName();
        byte[] second = region(table, String.valueOf(Integer.parseInt(words[2]) + 1)).getRegionName();
        admin.mergeRegionsAsync(new byte[][] {first, second}, true).get(WAIT_S, TimeUnit.SECONDS);
        return "";
      case "flush":
        admin.flush(table);
        return "";
      case "compact":
        admin.majorCompact(table);
        return "";
      case "drop":
        admin.disableTable(table);
        admin.deleteTable(table);
        return "";
      default:
        throw new IOException("unknown: " + words[0]);
    }
  }

  private String list(TableName table) throws IOException {
    List<HRegionLocation> found = connection.getRegionLocator(table).getAllRegionLocations();
    return IntStream.range(0, found.size())
        .mapToObj(number -> line(number, found.get(number)))
        .collect(Collectors.joining("\n", "", "\n"));
  }

  private static String line(int number, HRegionLocation region) {
    String key = Bytes.toHex(region.getRegion().getStartKey());
    return String.format(Locale.ROOT, "%d %s %s", number, key.isEmpty() ? "-" : key, region.getHostnamePort());
  }

  private RegionInfo region(TableName table, String number) throws IOException {
    List<RegionInfo> regions = admin.getRegions(table);
    regions.sort(RegionInfo.COMPARATOR);
    int at = Integer.parseInt(number);
    if (at >= regions.size()) {
      throw new IOException("the table has " + regions.size() + " regions, counted from 0");
    }
    return regions.get(at);
  }

  private ServerName server(String port) throws IOException {
    for (ServerName server : admin.getRegionServers()) {
      if (server.getPort() == Integer.parseInt(port)) {
        return server;
      }
    }
    throw new IOException("no region server has the port " + port);
  }
}
