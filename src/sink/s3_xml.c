#include "sink/s3_xml.h"

#include <string.h>

#include "base/sqlite.h"
#include "sink/text.h"

enum { ENTITY_SIZE_MAX = 10, UNICODE_MAX = 0x10ffff };

void tide_s3_xml_init(struct tide_s3_xml *xml, const void *bytes, size_t size) {
  const char *text = bytes != NULL ? bytes : "";
  *xml = (struct tide_s3_xml){.at = text, .end = text + size};
}

void tide_s3_xml_clear(struct tide_s3_xml *xml) {
  tide_buf_clear(&xml->text);
}

static void fail(const char *wrong, struct tide_err *err) {
  tide_err_set(err, SQLITE_IOERR, "the answer is not the XML that S3 sends: %s", wrong);
}

static size_t left(const struct tide_s3_xml *xml) {
  return (size_t)(xml->end - xml->at);
}

static bool starts_with(const struct tide_s3_xml *xml, const char *prefix) {
  const size_t size = strlen(prefix);
  return left(xml) >= size && memcmp(xml->at, prefix, size) == 0;
}

/* Goes behind the next `ending` and gives where it begins; NULL with err when there is none. */
static const char *skip_past(struct tide_s3_xml *xml, const char *ending, struct tide_err *err) {
  const size_t size = strlen(ending);
  for (const char *at = xml->at; (size_t)(xml->end - at) >= size; at++) {
    if (memcmp(at, ending, size) == 0) {
      xml->at = at + size;
      return at;
    }
  }
  fail("it ends too early", err);
  return NULL;
}

/* ---- text ---- */

static void put_code(struct tide_buf *out, uint32_t code, struct tide_err *err) {
  unsigned char bytes[TIDE_TEXT_UTF8_SIZE];
  tide_buf_put(out, bytes, tide_text_utf8(code, bytes), err);
}

/* The code of "#65" or "#x41"; 0 when it is none. */
static uint32_t numbered(const char *digits, size_t size) {
  const uint32_t base = size > 1 && digits[1] == 'x' ? 16 : 10;
  uint32_t code = 0;
  for (size_t i = base == 16 ? 2 : 1; i < size; i++) {
    const char byte = digits[i];
    const uint32_t digit = byte >= '0' && byte <= '9'   ? (uint32_t)(byte - '0')
                           : byte >= 'a' && byte <= 'f' ? (uint32_t)(byte - 'a' + 10)
                           : byte >= 'A' && byte <= 'F' ? (uint32_t)(byte - 'A' + 10)
                                                        : base;
    if (digit >= base || code > UNICODE_MAX)
      return 0;
    code = code * base + digit;
  }
  return code <= UNICODE_MAX && (code < 0xd800 || code > 0xdfff) ? code : 0;
}

/* "&amp;" and its like, at the "&". */
static void take_entity(struct tide_s3_xml *xml, struct tide_err *err) {
  static const struct {
    const char *name;
    uint32_t code;
  } known[] = {{"lt", '<'}, {"gt", '>'}, {"amp", '&'}, {"quot", '"'}, {"apos", '\''}};
  const char *name = xml->at + 1;
  size_t size = 0;
  while (size < ENTITY_SIZE_MAX && name + size < xml->end && name[size] != ';')
    size++;
  uint32_t code = 0;
  if (size > 0 && name + size < xml->end && name[size] == ';') {
    code = name[0] == '#' ? numbered(name, size) : 0;
    for (size_t i = 0; i < sizeof known / sizeof *known && code == 0; i++)
      code = strlen(known[i].name) == size && memcmp(known[i].name, name, size) == 0 ? known[i].code : 0;
  }
  if (code == 0) {
    fail("an entity is not known", err);
    return;
  }
  put_code(&xml->text, code, err);
  xml->at = name + size + 1;
}

/* Up to the next "<". */
static void take_text(struct tide_s3_xml *xml, struct tide_err *err) {
  while (xml->at < xml->end && *xml->at != '<' && !tide_err_is_set(err)) {
    const char *from = xml->at;
    while (xml->at < xml->end && *xml->at != '<' && *xml->at != '&')
      xml->at++;
    tide_buf_put(&xml->text, from, (size_t)(xml->at - from), err);
    if (xml->at < xml->end && *xml->at == '&')
      take_entity(xml, err);
  }
}

