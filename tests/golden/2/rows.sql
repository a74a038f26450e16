-- Rows that are the same every time, with columns for each way of being laid out: texts plain (short segments), as a
-- dictionary (level, job), as templates (message), some with plain ones among them (beside), and as templates of those
-- that differ (request); tokens of all kinds that vary, of templates with many rows and with few; reals as decimals
-- (duration), plain (noise), in planes (close) and constant (same).
CREATE TEMP VIEW drawn AS
  WITH RECURSIVE c(n, x, y) AS (SELECT 1, 48271, 16807 UNION ALL
    SELECT n + 1, x * 48271 % 2147483647, y * 16807 % 2147483647 FROM c WHERE n < 4500),
    r(n, a, b, d) AS (SELECT n, x / 16 % 65536, y / 4 % 1000003, x * 2 + y % 2 FROM c),
    w(n, a, b, d, g, h) AS (SELECT n, a, b, d, (a * 2654435761 + b * 40503) % 4294967296, (d * 69069 + a) % 4294967296 FROM r)
  SELECT n,
    CASE
      WHEN n % 200 = 1 THEN printf('rare %08x%08x, %08X%08X, %x1a2b, %d', g, h, h, g, g, b)
      WHEN n % 200 = 2 THEN printf('rare id %08x-%04x-4%03x-8%03x-%012x', g, a, a % 4096, b % 4096, b * 65536 + a)
      WHEN n % 200 = 3 THEN printf('rare id %08X-%04X-4%03X-8%03X-%012X', h, a, a % 4096, b % 4096, b * 65536 + a)
      WHEN n % 6 = 0 THEN printf('GET /page/%d?size=%d HTTP/1.1 took %03d ms', a % 100, b, a % 1000)
      WHEN n % 6 = 1 THEN printf('10.%d.%d.%d closed session %08x-%04x-4%03x-8%03x-%012x', a % 256, b % 256, d % 256, d, a,
        a % 4096, b % 4096, b * 65536 + a)
      WHEN n % 6 = 2 THEN printf('commit %08X%08X: %d of %d files, checksum %s', d | 2684354560, d, a % 7, 7,
        printf('%.*c', 39, b % 10))
      WHEN n % 6 = 3 THEN printf('tree %08x%08x%08x%08x%08x', g, h, d, (g + h) % 4294967296, a * 65521)
      WHEN n % 6 = 4 THEN printf('session %08X-%04X-4%03X-8%03X-%012X', g, a, a % 4096, b % 4096, b * 65536 + a)
      ELSE printf('Grüße %d 🌊 at %02d:%02d:%02d.%06d', n, a % 24, b % 60, d % 60, b) END AS message,
    CASE a % 5 WHEN 0 THEN 'info' WHEN 1 THEN 'error 500' ELSE 'warn' END AS level,
    'job ' || (a % 1500) AS job,
    printf('request %d took %d ms', a % 300 * 7919, b % 2) AS request,
    CASE n % 3
      WHEN 0 THEN replace('#-#-#-#', '#', char(97 + a % 26, 97 + b % 26, 97 + d % 26, 97 + g % 26, 97 + h % 26,
        97 + a / 26 % 26, 97 + b / 26 % 26, 97 + d / 26 % 26, 97 + g / 26 % 26, 97 + h / 26 % 26))
      ELSE printf('user %d left after %d s', b, a) END AS beside,
    CASE n % 3 WHEN 0 THEN CAST(printf('frame %d, %x', b, a) AS BLOB) WHEN 1 THEN printf('text %d', a) ELSE a END AS mixed,
    b / 1000.0 AS duration, b / 7.0 AS noise, 20 + b / 1000003.0 AS close, 2.5 AS same,
    CASE WHEN n % 11 THEN a END AS status, d AS size, 1767225600000 + n * 1000 + a % 900 AS ts
  FROM w;
