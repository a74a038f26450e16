/* The templates of a column in a segment that is being written: found, numbered and counted frame by frame, and at the
 * end put into the chunk's section of templates (template_book.h).
 *
 * Life: all zero; for each frame begin, find each of its texts, settle, and perhaps undo; put when all are done; then
 * reset for the next segment, or clear. */
#ifndef TIDE_CODEC_TEMPLATE_SET_H
#define TIDE_CODEC_TEMPLATE_SET_H

#include <stdbool.h>

#include "codec/body.h"
#include "codec/template_book.h"
#include "codec/token.h"
#include "codec/trial.h"

struct tide_template {
  uint32_t key_at;      /* in the set's keys: the text without its tokens, then a mark for each of them */
  uint32_t static_size; /* of the text without its tokens */
  uint32_t text_size;   /* of the first text that was seen */
  uint32_t tokens_at;   /* its tokens' places in the set's values and sizes */
  uint8_t ntokens;
  int32_t number;  /* in the section; -1: it has none */
  uint32_t frame;  /* in which it was seen last, from 1 */
  bool repeated;   /* seen in a frame before that, or more than once in it */
  uint32_t local;  /* for who writes that frame: its number in it */
  uint64_t varies; /* a bit for each token that was not the first text's in that frame */
};

struct tide_template_set {
  struct tide_template *templates; /* in the order in which they were first seen */
  size_t ntemplates, templates_cap;
  uint32_t *slots; /* open addressing: index of a template + 1, 0 is free */
  uint32_t *hashes;
  size_t nslots; /* a power of two */
  struct tide_buf keys;
  uint64_t *values; /* of the tokens of first texts */
  uint8_t *sizes;
  size_t ntokens, values_cap, sizes_cap;
  uint32_t *numbered; /* templates by number */
  size_t nnumbered, numbered_cap;
  size_t text_size; /* of the numbered ones */
  uint32_t *used;   /* templates of the frame at hand, in the order of first use */
  size_t nused, used_cap;
  size_t before; /* nnumbered when it began */
  uint32_t frame;
  uint32_t pause;    /* frames to come in which templates are not tried */
  uint32_t failures; /* that there were one behind the other */
  size_t row_size;   /* for who writes frames: 16ths of a byte, in the last that was smaller than without */
};

void tide_template_set_clear(struct tide_template_set *set);          /* all zero again */
void tide_template_set_reset(struct tide_template_set *set);          /* empty; memory kept */
size_t tide_template_set_memory(const struct tide_template_set *set); /* what it has, in bytes */

/* Whether the next frame should be tried; counts down a pause. */
bool tide_template_set_is_due(struct tide_template_set *set);

void tide_template_set_begin(struct tide_template_set *set);

/* Gives the template, by its index, of a text of at most TIDE_TEMPLATE_TEXT_MAX bytes with these tokens, and keeps
 * count; -1 when it has none because the set is full, or err is set. */
int32_t tide_template_set_find(struct tide_template_set *set, const unsigned char *text, size_t size,
                               const struct tide_token *tokens, size_t ntokens, struct tide_err *err);

/* The kind (token.h) of a template's token. */
unsigned tide_template_set_kind(const struct tide_template_set *set, const struct tide_template *template,
                                size_t token);

/* Numbers the templates of the frame that are worth it: those that repeat, and as long as the section is small all. */
void tide_template_set_settle(struct tide_template_set *set, struct tide_err *err);

/* The frame is stored without templates after all: takes its numbers back, and pauses, each time longer. */
void tide_template_set_undo(struct tide_template_set *set);

/* Appends the section's body: the numbered ones, at least one. */
void tide_template_set_put(const struct tide_template_set *set, struct tide_trial *trial, struct tide_body *body,
                           struct tide_err *err);

#endif
