#include "codec/template_set.h"

#include <string.h>

#include <xxhash.h>

#include "base/mem.h"
#include "codec/intcol.h"

enum {
  SLOTS_MIN = 256,
  MARK_SIZE = 4, /* u32: where the token was among the other bytes << 3 | its kind */
  TEMPLATES_SEEN_MAX = 2 * TIDE_TEMPLATES_MAX,
  KEYS_MAX = 1 << 20,      /* bytes of templates that are remembered, with or without a number */
  FIRST_SIGHT_MAX = 32768, /* bytes of texts up to which a template gets its number when first seen */
  FAILURES_MAX = 5
};

void tide_template_set_clear(struct tide_template_set *set) {
  tide_free(set->templates);
  tide_free(set->slots);
  tide_free(set->hashes);
  tide_buf_clear(&set->keys);
  tide_free(set->values);
  tide_free(set->sizes);
  tide_free(set->numbered);
  tide_free(set->used);
  *set = (struct tide_template_set){0};
}

void tide_template_set_reset(struct tide_template_set *set) {
  set->ntemplates = set->ntokens = set->nnumbered = set->text_size = set->nused = set->before = set->row_size = 0;
  set->frame = set->pause = set->failures = 0;
  tide_buf_reset(&set->keys);
  if (set->nslots > 0)
    memset(set->slots, 0, set->nslots * sizeof *set->slots);
}

size_t tide_template_set_memory(const struct tide_template_set *set) {
  return set->templates_cap * sizeof *set->templates + set->nslots * (sizeof *set->slots + sizeof *set->hashes) +
         set->keys.cap + set->values_cap * sizeof *set->values + set->sizes_cap * sizeof *set->sizes +
         set->numbered_cap * sizeof *set->numbered + set->used_cap * sizeof *set->used;
}

bool tide_template_set_is_due(struct tide_template_set *set) {
  if (set->pause == 0)
    return true;
  set->pause--;
  return false;
}

void tide_template_set_begin(struct tide_template_set *set) {
  set->frame++;
  set->nused = 0;
  set->before = set->nnumbered;
}

/* ---- finding ---- */

static size_t tokens_size(const struct tide_token *tokens, size_t ntokens) {
  size_t size = 0;
  for (size_t i = 0; i < ntokens; i++)
    size += tokens[i].size;
  return size;
}

/* Copies what is short for the most part. */
static inline void copy(unsigned char *out, const unsigned char *bytes, size_t size) {
  if (size > 16) {
    memcpy(out, bytes, size);
  } else if (size >= 8) {
    memcpy(out, bytes, 8);
    memcpy(out + size - 8, bytes + size - 8, 8);
  } else {
    for (size_t i = 0; i < size; i++)
      out[i] = bytes[i];
  }
}

/* Lays out a text's key behind the keys: its bytes without the tokens, then a mark for each token. Gives the size of
 * those bytes. There is room. */
static size_t lay_out_key(unsigned char *key, const unsigned char *text, size_t size, const struct tide_token *tokens,
                          size_t ntokens) {
  const size_t static_size = size - tokens_size(tokens, ntokens);
  unsigned char *marks = key + static_size;
  size_t at = 0, from = 0;
  for (size_t i = 0; i < ntokens; i++) {
    const size_t run = tokens[i].at - from;
    copy(key + at, text + from, run);
    at += run;
    from = tokens[i].at + tokens[i].size;
    const uint32_t mark = (uint32_t)at << 3 | tokens[i].kind;
    memcpy(marks + i * MARK_SIZE, &mark, MARK_SIZE);
  }
  copy(key + at, text + from, size - from);
  return static_size;
}

static int grow_slots(struct tide_template_set *set, struct tide_err *err) {
  const size_t nslots = set->nslots > 0 ? set->nslots * 2 : SLOTS_MIN;
  uint32_t *slots = tide_alloc_zero(nslots, sizeof *slots, err);
  uint32_t *hashes = tide_alloc_zero(nslots, sizeof *hashes, err);
  if (tide_err_is_set(err)) {
    tide_free(slots);
    tide_free(hashes);
    return err->rc;
  }
  for (size_t i = 0; i < set->nslots; i++) {
    if (set->slots[i] == 0)
      continue;
    size_t at = set->hashes[i] & (nslots - 1);
    while (slots[at] != 0)
      at = (at + 1) & (nslots - 1);
    slots[at] = set->slots[i];
    hashes[at] = set->hashes[i];
  }
  tide_free(set->slots);
  tide_free(set->hashes);
  set->slots = slots;
  set->hashes = hashes;
  set->nslots = nslots;
  return 0;
}

