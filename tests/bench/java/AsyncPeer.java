import java.io.BufferedInputStream;
import java.io.BufferedOutputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.PrintStream;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ForkJoinPool;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import org.apache.hadoop.conf.Configuration;
import org.apache.hadoop.fs.FileStatus;
import org.apache.hadoop.fs.FileSystem;
import org.apache.hadoop.fs.Path;
import org.apache.hadoop.hbase.HBaseConfiguration;
import org.apache.hadoop.hbase.TableName;
import org.apache.hadoop.hbase.client.Admin;
import org.apache.hadoop.hbase.client.AsyncConnection;
import org.apache.hadoop.hbase.client.AsyncTable;
import org.apache.hadoop.hbase.client.ColumnFamilyDescriptorBuilder;
import org.apache.hadoop.hbase.client.CompactionState;
import org.apache.hadoop.hbase.client.Connection;
import org.apache.hadoop.hbase.client.ConnectionFactory;
import org.apache.hadoop.hbase.client.Result;
import org.apache.hadoop.hbase.client.Scan;
import org.apache.hadoop.hbase.client.TableDescriptorBuilder;
import org.apache.hadoop.hbase.io.compress.Compression;
import org.apache.hadoop.hbase.io.encoding.DataBlockEncoding;
import org.apache.hadoop.hbase.util.Bytes;
import org.apache.hadoop.hbase.util.CommonFSUtils;

/**
 * HBase's own asynchronous client, for comparison: it looks for near fingerprints without a gateway between. It also
 * does what no gateway offers: it rewrites a table's files with other settings.
 *
 * <pre>
 * AsyncPeer query TABLE direct|pool REACH LIMIT    answers queries from standard input
 * AsyncPeer rewrite TABLE FAMILY ENCODING,CODEC…    prints the bytes of the family's files under each pair
 * </pre>
 *
 * <p>Scans complete in HBase's own threads (direct), which its manual leaves to experts since whatever they do there holds
 * up the connection, or in a pool, as it has them for other callers.
 *
 * <p>Queries come in batches, all integers big-endian: how many to keep in flight (4 bytes; 0 ends the input), queries
 * (4), prefixes of each (4); then for each query its fingerprint (8) and its prefixes (5 each). The answer: nanoseconds
 * in all (8), nanoseconds of each query (8 each), number of pairs (4), and pairs of a query's position (4) and a stored
 * fingerprint (8).
 */
public final class AsyncPeer {
  private static final int PREFIX_BYTES = 5;
  private static final int KEY_BYTES = 13;
  private static final int CACHING = 1000;
  private static final byte[] BLOCKS = {'b'};
  private static final long COMPACTION_MINUTES = 15;
  private static final long POLL_MS = 200;

  private final AsyncTable<?> table;
  private final int reach;
  private final int limit;

  private AsyncPeer(AsyncTable<?> table, int reach, int limit) {
    this.table = table;
    this.reach = reach;
    this.limit = limit;
  }

  public static void main(String[] arguments) throws Exception {
    // What HBase logs must not stand between the answers.
    PrintStream out = System.out;
    System.setOut(System.err);
    Configuration conf = HBaseConfiguration.create();
    TableName name = TableName.valueOf(arguments[1]);
    if (arguments[0].equals("query")) {
      try (AsyncConnection connection = ConnectionFactory.createAsyncConnection(conf).get();
          DataInputStream in = new DataInputStream(new BufferedInputStream(System.in));
          DataOutputStream answers = new DataOutputStream(new BufferedOutputStream(out))) {
        boolean inPool = arguments[2].equals("pool");
        AsyncTable<?> table =
            inPool ? connection.getTable(name, ForkJoinPool.commonPool()) : connection.getTable(name);
        int reach = Integer.parseInt(arguments[3]);
        new AsyncPeer(table, reach, Integer.parseInt(arguments[4])).answer(in, answers);
      }
    } else {
      try (Connection connection = ConnectionFactory.createConnection(conf)) {
        Rewriter rewriter = new Rewriter(connection, name, arguments[2]);
        for (String pair : Arrays.copyOfRange(arguments, 3, arguments.length)) {
          out.printf(Locale.ROOT, "%s %d%n", pair, rewriter.rewrite(pair.split(",")));
        }
      }
    }
  }

  private void answer(DataInputStream in, DataOutputStream out) throws Exception {
    for (int inFlight = in.readInt(); inFlight != 0; inFlight = in.readInt()) {
      Query[] queries = new Query[in.readInt()];
      int prefixes = in.readInt();
      for (int at = 0; at < queries.length; at++) {
        queries[at] = Query.read(in, prefixes);
      }
      long[] nanos = new long[queries.length];
      long begun = System.nanoTime();
      List<Set<Long>> found = inFlight == 1 ? inTurn(queries, nanos) : overlapping(queries, nanos, inFlight);
      out.writeLong(System.nanoTime() - begun);
      write(out, nanos, found);
      out.flush();
    }
  }

  /** Waits for each answer before it asks the next query. */
  private List<Set<Long>> inTurn(Query[] queries, long[] nanos) {
    List<Set<Long>> found = new ArrayList<>();
    for (int at = 0; at < queries.length; at++) {
      long begun = System.nanoTime();
      found.add(candidates(queries[at]).join());
      nanos[at] = System.nanoTime() - begun;
    }
    return found;
  }

