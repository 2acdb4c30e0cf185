import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.security.access.Permission;
import org.apache.hadoop.hbase.security.access.UserPermission;
import org.apache.hadoop.hbase.util.Bytes;

/** Does what lines of the HBase shell say, and prints "done" after each: the shell itself is not among the jars. */
public final class ShellLines {
  private static final Pattern LINE = Pattern.compile("(\\w+) '([^']+)'(?:, '([^']+)')?(?:, '([^']+)')?");

  public static void main(String[] arguments) throws IOException {
    BufferedReader lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
    try (Connection connection = ConnectionFactory.createConnection(HBaseConfiguration.create());
        Admin admin = connection.getAdmin()) {
      for (String line = lines.readLine(); line != null; line = lines.readLine()) {
        Matcher words = LINE.matcher(line.trim());
        if (!words.matches()) {
          throw new IOException("not understood: " + line);
        }
        run(admin, words.group(1), words.group(2), words.group(3), words.group(4));
        System.out.println("done");
      }
    }
  }

  private static void run(Admin admin, String command, String first, String second, String third)
      throws IOException {
    switch (command) {
      case "snapshot" -> admin.snapshot(second, TableName.valueOf(first));
      case "clone_snapshot" -> admin.cloneSnapshot(first, TableName.valueOf(second));
      case "delete_snapshot" -> admin.deleteSnapshot(first);
      case "disable" -> admin.disableTable(TableName.valueOf(first));
      case "grant" -> {
        Permission given =
            Permission.newBuilder(TableName.valueOf(third)).withActionCodes(Bytes.toBytes(second)).build();
        admin.grant(new UserPermission(first, given), false);
      }
      default -> throw new IOException("not known: " + command);
    }
  }
}