static int reserve_template(struct tide_template_set *set, size_t ntokens, struct tide_err *err) {
  void *templates = set->templates, *values = set->values, *sizes = set->sizes;
  const size_t need = set->ntokens + ntokens;
  if (tide_grow(&templates, &set->templates_cap, set->ntemplates + 1, sizeof *set->templates, err) == 0 &&
      tide_grow(&values, &set->values_cap, need, sizeof *set->values, err) == 0)
    tide_grow(&sizes, &set->sizes_cap, need, sizeof *set->sizes, err);
  set->templates = templates;
  set->values = values;
  set->sizes = sizes;
  return err->rc;
}

/* A text as it is looked up; its key was laid out behind the keys. */
struct lookup {
  size_t size;
  const struct tide_token *tokens;
  size_t ntokens;
  size_t static_size;
  size_t key_size;
  uint32_t hash;
};

static int32_t add(struct tide_template_set *set, size_t slot, const struct lookup *text, struct tide_err *err) {
  if (set->ntemplates == TEMPLATES_SEEN_MAX || set->keys.len + text->key_size > KEYS_MAX ||
      reserve_template(set, text->ntokens, err) != 0)
    return -1;
  set->templates[set->ntemplates] = (struct tide_template){.key_at = (uint32_t)set->keys.len,
                                                           .static_size = (uint32_t)text->static_size,
                                                           .text_size = (uint32_t)text->size,
                                                           .tokens_at = (uint32_t)set->ntokens,
                                                           .ntokens = (uint8_t)text->ntokens,
                                                           .number = -1};
  for (size_t i = 0; i < text->ntokens; i++) {
    set->values[set->ntokens + i] = text->tokens[i].value;
    set->sizes[set->ntokens + i] = text->tokens[i].size;
  }
  set->ntokens += text->ntokens;
  set->keys.len += text->key_size;
  set->hashes[slot] = text->hash;
  set->slots[slot] = (uint32_t)++set->ntemplates;
  return (int32_t)set->ntemplates - 1;
}

/* There is a key also of an empty text, of no bytes. */
static int32_t find(struct tide_template_set *set, const unsigned char *bytes, struct lookup *text,
                    struct tide_err *err) {
  if (tide_buf_reserve(&set->keys, text->size + text->ntokens * MARK_SIZE + 1, err) != 0 ||
      (set->ntemplates * 2 >= set->nslots && grow_slots(set, err) != 0))
    return -1;
  unsigned char *key = set->keys.data + set->keys.len;
  text->static_size = lay_out_key(key, bytes, text->size, text->tokens, text->ntokens);
  text->key_size = text->static_size + text->ntokens * MARK_SIZE;
  text->hash = (uint32_t)XXH3_64bits(key, text->key_size);
  size_t at = text->hash & (set->nslots - 1);
  for (; set->slots[at] != 0; at = (at + 1) & (set->nslots - 1)) {
    const struct tide_template *template = &set->templates[set->slots[at] - 1];
    if (set->hashes[at] == text->hash && template->static_size == text->static_size &&
        template->ntokens == text->ntokens && memcmp(set->keys.data + template->key_at, key, text->key_size) == 0)
      return (int32_t)set->slots[at] - 1;
  }
  return add(set, at, text, err);
}

/* Enters a template into the frame at hand when it is the first text of it there. */
static int use(struct tide_template_set *set, uint32_t index, struct tide_err *err) {
  struct tide_template *template = &set->templates[index];
  if (template->frame == set->frame) {
    template->repeated = true;
    return 0;
  }
  void *used = set->used;
  if (tide_grow(&used, &set->used_cap, set->nused + 1, sizeof *set->used, err) != 0)
    return err->rc;
  set->used = used;
  set->used[set->nused++] = index;
  template->repeated = template->frame != 0;
  template->frame = set->frame;
  template->varies = 0;
  return 0;
}

int32_t tide_template_set_find(struct tide_template_set *set, const unsigned char *text, size_t size,
                               const struct tide_token *tokens, size_t ntokens, struct tide_err *err) {
  struct lookup lookup = {.size = size, .tokens = tokens, .ntokens = ntokens};
  const int32_t found = find(set, text, &lookup, err);
  if (found < 0 || use(set, (uint32_t)found, err) != 0)
    return -1;
  struct tide_template *template = &set->templates[found];
  for (size_t i = 0, at = template->tokens_at; i < ntokens; i++, at++)
    template->varies |= (uint64_t)((tokens[i].value != set->values[at]) | (tokens[i].size != set->sizes[at])) << i;
  return found;
}

