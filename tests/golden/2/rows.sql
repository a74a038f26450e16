-- Rows that are the same every time, with columns for each way of being laid out.
CREATE TEMP VIEW drawn AS
  WITH RECURSIVE c(n, x, y) AS (SELECT 1, 48271, 16807 UNION ALL
    SELECT n + 1, x * 48271 % 2147483647, y * 16807 % 2147483647 FROM c WHERE n < 4500),
    r(n, a, b, d) AS (SELECT n, x / 16 % 65536, y / 4 % 1000003, x * 2 + y % 2 FROM c)
  SELECT n,
    CASE n % 4
      WHEN 0 THEN printf('GET /page/%d?size=%d HTTP/1.1 took %03d ms', a % 100, b, a % 1000)
      WHEN 1 THEN printf('10.%d.%d.%d closed session %08x-%04x-4%03x-8%03x-%012x', a % 256, b % 256, d % 256, d, a, a % 4096,
        b % 4096, b * 65536 + a)
      WHEN 2 THEN printf('commit %08X%08X: %d of %d files, checksum %s', d | 2684354560, d, a % 7, 7, printf('%.*c', 39, b % 10))
      ELSE printf('Grüße %d 🌊 at %02d:%02d:%02d.%06d', n, a % 24, b % 60, d % 60, b) END AS message,
    CASE a % 5 WHEN 0 THEN 'info' WHEN 1 THEN 'error 500' ELSE 'warn' END AS level,
    'job ' || (a % 1500) AS job,
    CASE n % 3 WHEN 0 THEN CAST(printf('frame %d, %x', b, a) AS BLOB) WHEN 1 THEN printf('text %d', a) ELSE a END AS mixed,
    b / 1000.0 AS duration, b / 7.0 AS noise, CASE WHEN n % 11 THEN a END AS status, d AS size,
    1767225600000 + n * 1000 + a % 900 AS ts
  FROM r;
