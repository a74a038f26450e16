/* Runs a target on each file of the folders that are named, in the order of their names: what once was a finding, and
 * what the fuzzer found worth keeping, stays refused or read as it should. An empty corpus fails. */
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fuzz.h"

/* Which file it is, for whoever reads that the process ended. */
static void run_file(const char *path) {
  FILE *file = fopen(path, "rb");
  struct stat st;
  if (file == NULL || fstat(fileno(file), &st) != 0) {
    perror(path);
    exit(EXIT_FAILURE);
  }
  const size_t size = (size_t)st.st_size;
  uint8_t *bytes = malloc(size > 0 ? size : 1);
  if (bytes == NULL || fread(bytes, 1, size, file) != size) {
    perror(path);
    exit(EXIT_FAILURE);
  }
  fclose(file);
  fprintf(stderr, "%s\n", path);
  LLVMFuzzerTestOneInput(bytes, size);
  free(bytes);
}

static size_t run_folder(const char *folder) {
  struct dirent **entries;
  size_t files = 0;
  const int count = scandir(folder, &entries, NULL, alphasort);
  if (count < 0) {
    perror(folder);
    exit(EXIT_FAILURE);
  }
  for (int i = 0; i < count; i++) {
    char path[4096];
    snprintf(path, sizeof path, "%s/%s", folder, entries[i]->d_name);
    if (entries[i]->d_name[0] != '.') {
      run_file(path);
      files++;
    }
    free(entries[i]);
  }
  free(entries);
  return files;
}

int main(int argc, char **argv) {
  size_t files = 0;
  for (int i = 1; i < argc; i++)
    files += run_folder(argv[i]);
  printf("%zu files\n", files);
  return files > 0 ? EXIT_SUCCESS : EXIT_FAILURE;
}
