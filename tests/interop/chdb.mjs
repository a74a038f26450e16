// Runs one query in ClickHouse:  chdb.mjs SQL; prints the rows, each a list.
import { createRequire } from 'node:module';

const { query } = createRequire(import.meta.url)('chdb');
const answer = JSON.parse(query(process.argv[2], 'JSONCompact'));
console.log(JSON.stringify(answer.data));
