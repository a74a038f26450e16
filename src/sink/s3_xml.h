/* Reads the XML that S3 answers with, which anybody may have sent: elements, text, the five entities and numbered ones,
 * CDATA; attributes, comments and processing instructions are passed over; a document type is refused. It copies one
 * element's text at a time. Life: init, next until it gives false, clear. */
#ifndef TIDE_SINK_S3_XML_H
#define TIDE_SINK_S3_XML_H

#include <stdbool.h>

#include "base/buf.h"

enum { TIDE_S3_XML_DEPTH = 8, TIDE_S3_XML_NAME_SIZE = 64 };

struct tide_s3_xml {
  const char *at;
  const char *end;
  char names[TIDE_S3_XML_DEPTH][TIDE_S3_XML_NAME_SIZE]; /* of the open elements, without a prefix */
  size_t depth;
  bool closed;          /* the element at names[depth] was given: its name is still looked at */
  struct tide_buf text; /* since the last tag */
};

/* An element that has ended. */
struct tide_s3_element {
  const char *name;
  const char *parent; /* "" of the outermost */
  const char *text;   /* what stands behind its last child: all of it where there are no children */
};

void tide_s3_xml_init(struct tide_s3_xml *xml, const void *bytes, size_t size);
void tide_s3_xml_clear(struct tide_s3_xml *xml);

/* The next element in the order in which they end, as a view until the next call. false at the end, and with
 * SQLITE_IOERR when the text is no such XML, is deeper than TIDE_S3_XML_DEPTH, or ends within an element. */
bool tide_s3_xml_next(struct tide_s3_xml *xml, struct tide_s3_element *ret_element, struct tide_err *err);

#endif
