/* The C library's netdb.h, if it has one. */
#if __has_include_next(<netdb.h>)
#include_next <netdb.h>
#else
#error "WASI has no netdb.h (names of hosts and services): see \"What there is not\" in docs/c.md"
#endif
