// Reads Parquet files with hyparquet; prints JSON.
//   hyparquet.mjs rows FILE    the rows, each a list: integers and timestamps as decimal strings, doubles as their bytes
//                              in hexadecimal, text and JSON and blobs as theirs, with d: or s: before them
//   hyparquet.mjs digest FILE  SHA-256 of those rows: values parted by tabs, NULL as \N, each row ended by a line break
//   hyparquet.mjs pages FILE   what is wrong in the page indexes, and the number of pages looked at
import { createHash } from 'node:crypto';
import { asyncBufferFromFile, parquetMetadataAsync, parquetRead, readColumnIndex, readOffsetIndex } from 'hyparquet';
import { compressors } from 'hyparquet-compressors';

const [mode, path] = process.argv.slice(2);
const file = await asyncBufferFromFile(path);
const metadata = await parquetMetadataAsync(file);
const raw = (bytes) => bytes && 's:' + Buffer.from(bytes).toString('hex');
const parsers = {
  timestampFromMilliseconds: (value) => value,
  timestampFromMicroseconds: (value) => value,
  timestampFromNanoseconds: (value) => value,
  stringFromBytes: raw,
  jsonFromBytes: raw,
};

const normalize = (value) => {
  if (value === null || value === undefined) return null;
  if (typeof value === 'bigint') return value.toString();
  if (typeof value === 'number') {
    const bytes = Buffer.alloc(8);
    bytes.writeDoubleBE(value);
    return 'd:' + bytes.toString('hex');
  }
  return value instanceof Uint8Array ? raw(value) : value;
};

const read = async (range) => {
  let rows;
  await parquetRead({ file, metadata, compressors, parsers, utf8: false, ...range, onComplete: (all) => (rows = all) });
  return rows;
};

const slice = async ([at, size]) => {
  const bytes = await file.slice(Number(at), Number(at) + Number(size));
  return { view: new DataView(bytes), offset: 0 };
};

// Bounds of strings as Latin-1, so that they compare byte by byte as what `raw` gives does.
const compare = (a, b) => (a < b ? -1 : a > b ? 1 : 0);

const checkChunk = async (group, chunk, element, firstRow, column, rows) => {
  const wrong = [];
  const say = (page, what) => wrong.push(`row group ${group}, ${element.name}, page ${page}: ${what}`);
  const offsets = await readOffsetIndex(await slice([chunk.offset_index_offset, chunk.offset_index_length]));
  const locations = offsets.page_locations;
  if (!chunk.column_index_offset) return { pages: locations.length, wrong };
  const bounds = await readColumnIndex(await slice([chunk.column_index_offset, chunk.column_index_length]), element,
                                       { ...parsers, stringFromBytes: raw });
  let before;
  for (let page = 0; page < locations.length; page++) {
    const from = Number(locations[page].first_row_index);
    const to = page + 1 < locations.length ? Number(locations[page + 1].first_row_index) : rows;
    const values = column.slice(firstRow + from, firstRow + to);
    const there = values.filter((value) => value !== null && value !== undefined)
                        .map((value) => (value instanceof Uint8Array ? raw(value) : value));
    if (Number(bounds.null_counts[page]) !== values.length - there.length) say(page, 'null_counts');
    if (bounds.null_pages[page] !== (there.length === 0)) say(page, 'null_pages');
    if (there.length === 0) continue;
    const bound = (value) => (value instanceof Uint8Array ? raw(value) : value);
    const [min, max] = [bound(bounds.min_values[page]), bound(bounds.max_values[page])];
    const least = there.reduce((a, b) => (compare(b, a) < 0 ? b : a));
    const greatest = there.reduce((a, b) => (compare(b, a) > 0 ? b : a));
    const short = (value) => typeof value !== 'string' || value.length <= 2 + 2 * 64;
    if (short(least) ? compare(min, least) !== 0 : compare(min, least) > 0) say(page, `min ${min}, found ${least}`);
    if (short(greatest) ? compare(max, greatest) !== 0 : compare(max, greatest) < 0)
      say(page, `max ${max}, found ${greatest}`);
    if (before && bounds.boundary_order === 'ASCENDING' && (compare(before[0], min) > 0 || compare(before[1], max) > 0))
      say(page, 'boundary_order');
    before = [min, max];
  }
  return { pages: locations.length, wrong };
};

const checkPages = async () => {
  const rows = await read({});
  const elements = metadata.schema.slice(1);
  const result = { pages: 0, wrong: [] };
  let firstRow = 0;
  for (const [group, { columns, num_rows }] of metadata.row_groups.entries()) {
    for (const [at, chunk] of columns.entries()) {
      const column = rows.map((row) => row[at]);
      const found = await checkChunk(group, chunk, elements[at], firstRow, column, Number(num_rows));
      result.pages += found.pages;
      result.wrong.push(...found.wrong);
    }
    firstRow += Number(num_rows);
  }
  return result;
};

if (mode === 'rows') {
  console.log(JSON.stringify((await read({})).map((row) => row.map(normalize))));
} else if (mode === 'digest') {
  const hash = createHash('sha256');
  for (const row of await read({})) hash.update(row.map((value) => normalize(value) ?? '\\N').join('\t') + '\n');
  console.log(JSON.stringify(hash.digest('hex')));
} else {
  console.log(JSON.stringify(await checkPages()));
}
