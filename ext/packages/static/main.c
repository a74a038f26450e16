/* An application with Tidemark linked in, which loads nothing. With the system's SQLite:
 *   cc main.c $(pkg-config --cflags --libs tidemark sqlite3) -o app && ./app my.db
 * With one of its own, whose sqlite3.c and sqlite3.h lie here (3.38.0 or newer, compiled without SQLITE_OMIT_ options):
 *   cc -I. main.c sqlite3.c $(pkg-config --cflags --libs tidemark) -o app
 * It keeps a log of its starts in that database, and prints how many there were. */
#include <stdio.h>

#include <tidemark.h> /* and with it sqlite3.h */

static int print_starts(void *unused, int columns, char **values, char **names) {
  (void)unused, (void)columns, (void)names;
  return printf("start %s, Tidemark %s\n", values[0], values[1]) < 0;
}

static int run(sqlite3 *db) {
  const char *sql = "CREATE VIRTUAL TABLE IF NOT EXISTS starts USING tidemark(app TEXT NOT NULL);"
                    "INSERT INTO starts VALUES ('example');"
                    "SELECT count(*), tidemark_version() FROM starts;";
  char *message = NULL;
  const int rc = sqlite3_exec(db, sql, print_starts, NULL, &message);
  if (rc != SQLITE_OK)
    fprintf(stderr, "%s\n", message != NULL ? message : sqlite3_errstr(rc));
  sqlite3_free(message);
  return rc;
}

int main(int argc, char **argv) {
  if (argc != 2) {
    fprintf(stderr, "usage: %s DATABASE\n", argv[0]);
    return 2;
  }
  /* From here on each connection of this process has Tidemark. */
  if (sqlite3_auto_extension((void (*)(void))sqlite3_tidemark_init) != SQLITE_OK)
    return 1;
  sqlite3 *db = NULL;
  int rc = sqlite3_open(argv[1], &db);
  if (rc == SQLITE_OK)
    rc = run(db);
  else
    fprintf(stderr, "cannot open %s: %s\n", argv[1], sqlite3_errmsg(db));
  sqlite3_close(db);
  return rc == SQLITE_OK ? 0 : 1;
}
