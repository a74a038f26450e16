#include "questions.h"

#include <stddef.h>

const char *const questions_read[] = {
    "SELECT count(*), min(since), max(since), total(ingested_at) FROM \"%w\"",
    "SELECT * FROM \"%w\" WHERE since > 12 LIMIT 3",
    "SELECT * FROM \"%w\" WHERE since IN (1, 30, 57, 130) OR since < 0",
    "SELECT partition, count(*) FROM \"%w\" WHERE since BETWEEN 5 AND 50 GROUP BY 1",
    "SELECT count(*) FROM \"%w\" WHERE partition IN ('source=a', '', 'k=1/d=0') AND ingested_at > 0",
    "SELECT * FROM tidemark_dataset",
    "SELECT * FROM tidemark_stat",
    "SELECT * FROM tidemark_stat WHERE dataset = '%q'",
    "SELECT * FROM tidemark_segment",
    "SELECT * FROM tidemark_lag",
    "SELECT * FROM tidemark_lag WHERE max_rows = 3",
    "SELECT * FROM tidemark_watermark",
    "SELECT group_concat(name) FROM pragma_table_info('%q')",
    "SELECT tidemark_peek('s'), tidemark_peek('p'), tidemark_peek('t'), tidemark_peek('lake')",
    "SELECT tidemark_verify('p')",
    "SELECT tidemark_verify('lake')",
    "SELECT tidemark_columns('%q')",
    "SELECT tidemark_prune('%q', 'dry-run')",
    "PRAGMA integrity_check",
    NULL};

const char *const questions_write[] = {
    "INSERT INTO \"%w\" DEFAULT VALUES",
    "INSERT INTO logs(source, n, t) VALUES ('a', 9001, 'new'), ('z', 9002, 'new'), ('b', 21, 'twice')",
    "INSERT INTO texts(t) VALUES ('new')",
    "INSERT INTO web(n, t) VALUES (9003, 'by its partition')",
    "DELETE FROM \"%w\" WHERE since IN (3, 5, 45)",
    "SELECT tidemark_flush('%q')",
    "SELECT tidemark_claim('t', '%q')",
    "SELECT tidemark_ack(1, 'object', 10)",
    "SELECT tidemark_ack(2)",
    "SELECT tidemark_export('p', 'now', 'max_batches=3')",
    "SELECT tidemark_export('now', 'max_batches=4')",
    "SELECT tidemark_export()",
    "SELECT tidemark_export()",
    "SELECT tidemark_requeue('p')",
    "SELECT tidemark_rewind('p', '%q', 'source=a', 3, 'again')",
    "SELECT tidemark_set('%q', 'retention_rows', 9)",
    "SELECT tidemark_set('%q', 'zstd_level', 5)",
    "SELECT tidemark_compact('%q')",
    "SELECT tidemark_prune('%q')",
    "SELECT tidemark_add_column('%q', 'later TEXT DEFAULT ''x''')",
    "SELECT tidemark_maintain('%q')",
    "SELECT tidemark_fork('s')",
    "INSERT INTO tidemark_sink(sink, dataset) VALUES ('new', '%q')",
    "INSERT INTO tidemark_export_log(sink, dataset, partition, since, until, rows)"
    "  SELECT sink, dataset, partition, since, until, rows FROM tidemark_lag WHERE sink = 't' AND rows > 0 LIMIT 1",
    "DELETE FROM tidemark_batch",
    "UPDATE tidemark_sink SET state = 'active', max_rows = 4",
    NULL};

const char *const questions_rename[] = {"ALTER TABLE \"%w\" RENAME TO \"renamed\"",
                                        "DROP TABLE web",
                                        "ALTER TABLE \"%w\" RENAME TO \"renamed\"",
                                        "SELECT count(*) FROM renamed",
                                        "DROP TABLE renamed",
                                        NULL};

const char *const questions_drop[] = {"SELECT tidemark_check('%q')", "SELECT count(*) FROM \"%w\"", "DROP TABLE \"%w\"",
                                      NULL};
