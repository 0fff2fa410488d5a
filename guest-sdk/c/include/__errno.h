/* Takes the place of wasi-libc's header of this name, which errno.h includes. There, errno is a
 * thread-local variable, but a libc that was built without threads defines a plain one, and the two do
 * not link. See docs/c.md for what that means. */
#ifndef COYOTE_ERRNO_H
#define COYOTE_ERRNO_H

#ifdef __cplusplus
extern "C" {
#endif

int *__coyote_errno(void);

#ifdef __cplusplus
}
#endif

#define errno (*__coyote_errno())

#endif
