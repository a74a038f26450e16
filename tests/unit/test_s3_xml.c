#include <string.h>

#include "base/mem.h"
#include "base/sqlite.h"
#include "oom.h"
#include "sink/s3_xml.h"
#include "unit.h"

/* "parent/name=text" of each element, ";" between; the error's message behind "!". */
static const char *elements_of(const char *text, size_t size) {
  static char found[4096];
  struct tide_err err = {0};
  struct tide_s3_xml xml;
  struct tide_s3_element element;
  /* A copy of its own size, so that a read past the end is seen. */
  char *copy = tide_alloc(size, &err);
  memcpy(copy, text, size);
  found[0] = '\0';
  tide_s3_xml_init(&xml, copy, size);
  while (tide_s3_xml_next(&xml, &element, &err))
    sqlite3_snprintf((int)(sizeof found - strlen(found)), found + strlen(found), "%s/%s=%s;", element.parent,
                     element.name, element.text);
  if (tide_err_is_set(&err)) {
    ck_assert_int_eq(err.rc, SQLITE_IOERR);
    sqlite3_snprintf((int)(sizeof found - strlen(found)), found + strlen(found), "!%s", err.msg);
  }
  tide_s3_xml_clear(&xml);
  tide_free(copy);
  return found;
}

static void assert_elements(const char *text, const char *expected) {
  ck_assert_str_eq(elements_of(text, strlen(text)), expected);
}

/* The error of "Error Responses" in the Amazon S3 API reference. */
START_TEST(an_error_is_read) {
  assert_elements("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error>\n  <Code>NoSuchKey</Code>\n"
                  "  <Message>The resource you requested does not exist</Message>\n"
                  "  <Resource>/mybucket/myfoto.jpg</Resource> \n  <RequestId>4442587FB7D0A2F9</RequestId>\n</Error>",
                  "Error/Code=NoSuchKey;Error/Message=The resource you requested does not exist;"
                  "Error/Resource=/mybucket/myfoto.jpg;Error/RequestId=4442587FB7D0A2F9;/Error=\n;");
}
END_TEST

START_TEST(entities_cdata_and_numbers_are_text) {
  assert_elements("<a>&lt;&gt;&amp;&quot;&apos;&#65;&#x20ac;&#x1F600;<![CDATA[<&>]]></a>",
                  "/a=<>&\"'A\xe2\x82\xac\xf0\x9f\x98\x80<&>;");
}
END_TEST

START_TEST(attributes_comments_prefixes_and_empty_elements_are_passed_over) {
  assert_elements("<x:a xmlns=\"http://s3/?a>b\" b='\"/>'><!-- <c> --><d/><e f=\"/\"></e ></x:a>", "a/d=;a/e=;/a=;");
}
END_TEST

START_TEST(what_is_no_such_xml_is_refused) {
  static const char *const wrong[] = {"<a>",
                                      "<a></b>",
                                      "</a>",
                                      "<a><b></a></b>",
                                      "<a",
                                      "<a b=\"c>",
                                      "<",
                                      "<a>&b;</a>",
                                      "<a>&#0;</a>",
                                      "<a>&#xD800;",
                                      "<a>&#x110000;",
                                      "<a>&#99999999999999;</a>",
                                      "<a>&amp",
                                      "<a>&",
                                      "<!DOCTYPE a>",
                                      "<!ENTITY b \"c\"><a>&b;</a>",
                                      "<a><![CDATA[b",
                                      "<!-- a",
                                      "<?xml",
                                      "<>a</>",
                                      "< a></ a>"};
  for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
    ck_assert_msg(strchr(elements_of(wrong[i], strlen(wrong[i])), '!') != NULL, "%s", wrong[i]);
}
END_TEST

START_TEST(depth_and_names_are_bounded) {
  char name[TIDE_S3_XML_NAME_SIZE + 1];
  char text[512];
  assert_elements("<a><a><a><a><a><a><a><a></a></a></a></a></a></a></a></a>",
                  "a/a=;a/a=;a/a=;a/a=;a/a=;a/a=;a/a=;/a=;");
  assert_elements("<a><a><a><a><a><a><a><a><a></a></a></a></a></a></a></a></a></a>",
                  "!the answer is not the XML that S3 sends: it is too deep");
  memset(name, 'n', TIDE_S3_XML_NAME_SIZE);
  name[TIDE_S3_XML_NAME_SIZE] = '\0';
  sqlite3_snprintf((int)sizeof text, text, "<%s></%s>", name, name);
  assert_elements(text, "!the answer is not the XML that S3 sends: a tag has no name that is known");
}
END_TEST

START_TEST(every_beginning_and_every_changed_byte_ends) {
  static const char text[] = "<?xml version=\"1.0\"?><R x='1'><C><K>a&amp;b&#x41;</K><S>12</S></C><!-- c --><T/></R>";
  char changed[sizeof text];
  for (size_t size = 0; size < sizeof text; size++)
    elements_of(text, size);
  for (size_t at = 0; at + 1 < sizeof text; at++) {
    for (int byte = 0; byte < 256; byte++) {
      memcpy(changed, text, sizeof text);
      changed[at] = (char)byte;
      elements_of(changed, sizeof text - 1);
    }
  }
}
END_TEST

START_TEST(a_failed_allocation_is_an_error) {
  oom_install();
  static const char text[] = "<a><b>some text</b><c>more of it, which makes the buffer grow: ................</c></a>";
  for (int n = 1;; n++) {
    struct tide_err err = {0};
    struct tide_s3_xml xml;
    struct tide_s3_element element;
    const long live = oom_live();
    oom_fail_at(n);
    tide_s3_xml_init(&xml, text, sizeof text - 1);
    while (tide_s3_xml_next(&xml, &element, &err))
      continue;
    tide_s3_xml_clear(&xml);
    ck_assert_int_eq(oom_live(), live);
    if (!oom_has_failed())
      break;
    ck_assert_int_eq(err.rc, SQLITE_NOMEM);
  }
  oom_fail_at(0);
}
END_TEST

int main(void) {
  const TTest *const tests[] = {an_error_is_read,
                                entities_cdata_and_numbers_are_text,
                                attributes_comments_prefixes_and_empty_elements_are_passed_over,
                                what_is_no_such_xml_is_refused,
                                depth_and_names_are_bounded,
                                every_beginning_and_every_changed_byte_ends,
                                a_failed_allocation_is_an_error,
                                NULL};
  return unit_main("s3_xml", tests);
}
