/* For LD_PRELOAD: the clock that SQLite reads stands where the file of TIDE_TEST_CLOCK says, in milliseconds since
 * 1970, so that a script can live through months. Without such a file it is the epoch. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/time.h>

int gettimeofday(struct timeval *restrict now, void *restrict zone) {
  (void)zone;
  long long ms = 0;
  const char *path = getenv("TIDE_TEST_CLOCK");
  FILE *file = path != NULL ? fopen(path, "r") : NULL;
  if (file != NULL) {
    if (fscanf(file, "%lld", &ms) != 1)
      ms = 0;
    fclose(file);
  }
  *now = (struct timeval){.tv_sec = ms / 1000, .tv_usec = ms % 1000 * 1000};
  return 0;
}
