/* Prints the benchmark's rows as NDJSON, as a sink of Tidemark would:  generate SAMPLE ROWS [SEED] */
#include <string.h>

#include "die.h"
#include "generate.h"

enum { BLOCK = 10000 };

static void print_text(const char *name, const char *text) {
  printf(",\"%s\":\"", name);
  for (const char *at = text; *at != '\0'; at++) {
    if (*at == '"' || *at == '\\')
      printf("\\%c", *at);
    else if (*at == '\n')
      fputs("\\n", stdout);
    else if (*at == '\t')
      fputs("\\t", stdout);
    else if ((unsigned char)*at < ' ')
      printf("\\u%04x", (unsigned char)*at);
    else
      putchar_unlocked(*at);
  }
  putchar_unlocked('"');
}

static void print_number(const char *name, int64_t number) {
  if (number < 0)
    printf(",\"%s\":null", name);
  else
    printf(",\"%s\":%lld", name, (long long)number);
}

static void print_row(const struct row *row) {
  printf("{\"source\":\"%s\",\"ts\":%lld", row->source, (long long)row->ts);
  print_text("level", row->level);
  print_text("component", row->component);
  print_number("status", row->status);
  print_number("bytes", row->bytes);
  if (row->duration < 0)
    fputs(",\"duration\":null", stdout);
  else
    printf(",\"duration\":%.3f", row->duration);
  print_text("body", row->body);
  printf(",\"attrs\":%s}\n", row->attrs != NULL ? row->attrs : "null");
}

int main(int argc, char **argv) {
  if (argc < 3)
    die("usage: generate SAMPLE ROWS [SEED]");
  struct generator generator;
  generator_init(&generator, argv[1], argc > 3 ? strtoull(argv[3], NULL, 10) : 1);
  struct block block = {0};
  for (uint64_t left = strtoull(argv[2], NULL, 10); left > 0; left -= block.count) {
    generator_fill(&generator, &block, left < BLOCK ? left : BLOCK);
    for (size_t i = 0; i < block.count; i++)
      print_row(&block.rows[i]);
  }
  block_clear(&block);
  generator_clear(&generator);
  if (fflush(stdout) != 0)
    die("cannot write the rows");
  return 0;
}
