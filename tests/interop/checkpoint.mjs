// Reads a Parquet file of nested columns with hyparquet:  checkpoint.mjs FILE; prints the rows as a list of objects.
import { asyncBufferFromFile, parquetReadObjects } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';

const rows = await parquetReadObjects({ file: await asyncBufferFromFile(process.argv[2]), compressors });
console.log(JSON.stringify(rows, (key, value) => (typeof value === 'bigint' ? Number(value) : value)));
