// Files and directories that get a name of their own: no other call gets the same.
// flags: -O1
// run: -i 300 --races bug --leaks --test names --test wrong --test unnamed
// exit: 0
// line: . No bug found in 3 tests
// run: -s dpor --test names
// exit: 0
// line: . Proved: no bug
#include "coyote.h"
#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void *makes_a_file(void *template) {
  int file = mkstemp(template);
  assert(file >= 0);
  assert(write(file, "text", 4) == 4);
  close(file);
  return NULL;
}

COYOTE_TEST(names) {
  pthread_t thread;
  char one[] = "/one-XXXXXX", two[] = "/one-XXXXXX";
  pthread_create(&thread, NULL, makes_a_file, one);
  makes_a_file(two);
  pthread_join(thread, NULL);
  assert(strcmp(one, two) && !memcmp(one, "/one-", 5) && !memcmp(two, "/one-", 5));
  assert(unlink(one) == 0 && unlink(two) == 0);
}

COYOTE_TEST(wrong) {
  char few[] = "/fiveXXXXX", none[] = "", missing[] = "/missing/XXXXXX", many[] = "XXXXXXXX";
  assert(mkstemp(few) == -1 && errno == EINVAL && !strcmp(few, "/fiveXXXXX"));
  assert(mkdtemp(none) == NULL && errno == EINVAL);
  assert(mkstemp(missing) == -1 && errno == ENOENT && !strcmp(missing, "/missing/XXXXXX"));
  assert(mkdtemp(many) == many && !memcmp(many, "XX", 2) && rmdir(many) == 0);
  // A name that another program took is passed over.
  char next[] = "/nextXXXXXX", taken[] = "/nextXXXXXX", free_one[] = "/nextXXXXXX";
  assert(mkdtemp(next) == next && rmdir(next) == 0);
  memcpy(taken, next, sizeof taken);
  assert(taken[10] < '8');
  taken[10]++;
  close(open(taken, O_CREAT | O_WRONLY, 0600));
  int file = mkostemp(free_one, O_APPEND);
  assert(file >= 0 && strcmp(free_one, taken) && strcmp(free_one, next));
  // For writing and reading.
  char text[5] = {0};
  assert(write(file, "text", 4) == 4 && pread(file, text, 4, 0) == 4 && !strcmp(text, "text"));
  close(file);
  char directory[] = "/directory-XXXXXX";
  struct stat status;
  assert(mkdtemp(directory) == directory && stat(directory, &status) == 0 && S_ISDIR(status.st_mode));
}

COYOTE_TEST(unnamed) {
  FILE *first = tmpfile(), *second = tmpfile();
  int number = 0;
  assert(first && second && fprintf(first, "%d", 12) == 2);
  rewind(first);
  assert(fscanf(first, "%d", &number) == 1 && number == 12);
  assert(fgetc(second) == EOF);
  fclose(first);
  fclose(second);
  assert(rmdir("/") != 0);
}
