#include "sink/terms.h"

#include <string.h>

#include "base/mem.h"

int tide_terms_read(struct tide_terms *terms, sqlite3 *db, const struct tide_schemes *schemes, struct tide_spec *spec,
                    const char *text, struct tide_err *err) {
  if (tide_err_is_set(err) || (terms->spec == spec && strcmp(terms->text, text) == 0))
    return err->rc;
  tide_terms_clear(terms);
  terms->text = tide_copy_string(text, err);
  terms->spec = tide_spec_ref(spec);
  if (!tide_err_is_set(err) && tide_frozen_read(db, text, &terms->frozen, err) == 0) {
    const struct tide_sink_words words = tide_sink_words_of(&terms->frozen);
    tide_sink_config_parse(schemes, spec, &words, &terms->config, err);
  }
  if (tide_err_is_set(err))
    tide_terms_clear(terms);
  return err->rc;
}

void tide_terms_clear(struct tide_terms *terms) {
  tide_sink_config_clear(&terms->config);
  tide_frozen_clear(&terms->frozen);
  tide_spec_unref(terms->spec);
  tide_free(terms->text);
  *terms = (struct tide_terms){0};
}
