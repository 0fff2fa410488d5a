/* The C library's setjmp.h, if it has one. */
#if __has_include_next(<setjmp.h>)
#include_next <setjmp.h>
#else
#error "WASI has no setjmp.h (setjmp and longjmp): see \"What there is not\" in docs/c.md"
#endif
