/* The s3 target from the command line, for s3.py beside its folder:  s3_tool URL OPTIONS COMMAND [argument...]
 *
 *   put NAME SIZE [again|die|late]   pattern bytes; prints the verdict. again: as a retry. die: SIGKILL once SIZE bytes
 *                                    were written. late: waits for a line of input before it commits
 *   cat NAME                         to standard output
 *   replace NAME TEXT
 *   list FOLDER [AFTER]              "name size" a line
 *   sweep LOG_ID FOLDER [OPEN]       OPEN: the name that is still somebody's
 *
 * TIDE_S3_PAGE: entries of a page of a listing. A failure prints "rc message" and gives status 1. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "sink/s3_list.h"
#include "sink/s3_read.h"
#include "sink/target_s3.h"

static unsigned char pattern(size_t at) {
  return (unsigned char)((at * 2654435761u) >> 13);
}

static void write_pattern(struct tide_target *target, size_t size, struct tide_err *err) {
  unsigned char bytes[65536];
  for (size_t at = 0; at < size && !tide_err_is_set(err);) {
    size_t n = 0;
    while (n < sizeof bytes && at < size)
      bytes[n++] = pattern(at++);
    target->methods->write(target, bytes, n, err);
  }
}

static void put(struct tide_target *target, char **arguments, struct tide_err *err) {
  const char *how = arguments[2] != NULL ? arguments[2] : "";
  const struct tide_object object = {
      .name = arguments[0], .log_id = "log", .token = 1, .again = strcmp(how, "again") == 0};
  struct tide_answer answer = {0};
  if (target->methods->begin(target, &object, err) != 0)
    return;
  write_pattern(target, strtoul(arguments[1], NULL, 10), err);
  if (strcmp(how, "die") == 0)
    kill(getpid(), SIGKILL);
  if (strcmp(how, "late") == 0) {
    puts("written");
    fflush(stdout);
    getchar();
  }
  if (!tide_err_is_set(err) && target->methods->commit(target, &answer, err) == 0)
    puts(answer.verdict == TIDE_VERDICT_TAKEN ? "taken" : "exists");
}

static void cat(struct tide_target *target, const char *name, struct tide_err *err) {
  unsigned char bytes[100000];
  long got = 1;
  if (target->methods->open_read(target, name, err) != 0)
    return;
  while (got > 0 && (got = target->methods->read(target, bytes, sizeof bytes, err)) > 0)
    fwrite(bytes, 1, (size_t)got, stdout);
  target->methods->close_read(target);
}

static bool print_object(void *context, const char *name, int64_t size, struct tide_err *err) {
  (void)context, (void)err;
  printf("%s %lld\n", name, (long long)size);
  return true;
}

static bool is_open(void *context, const char *name, int64_t token) {
  return token == -1 && context != NULL && strcmp(context, name) == 0;
}

static void run(struct tide_target *target, const char *command, char **arguments, struct tide_err *err) {
  if (strcmp(command, "put") == 0)
    put(target, arguments, err);
  else if (strcmp(command, "cat") == 0)
    cat(target, arguments[0], err);
  else if (strcmp(command, "replace") == 0)
    target->methods->replace(target, &(struct tide_object){.name = arguments[0]}, arguments[1], strlen(arguments[1]),
                             err);
  else if (strcmp(command, "list") == 0)
    target->methods->list(target, arguments[0], arguments[1], print_object, NULL, err);
  else if (strcmp(command, "sweep") == 0)
    target->methods->sweep(target, arguments[0], arguments[1], is_open, arguments[2], err);
  else
    tide_err_set(err, SQLITE_MISUSE, "no command \"%s\"", command);
}

int main(int argc, char **argv) {
  struct tide_err err = {0};
  struct tide_sink_options options = {0};
  if (argc < 5)
    return 2;
  tide_s3_list_page = getenv("TIDE_S3_PAGE");
  tide_sink_options_parse(argv[2], &options, &err);
  struct tide_target *target = tide_err_is_set(&err) ? NULL : tide_scheme_s3.open(argv[1], &options, NULL, &err);
  if (target != NULL)
    run(target, argv[3], argv + 4, &err);
  tide_target_destroy(target);
  tide_sink_options_clear(&options);
  if (tide_err_is_set(&err))
    printf("%d %s\n", err.rc, err.msg);
  return tide_err_is_set(&err);
}
