/* A receiver in this process: the scheme "test" forwards to it. It keeps a ledger of keys in which it answers the same
 * key again without taking its rows twice, and does what it is told. Define _GNU_SOURCE before all else. */
#ifndef TIDE_TESTS_RECEIVER_H
#define TIDE_TESTS_RECEIVER_H

#include "base/mem.h"
#include "schemes.h"
#include "sql_db.h"

enum { RECEIVED_MAX = 4096, KEY_MAX = 300, BODY_MAX = 1 << 16 };

struct received {
  char key[KEY_MAX];
  char *body; /* malloc */
  int rows;   /* of it that were taken */
};

static struct {
  struct received ledger[RECEIVED_MAX]; /* what was taken, in order */
  int taken;
  int requests;
  char last_key[KEY_MAX];
  char last_body[BODY_MAX];
  int64_t last_tick;
  int64_t last_token;
  const char *poison;    /* rows with it are refused */
  bool names_poison;     /* and named, the others taken */
  int most_rows;         /* more are too large; 0: any */
  enum tide_verdict say; /* TIDE_VERDICT_LATER and those after it but the two above: for every request */
  bool says;
  int64_t retry_after_ms;
  int64_t ahead;
  bool drops_before;    /* the connection, before it takes anything */
  bool drops_after;     /* once it took it */
  void (*before)(void); /* it answers */
} receiver;

static struct {
  struct tide_target base;
  struct tide_buf body;
  struct tide_object object;
  const struct tide_patience *patience;
} posting;

static inline int receiver_begin(struct tide_target *target, const struct tide_object *object, struct tide_err *err) {
  (void)target, (void)err;
  posting.object = *object;
  tide_buf_reset(&posting.body);
  return 0;
}

static inline int receiver_write(struct tide_target *target, const void *bytes, size_t size, struct tide_err *err) {
  (void)target;
  tide_buf_put(&posting.body, bytes, size, err);
  return err->rc;
}

static inline int count_lines(const char *text) {
  int lines = 0;
  for (; *text != '\0'; text++)
    lines += *text == '\n';
  return lines;
}

static inline bool line_has(const char *text, int line, const char *word) {
  for (; line > 0; line--)
    text = strchr(text, '\n') + 1;
  const char *found = strstr(text, word);
  return found != NULL && found < strchr(text, '\n');
}

static inline void answer(struct tide_answer *ret, enum tide_verdict verdict, const char *message) {
  *ret = (struct tide_answer){.verdict = verdict, .retry_after_ms = receiver.retry_after_ms, .tick = receiver.ahead};
  snprintf(ret->message, sizeof ret->message, "%s", message);
}

static inline void take(const char *text, int rows) {
  struct received *received = &receiver.ledger[receiver.taken++];
  ck_assert_int_lt(receiver.taken, RECEIVED_MAX);
  snprintf(received->key, KEY_MAX, "%s", posting.object.key);
  received->body = strdup(text);
  received->rows = rows;
}

static inline bool took_before(void) {
  for (int i = 0; i < receiver.taken; i++) {
    if (strcmp(receiver.ledger[i].key, posting.object.key) == 0)
      return true;
  }
  return false;
}

static inline void refuse_rows(struct tide_answer *ret, const char *text, int lines) {
  struct tide_err err = {0};
  answer(ret, TIDE_VERDICT_PARTLY, "");
  ret->refused = tide_alloc_zero((size_t)lines, sizeof *ret->refused, &err);
  for (int i = 0; i < lines; i++) {
    if (line_has(text, i, receiver.poison))
      ret->refused[ret->nrefused++] = (struct tide_refused_row){i, tide_copy_string("names it", &err)};
  }
  take(text, lines - (int)ret->nrefused);
}

static inline void decide(struct tide_answer *ret, const char *text) {
  const int lines = count_lines(text);
  if (receiver.says)
    answer(ret, receiver.say, "as it was told");
  else if (took_before())
    answer(ret, TIDE_VERDICT_TAKEN, "");
  else if (receiver.most_rows > 0 && lines > receiver.most_rows)
    answer(ret, TIDE_VERDICT_TOO_LARGE, "413: too large");
  else if (receiver.poison != NULL && strstr(text, receiver.poison) != NULL && receiver.names_poison)
    refuse_rows(ret, text, lines);
  else if (receiver.poison != NULL && strstr(text, receiver.poison) != NULL)
    answer(ret, TIDE_VERDICT_REFUSED, "400: bad row");
  else {
    answer(ret, TIDE_VERDICT_TAKEN, "");
    take(text, lines);
  }
}

static inline int receiver_commit(struct tide_target *target, struct tide_answer *ret_answer, struct tide_err *err) {
  (void)target;
  tide_buf_put_u8(&posting.body, 0, err);
  if (tide_err_is_set(err))
    return err->rc;
  const char *text = (const char *)posting.body.data;
  receiver.requests++;
  snprintf(receiver.last_key, KEY_MAX, "%s", posting.object.key);
  snprintf(receiver.last_body, BODY_MAX, "%s", text);
  receiver.last_tick = posting.object.tick;
  receiver.last_token = posting.object.tick_token;
  if (receiver.before != NULL)
    receiver.before();
  if (!receiver.drops_before)
    decide(ret_answer, text);
  if (receiver.drops_before || receiver.drops_after) {
    tide_answer_clear(ret_answer);
    tide_err_set(err, SQLITE_IOERR, "the connection was dropped");
  }
  tide_buf_clear(&posting.body);
  return err->rc;
}

static inline void receiver_abort(struct tide_target *target) {
  (void)target;
  tide_buf_clear(&posting.body);
}

static inline char *receiver_check(const char *url, struct tide_sink_options *options, struct tide_err *err) {
  (void)options;
  return tide_copy_string(url, err);
}

static inline struct tide_target *receiver_open(const char *url, struct tide_sink_options *options,
                                                const struct tide_patience *patience, struct tide_err *err) {
  static const struct tide_target_methods methods = {.begin = receiver_begin,
                                                     .write = receiver_write,
                                                     .commit = receiver_commit,
                                                     .abort = receiver_abort,
                                                     .destroy = receiver_abort};
  (void)url, (void)options, (void)err;
  posting.patience = patience;
  posting.base.methods = &methods;
  return &posting.base;
}

/* Adds the scheme to a connection. */
static inline void receiver_add(sqlite3 *db) {
  static const struct tide_scheme scheme = {.name = "test",
                                            .expect = "test://x",
                                            .forwards = true,
                                            .remote = true,
                                            .check = receiver_check,
                                            .open = receiver_open};
  static const struct tide_scheme *const schemes[] = {&scheme};
  schemes_add(db, schemes, 1);
}

/* Rows taken in all. */
static inline int receiver_rows(void) {
  int rows = 0;
  for (int i = 0; i < receiver.taken; i++)
    rows += receiver.ledger[i].rows;
  return rows;
}

/* How often a word is in what was taken. */
static inline int receiver_has(const char *word) {
  int count = 0;
  for (int i = 0; i < receiver.taken; i++) {
    for (const char *at = receiver.ledger[i].body; (at = strstr(at, word)) != NULL; at++)
      count++;
  }
  return count;
}

#endif