  private List<Set<Long>> overlapping(Query[] queries, long[] nanos, int inFlight) throws InterruptedException {
    Semaphore free = new Semaphore(inFlight);
    List<CompletableFuture<Set<Long>>> answers = new ArrayList<>();
    for (int at = 0; at < queries.length; at++) {
      free.acquire();
      int place = at;
      long begun = System.nanoTime();
      answers.add(
          candidates(queries[at])
              .whenComplete(
                  (found, error) -> {
                    nanos[place] = System.nanoTime() - begun;
                    free.release();
                  }));
    }
    return answers.stream().map(CompletableFuture::join).toList();
  }

  /** Scans under all prefixes of a query at once. */
  private CompletableFuture<Set<Long>> candidates(Query query) {
    List<CompletableFuture<List<Result>>> scans = new ArrayList<>();
    for (byte[] prefix : query.prefixes) {
      scans.add(table.scanAll(scan(prefix)));
    }
    return CompletableFuture.allOf(scans.toArray(new CompletableFuture<?>[0])).thenApply(done -> near(query, scans));
  }

  private Scan scan(byte[] prefix) {
    byte[] stop = Arrays.copyOf(prefix, KEY_BYTES + 1);
    Arrays.fill(stop, PREFIX_BYTES, KEY_BYTES, (byte) 0xff);
    return new Scan()
        .withStartRow(prefix)
        .withStopRow(stop)
        .addFamily(BLOCKS)
        .setReadType(Scan.ReadType.PREAD)
        .setCaching(CACHING)
        .setLimit(limit);
  }

  private Set<Long> near(Query query, List<CompletableFuture<List<Result>>> scans) {
    Set<Long> near = new TreeSet<>();
    for (CompletableFuture<List<Result>> rows : scans) {
      for (Result row : rows.join()) {
        long stored = Bytes.toLong(row.getRow(), PREFIX_BYTES);
        if (Long.bitCount(stored ^ query.simhash) <= reach) {
          near.add(stored);
        }
      }
    }
    return near;
  }

  private static void write(DataOutputStream out, long[] nanos, List<Set<Long>> found) throws IOException {
    for (long each : nanos) {
      out.writeLong(each);
    }
    out.writeInt(found.stream().mapToInt(Set::size).sum());
    for (int at = 0; at < found.size(); at++) {
      for (long stored : found.get(at)) {
        out.writeInt(at);
        out.writeLong(stored);
      }
    }
  }

  /** A fingerprint and the prefixes under which its neighbours are. */
  private record Query(long simhash, byte[][] prefixes) {
    static Query read(DataInputStream in, int count) throws IOException {
      long simhash = in.readLong();
      byte[][] prefixes = new byte[count][PREFIX_BYTES];
      for (byte[] prefix : prefixes) {
        in.readFully(prefix);
      }
      return new Query(simhash, prefixes);
    }
  }

  /** Writes the files of one family anew, by a major compaction. */
  private static final class Rewriter {
    private final Connection connection;
    private final TableName name;
    private final String family;
    private final FileSystem files;
    private final Path folder;

    Rewriter(Connection connection, TableName name, String family) throws IOException {
      this.connection = connection;
      this.name = name;
      this.family = family;
      Configuration conf = connection.getConfiguration();
      Path root = CommonFSUtils.getRootDir(conf);
      files = root.getFileSystem(conf);
      folder = CommonFSUtils.getTableDir(root, name);
    }

    long rewrite(String[] encodingAndCodec) throws Exception {
      try (Admin admin = connection.getAdmin()) {
        alter(admin, DataBlockEncoding.valueOf(encodingAndCodec[0]), Compression.Algorithm.valueOf(encodingAndCodec[1]));
        admin.flush(name);
        Map<Path, FileStatus> before = list();
        admin.majorCompact(name, Bytes.toBytes(family));
        long stop = System.nanoTime() + TimeUnit.MINUTES.toNanos(COMPACTION_MINUTES);
        while (System.nanoTime() < stop) {
          Thread.sleep(POLL_MS);
          Map<Path, FileStatus> made = list();
          // The files that were replaced stay for some minutes.
          made.keySet().removeAll(before.keySet());
          if (regions(made).containsAll(regions(before)) && admin.getCompactionState(name) == CompactionState.NONE) {
            return made.values().stream().mapToLong(FileStatus::getLen).sum();
          }
        }
        throw new IOException("the compaction of " + name + " takes too long");
      }
    }

    private void alter(Admin admin, DataBlockEncoding encoding, Compression.Algorithm codec) throws IOException {
      var table = admin.getDescriptor(name);
      var changed =
          ColumnFamilyDescriptorBuilder.newBuilder(table.getColumnFamily(Bytes.toBytes(family)))
              .setDataBlockEncoding(encoding)
              .setCompressionType(codec)
              .build();
      admin.modifyTable(TableDescriptorBuilder.newBuilder(table).modifyColumnFamily(changed).build());
    }

    private Map<Path, FileStatus> list() throws IOException {
      Map<Path, FileStatus> found = new HashMap<>();
      FileStatus[] inRegions = files.globStatus(new Path(folder, "[0-9a-f]*/" + family + "/[0-9a-f]*"));
      for (FileStatus file : inRegions) {
        found.put(file.getPath(), file);
      }
      return found;
    }

    private static Set<Path> regions(Map<Path, FileStatus> files) {
      Set<Path> found = new TreeSet<>();
      files.keySet().forEach(file -> found.add(file.getParent()));
      return found;
    }
  }
}
