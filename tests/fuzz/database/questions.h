/* What SQL can ask of a dataset, whose name takes the place of each %q and %w; NULL-ended. */
#ifndef TIDE_TESTS_FUZZ_QUESTIONS_H
#define TIDE_TESTS_FUZZ_QUESTIONS_H

extern const char *const questions_read[];
extern const char *const questions_write[]; /* in any order */
extern const char *const questions_rename[];
extern const char *const questions_drop[];

#endif