/* ---- tags ---- */

static bool is_name_byte(char byte) {
  return (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || (byte >= '0' && byte <= '9') ||
         (byte != '\0' && strchr("-_.:", byte) != NULL) || (unsigned char)byte >= 0x80;
}

/* The name at `at`, without its prefix; "" with err when there is none that fits. */
static void take_name(struct tide_s3_xml *xml, char ret_name[TIDE_S3_XML_NAME_SIZE], struct tide_err *err) {
  const char *from = xml->at;
  ret_name[0] = '\0';
  for (; xml->at < xml->end && is_name_byte(*xml->at); xml->at++) {
    if (*xml->at == ':')
      from = xml->at + 1;
  }
  const size_t size = (size_t)(xml->at - from);
  if (size == 0 || size >= TIDE_S3_XML_NAME_SIZE) {
    fail("a tag has no name that is known", err);
    return;
  }
  memcpy(ret_name, from, size);
  ret_name[size] = '\0';
}

/* Goes behind the ">" of a tag, over attributes; whether "/" stands before it. */
static bool end_tag_is_empty(struct tide_s3_xml *xml, struct tide_err *err) {
  char quote = '\0';
  for (; xml->at < xml->end; xml->at++) {
    const char byte = *xml->at;
    if (quote != '\0') {
      quote = byte == quote ? '\0' : quote;
    } else if (byte == '"' || byte == '\'') {
      quote = byte;
    } else if (byte == '>') {
      xml->at++;
      return xml->at[-2] == '/';
    }
  }
  fail("it ends within a tag", err);
  return false;
}

/* "</name>", at the "<". */
static void take_end(struct tide_s3_xml *xml, struct tide_err *err) {
  char name[TIDE_S3_XML_NAME_SIZE];
  xml->at += 2;
  take_name(xml, name, err);
  end_tag_is_empty(xml, err);
  if (!tide_err_is_set(err) && (xml->depth == 0 || strcmp(xml->names[xml->depth - 1], name) != 0))
    fail("an end tag does not fit", err);
}

/* "<name ...>" or "<name/>", at the "<": whether the element has ended. */
static bool take_start(struct tide_s3_xml *xml, struct tide_err *err) {
  if (xml->depth == TIDE_S3_XML_DEPTH) {
    fail("it is too deep", err);
    return false;
  }
  xml->at++;
  take_name(xml, xml->names[xml->depth], err);
  const bool ended = end_tag_is_empty(xml, err);
  xml->depth++;
  tide_buf_reset(&xml->text);
  return ended;
}

/* Whatever begins with "<": whether an element has ended with it. */
static bool take_markup(struct tide_s3_xml *xml, struct tide_err *err) {
  if (starts_with(xml, "<?")) {
    skip_past(xml, "?>", err);
  } else if (starts_with(xml, "<!--")) {
    skip_past(xml, "-->", err);
  } else if (starts_with(xml, "<![CDATA[")) {
    xml->at += strlen("<![CDATA[");
    const char *from = xml->at;
    const char *end = skip_past(xml, "]]>", err);
    if (end != NULL)
      tide_buf_put(&xml->text, from, (size_t)(end - from), err);
  } else if (starts_with(xml, "<!")) {
    fail("it has a document type", err);
  } else if (starts_with(xml, "</")) {
    take_end(xml, err);
    return true;
  } else {
    return take_start(xml, err);
  }
  return false;
}

bool tide_s3_xml_next(struct tide_s3_xml *xml, struct tide_s3_element *ret_element, struct tide_err *err) {
  if (xml->closed)
    tide_buf_reset(&xml->text);
  xml->closed = false;
  while (xml->at < xml->end && !tide_err_is_set(err)) {
    if (*xml->at != '<') {
      take_text(xml, err);
      continue;
    }
    xml->closed = take_markup(xml, err);
    if (!xml->closed || tide_err_is_set(err))
      continue;
    tide_buf_put(&xml->text, "", 1, err);
    xml->depth--;
    *ret_element = (struct tide_s3_element){.name = xml->names[xml->depth],
                                            .parent = xml->depth > 0 ? xml->names[xml->depth - 1] : "",
                                            .text = (const char *)xml->text.data};
    return !tide_err_is_set(err);
  }
  if (xml->depth > 0)
    fail("it ends within an element", err);
  return false;
}
