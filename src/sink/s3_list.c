#include "sink/s3_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "sink/s3_xml.h"

#ifdef TIDE_TEST_HOOKS
const char *tide_s3_list_page;
#define PAGE tide_s3_list_page
#else
#define PAGE NULL
#endif

/* What a kind of listing is asked for by, and which elements its answer has. */
struct kind {
  const char *doing;
  struct tide_sigv4_pair asks;
  const char *asks_page; /* how many entries */
  const char *asks_next; /* where the page is to begin, as the one before said */
  const char *asks_next_detail;
  const char *root;
  const char *entry;
  const char *detail; /* beside Key */
  const char *next;
  const char *next_detail; /* NULL: none, as asks_next_detail */
};

static const struct kind objects = {.doing = "listing",
                                    .asks = {"list-type", "2"},
                                    .asks_page = "max-keys",
                                    .asks_next = "continuation-token",
                                    .root = "ListBucketResult",
                                    .entry = "Contents",
                                    .detail = "Size",
                                    .next = "NextContinuationToken"};

static const struct kind uploads = {.doing = "listing the uploads under way in",
                                    .asks = {"uploads", ""},
                                    .asks_page = "max-uploads",
                                    .asks_next = "key-marker",
                                    .asks_next_detail = "upload-id-marker",
                                    .root = "ListMultipartUploadsResult",
                                    .entry = "Upload",
                                    .detail = "UploadId",
                                    .next = "NextKeyMarker",
                                    .next_detail = "NextUploadIdMarker"};

/* Where a page begins, as the one before it said. */
struct page_start {
  char *at;
  char *detail;
};

/* A listing under way. Strings are its own; NULL and "": not said yet. */
struct listing {
  struct tide_s3 *s3;
  const struct kind *kind;
  bool (*each)(void *context, const char *key, const char *detail, struct tide_err *err);
  void *context;
  char *key; /* of the entry that is read */
  char *detail;
  bool is_truncated; /* this page says that there is another, which begins at: */
  struct page_start next;
};

static void put(char **into, const char *text, struct tide_err *err) {
  tide_free(*into);
  *into = tide_err_is_set(err) ? NULL : tide_copy_string(text, err);
}

static bool is_said(const char *text) {
  return text != NULL && text[0] != '\0';
}

static bool is_same_text(const char *a, const char *b) {
  return strcmp(a != NULL ? a : "", b != NULL ? b : "") == 0;
}

static bool is_same(const struct page_start *a, const struct page_start *b) {
  return is_same_text(a->at, b->at) && is_same_text(a->detail, b->detail);
}

static void clear_start(struct page_start *start) {
  tide_free(start->at);
  tide_free(start->detail);
}

static void clear_listing(struct listing *listing) {
  tide_free(listing->key);
  tide_free(listing->detail);
  clear_start(&listing->next);
}

/* Takes what an element says: true when it ends an entry. */
static bool take_element(struct listing *listing, const struct tide_s3_element *element, struct tide_err *err) {
  const struct kind *kind = listing->kind;
  if (strcmp(element->parent, kind->entry) == 0) {
    if (strcmp(element->name, "Key") == 0)
      put(&listing->key, element->text, err);
    else if (strcmp(element->name, kind->detail) == 0)
      put(&listing->detail, element->text, err);
    return false;
  }
  if (strcmp(element->parent, kind->root) != 0)
    return false;
  if (strcmp(element->name, "IsTruncated") == 0)
    listing->is_truncated = strcmp(element->text, "true") == 0;
  else if (strcmp(element->name, kind->next) == 0)
    put(&listing->next.at, element->text, err);
  else if (kind->next_detail != NULL && strcmp(element->name, kind->next_detail) == 0)
    put(&listing->next.detail, element->text, err);
  return strcmp(element->name, kind->entry) == 0;
}

