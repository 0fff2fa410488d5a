/* The functions of SV-COMP's programs. A program that defines one itself keeps its own.
 *
 * A value is not chosen from all values of its type, since a search would never end. It is chosen from a few
 * that programs tend to distinguish, also for types of 8 bits: see SIGNED and UNSIGNED. Programs that need
 * other values choose them with coyote_choose_between. */
#include "library.h"
#include <limits.h>

#define CHOOSE(type, ...)                                                                       \
  static const type values[] = {__VA_ARGS__};                                                   \
  return values[coyote_raw_choose_int(sizeof values / sizeof *values)]

#define SIGNED(name, type, low, high)                                                           \
  type __coyote___VERIFIER_nondet_##name(void) {                                                \
    CHOOSE(type, 0, 1, 2, 3, -1, 10, high, low);                                                \
  }                                                                                             \
  type __VERIFIER_nondet_##name(void);                                                          \
  PUBLIC(__VERIFIER_nondet_##name);

#define UNSIGNED(name, type)                                                                    \
  type __coyote___VERIFIER_nondet_##name(void) {                                                \
    CHOOSE(type, 0, 1, 2, 3, 4, 10, (type)-1 / 2, (type)-1);                                    \
  }                                                                                             \
  type __VERIFIER_nondet_##name(void);                                                          \
  PUBLIC(__VERIFIER_nondet_##name);

SIGNED(char, char, CHAR_MIN, CHAR_MAX)
SIGNED(short, short, SHRT_MIN, SHRT_MAX)
SIGNED(int, int, INT_MIN, INT_MAX)
SIGNED(long, long, LONG_MIN, LONG_MAX)
SIGNED(longlong, long long, LLONG_MIN, LLONG_MAX)
UNSIGNED(uchar, unsigned char)
UNSIGNED(unsigned_char, unsigned char)
UNSIGNED(ushort, unsigned short)
UNSIGNED(uint, unsigned)
UNSIGNED(unsigned, unsigned)
UNSIGNED(u8, unsigned char)
UNSIGNED(u16, unsigned short)
UNSIGNED(u32, unsigned)
UNSIGNED(ulong, unsigned long)
UNSIGNED(ulonglong, unsigned long long)
UNSIGNED(size_t, size_t)

_Bool __coyote___VERIFIER_nondet_bool(void) {
  return coyote_raw_choose_bool();
}
_Bool __VERIFIER_nondet_bool(void);
PUBLIC(__VERIFIER_nondet_bool);

float __coyote___VERIFIER_nondet_float(void) {
  CHOOSE(float, 0, 1, -1, 0.5f, 1e30f, __builtin_inff(), -__builtin_inff(), __builtin_nanf(""));
}
float __VERIFIER_nondet_float(void);
PUBLIC(__VERIFIER_nondet_float);

double __coyote___VERIFIER_nondet_double(void) {
  CHOOSE(double, 0, 1, -1, 0.5, 1e300, __builtin_inf(), -__builtin_inf(), __builtin_nan(""));
}
double __VERIFIER_nondet_double(void);
PUBLIC(__VERIFIER_nondet_double);

/* NULL, or the address of some unused memory. */
void *__coyote___VERIFIER_nondet_pointer(void) {
  static char memory[64] __attribute__((aligned(16)));
  return coyote_raw_choose_bool() ? memory : NULL;
}
void *__VERIFIER_nondet_pointer(void);
PUBLIC(__VERIFIER_nondet_pointer);

void __coyote___VERIFIER_assume(int condition) {
  coyote_raw_assume(condition != 0);
}
void __VERIFIER_assume(int condition);
PUBLIC(__VERIFIER_assume);

void __coyote___VERIFIER_assert(int condition) {
  if (!condition) {
    __coyote_bug("__VERIFIER_assert failed");
  }
}
void __VERIFIER_assert(int condition);
PUBLIC(__VERIFIER_assert);

/* For `-Dabort=coyote_abandon`: SV-COMP's programs abort where an assumption does not hold. */
_Noreturn void __coyote_abandon(void) {
  coyote_raw_assume(0);
  __builtin_unreachable();
}
_Noreturn void coyote_abandon(void) __attribute__((alias("__coyote_abandon")));

/* An atomic section: other workers run before or after it, not during it. Functions called
 * `__VERIFIER_atomic_...` are atomic sections by their name, so these two have different names within a module. */
void coyote_atomic_begin(void) {
  __c11_atomic_thread_fence(__ATOMIC_SEQ_CST); /* a scheduling point */
  coyote_raw_atomic_begin();
}
void __VERIFIER_atomic_begin(void) __attribute__((alias("coyote_atomic_begin")));

void coyote_atomic_end(void) {
  coyote_raw_atomic_end();
}
void __VERIFIER_atomic_end(void) __attribute__((alias("coyote_atomic_end")));
