import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.stream.Collectors;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.HConstants;
import org.apache.hadoop.hbase.KeyValue;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptor;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
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
 * Makes HFiles of sorted cells and has the region servers take them over.
 *
 * <pre>
 * HFileLoader TABLE STAGING         reads cells from standard input, writes files below STAGING, loads them
 * HFileLoader write TABLE FOLDER    only writes files, below FOLDER: one of many programs that do
 * HFileLoader load TABLE STAGING    loads the files in those folders of STAGING that standard input names, one a line
 * </pre>
 *
 * <p>It prints one line, "HFileLoader: " and JSON; HBase may log other lines. The input, all integers big-endian: "SHB1",
 * the timestamp of all cells (8 bytes), then blocks. A block is the family (one letter), the bytes a key (4), the number
 * of cells (4), whether cells have values (1), the keys; where they have values also the bytes of each that are the row
 * (1 each), the bytes of row and qualifier together (1 each), the length of each value (4 each) and the values. A key
 * without value is all row. Cells of a family ascend over all its blocks; families follow one another and are loaded in
 * that order. A zero byte ends the input; when it is missing nothing is loaded.
 */
public final class HFileLoader {
  private static final String MARK = "HFileLoader: ";
  private static final int BUFFER = 1 << 20;
  private static final byte[] NOTHING = {};

  private final Configuration conf;
  private final TableDescriptor table;
  private final byte[][] starts;
  private final FileSystem files;
  private final Path attempts;
  private final Path staging;
  private final Map<String, FamilyWriter> families = new LinkedHashMap<>();

  private HFileLoader(Connection connection, TableName name, String folder, boolean alone) throws IOException {
    conf = new Configuration(connection.getConfiguration());
    conf.setFloat(HConstants.HFILE_BLOCK_CACHE_SIZE_KEY, 0.0f);
    table = describe(connection, name);
    starts = connection.getRegionLocator(name).getStartKeys();
    Path path = new Path(folder);
    // A path without a scheme is on the file system where HBase keeps its data.
    files = path.toUri().getScheme() == null ? CommonFSUtils.getRootDirFileSystem(conf) : path.getFileSystem(conf);
    attempts = files.makeQualified(path);
    // One whose command was killed may still be loading: attempts of one load have a folder each, named by their time.
    staging =
        alone
            ? new Path(
                attempts,
                String.format(Locale.ROOT, "%015d-%d", System.currentTimeMillis(), ProcessHandle.current().pid()))
            : attempts;
  }

  public static void main(String[] arguments) throws Exception {
    Configuration conf = HBaseConfiguration.create();
    boolean alone = arguments.length == 2;
    TableName name = TableName.valueOf(arguments[arguments.length - 2]);
    try (Connection connection = ConnectionFactory.createConnection(conf)) {
      HFileLoader loader = new HFileLoader(connection, name, arguments[arguments.length - 1], alone);
      System.out.println(
          MARK + (alone ? loader.load() : arguments[0].equals("write") ? loader.write() : loader.loadFolders()));
    }
  }

  private static TableDescriptor describe(Connection connection, TableName name) throws IOException {
    try (Admin admin = connection.getAdmin()) {
      return admin.getDescriptor(name);
    }
  }

  /**
   * The configuration with the settings of a family, and not those of the others. Among them is the prefix length of the
   * bloom filter: HBase needs it for a file that two regions share by now.
   */
  private Configuration configuration(ColumnFamilyDescriptor family) {
    Configuration own = new Configuration(conf);
    family.getConfiguration().forEach(own::set);
    return own;
  }

  private String load() throws IOException {
    try {
      read();
      for (FamilyWriter family : families.values()) {
        BulkLoadHFiles.create(family.own).bulkLoad(table.getTableName(), family.folder);
      }
      removeEarlier();
      return summary();
    } finally {
      files.delete(staging, true);
      if (files.exists(attempts) && files.listStatus(attempts).length == 0) {
        files.delete(attempts, false);
      }
    }
  }

  private String write() throws IOException {
    boolean done = false;
    try {
      read();
      done = true;
      return summary();
    } finally {
      if (!done) {
        files.delete(staging, true);
      }
    }
  }

  /** Loads what others wrote, family "d" first; what else is in the folder is of attempts that failed. */
  private String loadFolders() throws IOException {
    String[] names = new String(System.in.readAllBytes(), StandardCharsets.UTF_8).split("\n");
    for (String family : new String[] {"d", "b"}) {
      List<Path> paths = new ArrayList<>();
      for (String name : names) {
        Path folder = new Path(new Path(new Path(staging, name), "family-" + family), family);
        if (files.exists(folder)) {
          for (FileStatus file : files.listStatus(folder)) {
            paths.add(file.getPath());
          }
        }
      }
      byte[] name = Bytes.toBytes(family);
      BulkLoadHFiles.create(configuration(table.getColumnFamily(name))).bulkLoad(table.getTableName(), Map.of(name, paths));
    }
    files.delete(staging, true);
    return "{}";
  }

