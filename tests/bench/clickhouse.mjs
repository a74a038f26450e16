// ClickHouse in this process on the benchmark's rows:  clickhouse.mjs FOLDER NDJSON; prints rows, and the bytes of all
// columns in a MergeTree with zstd 3 that is ordered by (source, ts) and merged into one part.
import { createRequire } from 'node:module';

const { Session } = createRequire(import.meta.url)('chdb');
const [folder, lines] = process.argv.slice(2);
const COLUMNS = `source LowCardinality(String), ts Int64, level LowCardinality(Nullable(String)),
  component LowCardinality(Nullable(String)), status Nullable(Int64), bytes Nullable(Int64), duration Nullable(Float64),
  body Nullable(String), attrs Nullable(String)`;

const session = new Session(folder);
session.query(`CREATE TABLE logs (${COLUMNS}) ENGINE = MergeTree ORDER BY (source, ts)
  SETTINGS default_compression_codec = 'ZSTD(3)'`);
session.query(`INSERT INTO logs SELECT * FROM file('${lines}', 'JSONEachRow', $$${COLUMNS}$$)
  SETTINGS input_format_json_read_objects_as_strings = 1, max_threads = 1`);
session.query('OPTIMIZE TABLE logs FINAL');
const answer = session.query(`SELECT sum(rows), sum(data_compressed_bytes) FROM system.parts
  WHERE table = 'logs' AND active`, 'CSV');
const [rows, bytes] = answer.split(',').map(Number);
session.close();
console.log(JSON.stringify({ rows, bytes }));
