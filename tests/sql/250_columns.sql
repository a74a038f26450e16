-- tidemark_columns: what each column takes, which is all that the chunks hold.
CREATE VIRTUAL TABLE logs USING tidemark(source TEXT NOT NULL, n INTEGER, body TEXT, "odd ""name" ANY, partition_by=source);
SELECT value ->> 'column', value ->> 'type', value ->> 'stored_bytes' FROM json_each(tidemark_columns('logs'), '$.columns');
WITH RECURSIVE i(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM i WHERE i < 500)
INSERT INTO logs SELECT printf('s%d', i % 3), i, hex(i * 7919 * 104729), NULL FROM i;
SELECT tidemark_flush('logs') ->> 'rows';
SELECT value ->> 'column' FROM json_each(tidemark_columns('logs'), '$.columns') WHERE value ->> 'stored_bytes' > 0;
-- by the table itself
SELECT (SELECT sum(value ->> 'stored_bytes') FROM json_each(tidemark_columns('logs'), '$.columns')) =
       (SELECT sum(length(data)) FROM logs_chunk) AS all_of_it;
SELECT (SELECT value ->> 'stored_bytes' FROM json_each(tidemark_columns('logs'), '$.columns') WHERE value ->> 'column' = 'body') =
       (SELECT sum(length(data)) FROM logs_chunk JOIN logs_segment ON id = chunk + 4) AS body;
-- segments of before have fewer columns
SELECT tidemark_add_column('logs', 'late INTEGER') ->> 'added';
INSERT INTO logs(source, n, late) VALUES ('s0', 501, 7);
SELECT tidemark_flush('logs') ->> 'rows';
SELECT (SELECT sum(value ->> 'stored_bytes') FROM json_each(tidemark_columns('logs'), '$.columns')) =
       (SELECT sum(length(data)) FROM logs_chunk) AS all_of_it;
SELECT value ->> 'column' FROM json_each(tidemark_columns('main.logs'), '$.columns') WHERE value ->> 'stored_bytes' > 0;
-- damage
UPDATE logs_segment SET chunks = 100000000 WHERE last_since = (SELECT max(last_since) FROM logs_segment WHERE chunks > 2);
UPDATE logs_segment SET chunk = chunk - 1;
SELECT tidemark_columns('logs') IS NULL;
SELECT tidemark_columns('none');
SELECT tidemark_columns(NULL);