  /** Removes what earlier attempts left: all of it has been loaded by this one. */
  private void removeEarlier() throws IOException {
    if (!files.exists(attempts)) {
      return;
    }
    for (FileStatus attempt : files.listStatus(attempts)) {
      if (attempt.getPath().getName().compareTo(staging.getName()) < 0) {
        files.delete(attempt.getPath(), true);
      }
    }
  }

  private String summary() {
    return "{" + families.values().stream().map(FamilyWriter::counts).collect(Collectors.joining(", ")) + "}";
  }

  private void read() throws IOException {
    try (DataInputStream in = new DataInputStream(new BufferedInputStream(System.in, BUFFER))) {
      byte[] magic = new byte[4];
      in.readFully(magic);
      if (!new String(magic, StandardCharsets.US_ASCII).equals("SHB1")) {
        throw new IOException("the input is not of this program's form");
      }
      long timestamp = in.readLong();
      FamilyWriter current = null;
      for (byte family = in.readByte(); family != 0; family = in.readByte()) {
        String name = String.valueOf((char) family);
        if (current == null || !current.name.equals(name)) {
          if (current != null) {
            current.close();
          }
          current = new FamilyWriter(name, timestamp);
          families.put(name, current);
        }
        readBlock(in, current);
      }
      if (current != null) {
        current.close();
      }
    }
  }

  private static void readBlock(DataInputStream in, FamilyWriter family) throws IOException {
    int width = in.readInt();
    int cells = in.readInt();
    boolean hasValues = in.readBoolean();
    byte[] keys = bytes(in, width * cells);
    if (!hasValues) {
      for (int at = 0; at < cells; at++) {
        family.append(keys, at * width, width, width, NOTHING);
      }
      return;
    }
    byte[] rows = bytes(in, cells);
    byte[] ends = bytes(in, cells);
    int[] lengths = new int[cells];
    for (int at = 0; at < cells; at++) {
      lengths[at] = in.readInt();
    }
    for (int at = 0; at < cells; at++) {
      family.append(keys, at * width, rows[at], ends[at], bytes(in, lengths[at]));
    }
  }

  private static byte[] bytes(DataInputStream in, int count) throws IOException {
    byte[] read = new byte[count];
    in.readFully(read);
    return read;
  }

  /** Writes the cells of one family, a file a region. */
  private final class FamilyWriter {
    private final String name;
    private final byte[] family;
    private final ColumnFamilyDescriptor settings;
    private final Configuration own;
    private final long timestamp;
    private final Path folder;
    private StoreFileWriter writer;
    private int region = -1;
    private long cells;
    private long bytes;
    private int count;

    FamilyWriter(String name, long timestamp) throws IOException {
      this.name = name;
      this.timestamp = timestamp;
      family = Bytes.toBytes(name);
      settings = table.getColumnFamily(family);
      if (settings == null) {
        throw new IOException("table " + table.getTableName() + " has no family " + name);
      }
      own = configuration(settings);
      folder = new Path(staging, "family-" + name);
    }

    void append(byte[] keys, int start, int row, int end, byte[] value) throws IOException {
      boolean moved = false;
      while (region + 1 < starts.length
          && Bytes.compareTo(keys, start, row, starts[region + 1], 0, starts[region + 1].length) >= 0) {
        region++;
        moved = true;
      }
      if (moved) {
        close();
        writer = open();
      }
      writer.append(
          new KeyValue(
              keys, start, row, family, 0, family.length, keys, start + row, end - row, timestamp, KeyValue.Type.Put,
              value, 0, value.length));
      cells++;
    }

    private StoreFileWriter open() throws IOException {
      HFileContext context =
          new HFileContextBuilder()
              .withCompression(settings.getCompressionType())
              .withDataBlockEncoding(settings.getDataBlockEncoding())
              .withBlockSize(settings.getBlocksize())
              .withChecksumType(StoreUtils.getChecksumType(own))
              .withBytesPerCheckSum(StoreUtils.getBytesPerChecksum(own))
              .withColumnFamily(family)
              .withTableName(table.getTableName().getName())
              .withCreateTime(timestamp)
              .build();
      count++;
      return new StoreFileWriter.Builder(own, CacheConfig.DISABLED, files)
          .withOutputDir(new Path(folder, name))
          .withBloomType(settings.getBloomFilterType())
          .withFileContext(context)
          .build();
    }

    void close() throws IOException {
      if (writer == null) {
        return;
      }
      writer.appendFileInfo(HStoreFile.BULKLOAD_TIME_KEY, Bytes.toBytes(System.currentTimeMillis()));
      writer.appendFileInfo(HStoreFile.BULKLOAD_TASK_KEY, Bytes.toBytes("simhash-hbase load"));
      writer.appendFileInfo(HStoreFile.MAJOR_COMPACTION_KEY, Bytes.toBytes(true));
      writer.appendFileInfo(HStoreFile.EXCLUDE_FROM_MINOR_COMPACTION_KEY, Bytes.toBytes(false));
      writer.appendTrackedTimestampsToMetadata();
      writer.close();
      bytes += files.getFileStatus(writer.getPath()).getLen();
      writer = null;
    }

    String counts() {
      return String.format(Locale.ROOT, "\"%s\": {\"cells\": %d, \"files\": %d, \"bytes\": %d}", name, cells, count, bytes);
    }
  }
}
