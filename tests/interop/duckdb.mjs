// Runs SQL in DuckDB:  duckdb.mjs JSON-LIST-OF-STATEMENTS; prints the list of their results, each a list of rows.
import { DuckDBInstance } from '@duckdb/node-api';

const connection = await (await DuckDBInstance.create(':memory:')).connect();
const results = [];
for (const sql of JSON.parse(process.argv[2]))
  results.push((await connection.runAndReadAll(sql)).getRowsJson());
console.log(JSON.stringify(results));
