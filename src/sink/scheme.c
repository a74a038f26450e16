#include "sink/scheme.h"

#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "sink/scheme_build.h"

static const struct tide_scheme *scheme_at(const struct tide_schemes *schemes, size_t i) {
  return i == 0 ? &tide_scheme_file : i <= schemes->nadded ? schemes->added[i - 1] : NULL;
}

static const struct tide_scheme *find(const struct tide_schemes *schemes, const char *name, size_t size) {
  const struct tide_scheme *scheme = NULL;
  for (size_t i = 0; (scheme = scheme_at(schemes, i)) != NULL; i++) {
    if (strlen(scheme->name) == size && sqlite3_strnicmp(scheme->name, name, (int)size) == 0)
      break;
  }
  return scheme;
}

void tide_schemes_add(struct tide_schemes *schemes, const struct tide_schemes_offer *offer, struct tide_err *err) {
  char build[TIDE_SCHEME_BUILD_SIZE];
  tide_scheme_build(build);
  if (strcmp(offer->build, build) != 0) {
    tide_err_set(err, SQLITE_ERROR, "tidemark_net is of another build than tidemark: it is %s, expected %s",
                 offer->build, build);
    return;
  }
  for (size_t i = 0; i < offer->count; i++) {
    const struct tide_scheme *scheme = offer->schemes[i];
    if (find(schemes, scheme->name, strlen(scheme->name)) != NULL)
      continue;
    if (schemes->nadded == TIDE_SCHEMES_MAX) {
      tide_err_set(err, SQLITE_ERROR, "no room for target scheme \"%s\": there are %d already", scheme->name,
                   TIDE_SCHEMES_MAX);
      return;
    }
    schemes->added[schemes->nadded++] = scheme;
  }
}

static void refuse(const struct tide_schemes *schemes, const char *url, size_t size, struct tide_err *err) {
  struct tide_buf expected = {0};
  const struct tide_scheme *scheme = NULL;
  for (size_t i = 0; (scheme = scheme_at(schemes, i)) != NULL; i++)
    tide_buf_printf(&expected, err, "%s%s", i > 0 ? ", " : "", scheme->expect);
  tide_buf_put_string(&expected, schemes->nadded > 0 ? "" : " (the extension tidemark_net adds s3 and http)", err);
  if (size == 0)
    tide_err_set(err, SQLITE_ERROR, "target \"%s\" has no scheme: expected %.*s, or NULL for a sink you drive yourself",
                 url, (int)expected.len, (const char *)expected.data);
  else
    tide_err_set(err, SQLITE_ERROR,
                 "target scheme \"%.*s\" is not known here: expected %.*s, or NULL for a sink you drive yourself",
                 (int)size, url, (int)expected.len, (const char *)expected.data);
  tide_buf_clear(&expected);
}

const struct tide_scheme *tide_schemes_find(const struct tide_schemes *schemes, const char *url, struct tide_err *err) {
  size_t size = strcspn(url, ":");
  if (url[size] == '\0' || memchr(url, '/', size) != NULL)
    size = 0;
  const struct tide_scheme *scheme = size > 0 ? find(schemes, url, size) : NULL;
  if (scheme == NULL)
    refuse(schemes, url, size, err);
  return scheme;
}
