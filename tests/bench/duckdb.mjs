// DuckDB on the benchmark's rows:  duckdb.mjs TASK FOLDER [ARGUMENT]; prints one JSON object. One thread; the time on
// the processor is that of the task alone. TASK is
//   load NDJSON       the rows into FOLDER/logs.duckdb: its size
//   parquet NAME      COPY of all rows into FOLDER/NAME/source=*/, zstd 3, then fsync of each file and folder, as
//                     Tidemark's files are synced: seconds and bytes
//   single NAME       COPY into one Parquet file, likewise
//   ndjson NAME       COPY into one file of JSON lines, likewise
//   query SQL         seconds of it, the second time
//   rows SQL          what it gives
//   sums              what sums_of gives for the table
//   sums_of PATTERN   the same for files, *.parquet or *.ndjson: equal exactly when the rows are
import fs from 'node:fs';
import path from 'node:path';
import { DuckDBInstance } from '@duckdb/node-api';

const [task, folder, argument] = process.argv.slice(2);
const COLUMNS = `{source: 'VARCHAR', ts: 'BIGINT', level: 'VARCHAR', component: 'VARCHAR', status: 'BIGINT',
  bytes: 'BIGINT', duration: 'DOUBLE', body: 'VARCHAR', attrs: 'JSON'}`;
const linesOf = (pattern) =>
  `read_json('${pattern}', format = 'newline_delimited', hive_partitioning = false, columns = ${COLUMNS})`;
const SUMS = `count(*)::VARCHAR || ' rows, ' || sum(bytes) || ', ' || sum(hash(source, ts, level, component, status,
  bytes, duration, body, attrs::VARCHAR)::HUGEINT)`;

const instance = await DuckDBInstance.create(task === 'sums_of' ? ':memory:' : path.join(folder, 'logs.duckdb'));
const connection = await instance.connect();
const run = async (sql) => (await connection.runAndReadAll(sql)).getRowsJson();
await run('SET threads = 1');
await run('SET preserve_insertion_order = true');

// A folder comes after what is in it.
function filesIn(place) {
  const inside = fs.statSync(place).isDirectory() ? fs.readdirSync(place) : [];
  return [...inside.flatMap((name) => filesIn(path.join(place, name))), place];
}

function sync(place) {
  for (const name of filesIn(place)) {
    const file = fs.openSync(name, 'r');
    fs.fsyncSync(file);
    fs.closeSync(file);
  }
}

async function timed(work) {
  const cpu = process.cpuUsage();
  const start = process.hrtime.bigint();
  await work();
  const seconds = Number(process.hrtime.bigint() - start) / 1e9;
  const { user, system } = process.cpuUsage(cpu);
  return { seconds, cpu: (user + system) / 1e6 };
}

async function copy(options, rows = 'FROM logs') {
  const to = path.join(folder, argument);
  fs.rmSync(to, { recursive: true, force: true });
  const spent = await timed(async () => {
    await run(`COPY (${rows}) TO '${to}' (${options})`);
    sync(to);
  });
  const files = filesIn(to).map((name) => fs.statSync(name)).filter((stat) => stat.isFile());
  return { ...spent, bytes: files.reduce((sum, stat) => sum + stat.size, 0) };
}

// Timestamps as the integers that they are in Tidemark's lines, too.
const PLAIN = 'SELECT * REPLACE (epoch_ms(ts) AS ts) FROM logs';
const ZSTD = 'FORMAT parquet, COMPRESSION zstd, COMPRESSION_LEVEL 3';
const tasks = {
  async load() {
    await run('DROP TABLE IF EXISTS logs');
    await run(`CREATE TABLE logs AS SELECT * REPLACE (make_timestamp_ms(ts)::TIMESTAMP_MS AS ts)
      FROM ${linesOf(argument)}`);
    await run('CHECKPOINT');
    const [[rows]] = await run('SELECT count(*)::INTEGER FROM logs');
    return { rows, bytes: fs.statSync(path.join(folder, 'logs.duckdb')).size };
  },
  parquet: () => copy(`${ZSTD}, PARTITION_BY (source)`),
  single: () => copy(ZSTD),
  ndjson: () => copy('FORMAT json', PLAIN),
  async query() {
    await run(argument);
    return timed(() => run(argument));
  },
  rows: async () => ({ rows: await run(argument) }),
  async sums() {
    return { sums: (await run(`SELECT ${SUMS} FROM (${PLAIN})`))[0][0] };
  },
  async sums_of() {
    const rows = argument.endsWith('.parquet')
      ? `(SELECT * REPLACE (epoch_ms(ts) AS ts) FROM read_parquet('${argument}'))` : linesOf(argument);
    return { sums: (await run(`SELECT ${SUMS} FROM ${rows}`))[0][0] };
  },
};
console.log(JSON.stringify(await tasks[task]()));