/* ---- numbering ---- */

static bool is_worth_it(const struct tide_template_set *set, const struct tide_template *template) {
  return (template->repeated || set->text_size + template->text_size <= FIRST_SIGHT_MAX) &&
         set->nnumbered < TIDE_TEMPLATES_MAX && set->text_size + template->text_size <= TIDE_TEMPLATES_SIZE_MAX;
}

void tide_template_set_settle(struct tide_template_set *set, struct tide_err *err) {
  void *numbered = set->numbered;
  if (tide_err_is_set(err) ||
      tide_grow(&numbered, &set->numbered_cap, set->nnumbered + set->nused, sizeof *set->numbered, err) != 0)
    return;
  set->numbered = numbered;
  for (size_t i = 0; i < set->nused; i++) {
    struct tide_template *template = &set->templates[set->used[i]];
    if (template->number >= 0 || !is_worth_it(set, template))
      continue;
    template->number = (int32_t)set->nnumbered;
    set->numbered[set->nnumbered++] = set->used[i];
    set->text_size += template->text_size;
  }
}

void tide_template_set_undo(struct tide_template_set *set) {
  while (set->nnumbered > set->before) {
    struct tide_template *template = &set->templates[set->numbered[--set->nnumbered]];
    template->number = -1;
    set->text_size -= template->text_size;
  }
  if (set->failures < FAILURES_MAX)
    set->failures++;
  set->pause = (1u << set->failures) - 1;
}

/* ---- the section ---- */

/* Where a token was among the other bytes << 3 | its kind. */
static uint32_t mark_of(const struct tide_template_set *set, const struct tide_template *template, size_t token) {
  uint32_t mark;
  memcpy(&mark, set->keys.data + template->key_at + template->static_size + token * MARK_SIZE, sizeof mark);
  return mark;
}

unsigned tide_template_set_kind(const struct tide_template_set *set, const struct tide_template *template,
                                size_t token) {
  return mark_of(set, template, token) & 7;
}

/* Appends the template's text, and the list of its tokens. */
static void put_template(const struct tide_template_set *set, const struct tide_template *template,
                         struct tide_buf *lists, struct tide_buf *texts, struct tide_err *err) {
  const unsigned char *bytes = set->keys.data + template->key_at;
  uint32_t from = 0;
  for (size_t i = 0; i < template->ntokens; i++) {
    const unsigned size = set->sizes[template->tokens_at + i];
    const uint32_t mark = mark_of(set, template, i), at = mark >> 3, kind = mark & 7;
    tide_buf_put_varint(lists, at - from, err);
    tide_buf_put_u8(lists, (uint8_t)(size << 3 | kind), err);
    tide_buf_put(texts, bytes + from, at - from, err);
    if (tide_buf_reserve(texts, size, err) != 0)
      return;
    tide_token_print(kind, set->values[template->tokens_at + i], size, texts->data + texts->len);
    texts->len += size;
    from = at;
  }
  tide_buf_put(texts, bytes + from, template->static_size - from, err);
}

static int put_templates(const struct tide_template_set *set, int64_t *scratch, struct tide_buf *lists,
                         struct tide_buf *texts, struct tide_err *err) {
  for (size_t i = 0; i < set->nnumbered && !tide_err_is_set(err); i++) {
    const struct tide_template *template = &set->templates[set->numbered[i]];
    const size_t before = lists->len;
    put_template(set, template, lists, texts, err);
    scratch[i] = template->text_size;
    scratch[set->nnumbered + i] = (int64_t)(lists->len - before);
  }
  return err->rc;
}

void tide_template_set_put(const struct tide_template_set *set, struct tide_trial *trial, struct tide_body *body,
                           struct tide_err *err) {
  struct tide_buf lists = {0}, texts = {0};
  const size_t count = set->nnumbered;
  int64_t *scratch = tide_realloc(NULL, 2 * count, sizeof *scratch, err);
  if (scratch != NULL && put_templates(set, scratch, &lists, &texts, err) == 0) {
    tide_buf_put_varint(&body->sections, count, err);
    tide_intcol_write(trial, scratch, count, body, err);
    tide_intcol_write(trial, scratch + count, count, body, err);
    tide_buf_put(&body->sections, lists.data, lists.len, err);
    tide_buf_put(&body->sections, texts.data, texts.len, err);
  }
  tide_free(scratch);
  tide_buf_clear(&lists);
  tide_buf_clear(&texts);
}
