/* Files and directories that get a name of their own. Names are counted, not drawn, so that an execution can be repeated. */
#include "library.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/* Makes a file, whose descriptor it returns, or a directory. -1 with errno set if that is not possible. */
typedef int maker(const char *path, int flags);

/* The number of letters at the end of a template, all of them X. */
#define LETTERS 6
/* How many names are tried, which may be those of other files. */
#define ATTEMPTS_MAX 10000

static unsigned names;

/* Writes a text over the end of a template. */
PRIVATE void write_letters(char *end, const char *letters) {
  for (int i = 0; i < LETTERS; i++) {
    end[i] = letters[i];
  }
}

PRIVATE int make_named(char *template, int flags, maker *make) {
  static const char digits[] = "0123456789abcdefghijklmnopqrstuvwxyz", exes[] = "XXXXXX";
  uint32_t length = text_length(template), count = 0;
  while (count < length && template[length - count - 1] == 'X') {
    count++;
  }
  if (count < LETTERS) {
    return __coyote_result(EINVAL);
  }
  char *end = template + length - LETTERS;
  for (int attempt = 0; attempt < ATTEMPTS_MAX; attempt++) {
    char letters[LETTERS];
    unsigned rest = names++;
    for (int i = LETTERS - 1; i >= 0; i--, rest /= 36) {
      letters[i] = digits[rest % 36];
    }
    write_letters(end, letters);
    int result = make(template, flags);
    if (result >= 0) {
      return result;
    }
    if (errno != EEXIST) {
      break;
    }
  }
  write_letters(end, exes);
  return -1;
}

PRIVATE int make_file(const char *path, int flags) {
  return open(path, (flags & ~O_ACCMODE) | O_RDWR | O_CREAT | O_EXCL, 0600);
}

PRIVATE int make_directory(const char *path, int flags) {
  (void)flags;
  return mkdir(path, 0700);
}

int __coyote_mkostemp(char *template, int flags) {
  return make_named(template, flags, make_file);
}
PUBLIC(mkostemp);

int __coyote_mkstemp(char *template) {
  return make_named(template, 0, make_file);
}
PUBLIC(mkstemp);

char *__coyote_mkdtemp(char *template) {
  return make_named(template, 0, make_directory) < 0 ? NULL : template;
}
PUBLIC(mkdtemp);

/* In the root directory, where everyone can write. */
FILE *__coyote_tmpfile(void) {
  char path[] = "/tmpfile-XXXXXX";
  int file = make_named(path, 0, make_file);
  if (file < 0) {
    return NULL;
  }
  unlink(path);
  FILE *stream = fdopen(file, "w+");
  if (!stream) {
    close(file);
  }
  return stream;
}
PUBLIC(tmpfile);
