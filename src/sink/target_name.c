/* What targets share: answers, the names of objects, and the folder that a file:/// URL names. */
#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "sink/target.h"

void tide_answer_clear(struct tide_answer *answer) {
  for (size_t i = 0; i < answer->nrefused; i++)
    tide_free(answer->refused[i].reason);
  tide_free(answer->refused);
  *answer = (struct tide_answer){0};
}

const char *tide_target_last_part(const char *name) {
  const char *slash = strrchr(name, '/');
  return slash != NULL ? slash + 1 : name;
}

static bool is_dots(const char *part, size_t size) {
  return (size == 1 && part[0] == '.') || (size == 2 && part[0] == '.' && part[1] == '.');
}

static bool is_name_byte(char byte) {
  return (byte >= 'A' && byte <= 'Z') || (byte >= 'a' && byte <= 'z') || (byte >= '0' && byte <= '9') ||
         (byte != '\0' && strchr("%=._~-", byte) != NULL);
}

bool tide_target_name_check(const char *name, struct tide_err *err) {
  const char *part = name;
  for (const char *at = name;; at++) {
    if (is_name_byte(*at))
      continue;
    if ((*at != '/' && *at != '\0') || at == part || is_dots(part, (size_t)(at - part))) {
      tide_err_set(err, SQLITE_ERROR,
                   "\"%s\" is no object's name: expected parts of A-Z a-z 0-9 %% = . _ ~ -, joined by \"/\"", name);
      return false;
    }
    if (*at == '\0')
      return true;
    part = at + 1;
  }
}

/* ---- file:///folder ---- */

static int hex_digit(char byte) {
  return byte >= '0' && byte <= '9'   ? byte - '0'
         : byte >= 'a' && byte <= 'f' ? byte - 'a' + 10
         : byte >= 'A' && byte <= 'F' ? byte - 'A' + 10
                                      : -1;
}

/* Decodes into `to`, which has room for strlen(from), and gives what is wrong, or NULL. */
static const char *decode(const char *from, char *to) {
  for (; *from != '\0'; from++) {
    if (*from == '?' || *from == '#')
      return "a query or fragment is not taken (write %3F for \"?\", %23 for \"#\")";
    if (*from != '%') {
      *to++ = *from;
      continue;
    }
    int high = hex_digit(from[1]);
    int low = high >= 0 ? hex_digit(from[2]) : -1;
    if (low < 0)
      return "\"%\" must be followed by two hexadecimal digits (write %25 for \"%\")";
    if (high == 0 && low == 0)
      return "%00 cannot be in a path";
    *to = (char)(high << 4 | low);
    if (*to++ == '/')
      return "%2F cannot be in a path";
    from += 2;
  }
  *to = '\0';
  return NULL;
}

/* Takes away empty parts, the slash at the end among them, in place; gives what is wrong, or NULL. */
static const char *normalize(char *path) {
  char *to = path;
  for (const char *part = path; *part != '\0';) {
    size_t size = strcspn(part, "/");
    if (is_dots(part, size))
      return "the parts \".\" and \"..\" are not taken";
    if (size > 0) {
      *to++ = '/';
      memmove(to, part, size);
      to += size;
    }
    part += size + (part[size] == '/');
  }
  if (to == path)
    *to++ = '/';
  *to = '\0';
  return NULL;
}

/* The path's place in the URL, or NULL with what is wrong. */
static const char *path_of(const char *url, const char **ret_wrong) {
  static const char scheme[] = "file://";
  *ret_wrong = "expected file:///folder";
  if (sqlite3_strnicmp(url, scheme, sizeof scheme - 1) != 0)
    return NULL;
  const char *host = url + sizeof scheme - 1;
  size_t size = strcspn(host, "/?#");
  if (host[size] != '/')
    return NULL;
  if (size == 0 || (size == strlen("localhost") && sqlite3_strnicmp(host, "localhost", (int)size) == 0))
    return host + size;
  *ret_wrong = "a folder on another host is not taken: expected file:///folder, with three slashes";
  return NULL;
}

char *tide_target_dir_path(const char *url, struct tide_err *err) {
  const char *wrong = NULL;
  const char *encoded = path_of(url, &wrong);
  char *path = encoded != NULL ? tide_alloc(strlen(encoded) + 1, err) : NULL;
  if (encoded != NULL && path == NULL)
    return NULL;
  if (encoded != NULL)
    wrong = decode(encoded, path);
  if (wrong == NULL)
    wrong = normalize(path);
  if (wrong == NULL)
    return path;
  tide_err_set(err, SQLITE_ERROR, "target \"%s\": %s", url, wrong);
  tide_free(path);
  return NULL;
}