/* Calls each for the entries of a page: false when it wants no more. */
static bool read_page(struct listing *listing, const struct tide_buf *body, struct tide_err *err) {
  struct tide_s3_xml xml;
  struct tide_s3_element element;
  bool wanted = true;
  tide_s3_xml_init(&xml, body->data, body->len);
  while (wanted && tide_s3_xml_next(&xml, &element, err)) {
    if (!take_element(listing, &element, err) || tide_err_is_set(err))
      continue;
    if (is_said(listing->key) && listing->detail != NULL)
      wanted = listing->each(listing->context, listing->key, listing->detail, err) && !tide_err_is_set(err);
    put(&listing->key, "", err);
  }
  tide_s3_xml_clear(&xml);
  return wanted && !tide_err_is_set(err);
}

/* Asks for a page and reads it: whether there is another, and it is wanted. */
static bool list_page(struct listing *listing, const struct tide_s3_call *call, struct tide_err *err) {
  struct tide_s3 *s3 = listing->s3;
  if (tide_s3_send(s3, call, err) == 0 && !tide_s3_is_done(s3))
    tide_s3_fail(s3, call, err);
  if (tide_err_is_set(err))
    return false;
  struct tide_buf body = s3->body;
  s3->body = (struct tide_buf){0};
  listing->is_truncated = false;
  struct page_start asked = listing->next;
  listing->next = (struct page_start){0};
  const bool wanted = read_page(listing, &body, err);
  tide_buf_clear(&body);
  if (wanted && listing->is_truncated && !is_said(listing->next.at))
    tide_s3_fail_odd(s3, call, "a page of the listing does not say where the next one begins", err);
  else if (wanted && listing->is_truncated && is_same(&asked, &listing->next))
    tide_s3_fail_odd(s3, call, "a page of the listing says that the next one begins where it began itself", err);
  clear_start(&asked);
  return wanted && listing->is_truncated && !tide_err_is_set(err);
}

static void list(struct listing *listing, const char *prefix, const char *after, struct tide_err *err) {
  const struct kind *kind = listing->kind;
  bool more = true;
  while (more) {
    struct tide_s3_call call = {.method = "GET",
                                .doing = kind->doing,
                                .query = {kind->asks, {"prefix", prefix}},
                                .answer_max = TIDE_S3_LISTING_MAX};
    size_t n = 2;
    if (is_said(listing->next.at))
      call.query[n++] = (struct tide_sigv4_pair){kind->asks_next, listing->next.at};
    else if (after != NULL)
      call.query[n++] = (struct tide_sigv4_pair){"start-after", after};
    if (kind->asks_next_detail != NULL && is_said(listing->next.detail))
      call.query[n++] = (struct tide_sigv4_pair){kind->asks_next_detail, listing->next.detail};
    if (PAGE != NULL)
      call.query[n++] = (struct tide_sigv4_pair){kind->asks_page, PAGE};
    more = list_page(listing, &call, err);
  }
  clear_listing(listing);
}

/* ---- the calls ---- */

struct object_listing {
  bool (*each)(void *context, const char *key, int64_t size, struct tide_err *err);
  void *context;
};

static bool on_object(void *context, const char *key, const char *size, struct tide_err *err) {
  const struct object_listing *wanted = context;
  return wanted->each(wanted->context, key, strtoll(size, NULL, 10), err);
}

int tide_s3_list_objects(struct tide_s3 *s3, const char *prefix, const char *after,
                         bool (*each)(void *context, const char *key, int64_t size, struct tide_err *err),
                         void *context, struct tide_err *err) {
  struct object_listing wanted = {each, context};
  struct listing listing = {.s3 = s3, .kind = &objects, .each = on_object, .context = &wanted};
  list(&listing, prefix, after, err);
  return err->rc;
}

int tide_s3_list_uploads(struct tide_s3 *s3, const char *prefix,
                         bool (*each)(void *context, const char *key, const char *upload, struct tide_err *err),
                         void *context, struct tide_err *err) {
  struct listing listing = {.s3 = s3, .kind = &uploads, .each = each, .context = context};
  list(&listing, prefix, NULL, err);
  return err->rc;
}
