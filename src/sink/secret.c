#include "sink/secret.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"

static bool is_variable(const char *name) {
  static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789";
  return name[0] != '\0' && strchr("0123456789", name[0]) == NULL && strspn(name, letters) == strlen(name);
}

const char *tide_secret_take_variable(struct tide_sink_options *options, const char *option, struct tide_err *err) {
  const char *name = tide_sink_options_take_text(options, option, NULL, err);
  if (name == NULL || tide_err_is_set(err) || is_variable(name))
    return name;
  tide_err_set(err, SQLITE_ERROR,
               "option %s is no name of an environment variable: expected one such as MY_SECRET, whose value is the "
               "secret",
               option);
  return NULL;
}

void tide_secret_read(struct tide_secret *secret, const char *variable, struct tide_err *err) {
  const char *text = getenv(variable);
  if (text == NULL || text[0] == '\0') {
    tide_err_set(err, SQLITE_AUTH, "environment variable %s is %s: expected it to hold the secret of this sink",
                 variable, text == NULL ? "not set" : "empty");
    return;
  }
  for (const char *at = text; *at != '\0'; at++) {
    if ((unsigned char)*at < ' ' || *at == 0x7F) {
      tide_err_set(err, SQLITE_AUTH,
                   "environment variable %s holds a line break or another control character: expected a secret of one "
                   "line",
                   variable);
      return;
    }
  }
  char *copy = tide_copy_string(text, err);
  if (copy == NULL)
    return;
  tide_secret_clear(secret);
  secret->text = copy;
}

void tide_secret_clear(struct tide_secret *secret) {
  if (secret->text != NULL)
    tide_secret_wipe(secret->text, strlen(secret->text));
  tide_free(secret->text);
  secret->text = NULL;
}

void tide_secret_wipe(void *bytes, size_t size) {
  for (volatile unsigned char *at = bytes; size > 0; size--)
    *at++ = 0;
}
