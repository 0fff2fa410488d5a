/* Atomic operations on objects that no instruction accesses as a whole: the functions that compilers call for those
 * that are larger than 8 bytes or not aligned. Each is one step (`C_SDK_OPERATIONS` of the instrumenter), and orders
 * what its memory order says (SEQ_CST if that is known at run time only); with weak memory, it reads the newest value. */
#include "library.h"
#include <stdbool.h>
#include <string.h>

/* Declares the function that compilers call, whose name no program may define. */
#define BUILTIN(type, name, parameters) \
  extern type name parameters __asm__("__atomic_" #name) __attribute__((alias("__coyote_atomic_" #name), weak))

PRIVATE void acquire(const volatile void *object, int order) {
  if (order != __ATOMIC_RELAXED && order != __ATOMIC_RELEASE) {
    coyote_raw_happens_after(COYOTE_ADDRESS(object));
  }
}

PRIVATE void release(const volatile void *object, int order) {
  if (order != __ATOMIC_RELAXED && order != __ATOMIC_CONSUME && order != __ATOMIC_ACQUIRE) {
    coyote_raw_happens_before(COYOTE_ADDRESS(object));
  }
}

/* As memcmp, whose accesses would be scheduling points. */
PRIVATE bool differ(const char *object, const char *other, size_t size) {
  bool differ = false;
  for (size_t i = 0; i < size; i++) {
    differ |= object[i] != other[i];
  }
  return differ;
}

bool __coyote_atomic_is_lock_free(size_t size, const volatile void *object) {
  return size <= 8 && (size & (size - 1)) == 0 && (!size || (uintptr_t)object % size == 0);
}
BUILTIN(bool, is_lock_free, (size_t size, const volatile void *object));

void __coyote_atomic_load(size_t size, const volatile void *object, void *result, int order) {
  acquire(object, order);
  memcpy(result, (const void *)object, size);
}
BUILTIN(void, load, (size_t size, const volatile void *object, void *result, int order));

void __coyote_atomic_store(size_t size, volatile void *object, const void *value, int order) {
  release(object, order);
  memcpy((void *)object, value, size);
}
BUILTIN(void, store, (size_t size, volatile void *object, const void *value, int order));

void __coyote_atomic_exchange(size_t size, volatile void *object, const void *value, void *result, int order) {
  acquire(object, order);
  release(object, order);
  memcpy(result, (const void *)object, size);
  memcpy((void *)object, value, size);
}
BUILTIN(void, exchange, (size_t size, volatile void *object, const void *value, void *result, int order));

bool __coyote_atomic_compare_exchange(size_t size, volatile void *object, void *expected, const void *desired,
                                      int success, int failure) {
  if (differ((const char *)object, expected, size)) {
    acquire(object, failure);
    memcpy(expected, (const void *)object, size);
    return false;
  }
  acquire(object, success);
  release(object, success);
  memcpy((void *)object, desired, size);
  return true;
}
BUILTIN(bool, compare_exchange,
        (size_t size, volatile void *object, void *expected, const void *desired, int success, int failure));

/* The same for integers of 16 bytes. */
typedef unsigned __int128 wide;

wide __coyote_atomic_load_16(const volatile wide *object, int order) {
  acquire(object, order);
  return *object;
}
BUILTIN(wide, load_16, (const volatile wide *object, int order));

void __coyote_atomic_store_16(volatile wide *object, wide value, int order) {
  release(object, order);
  *object = value;
}
BUILTIN(void, store_16, (volatile wide *object, wide value, int order));

bool __coyote_atomic_compare_exchange_16(volatile wide *object, wide *expected, wide desired, int success,
                                         int failure) {
  return __coyote_atomic_compare_exchange(sizeof desired, object, expected, &desired, success, failure);
}
BUILTIN(bool, compare_exchange_16, (volatile wide *object, wide *expected, wide desired, int success, int failure));

#define READ_MODIFY_WRITE_16(name, result)                                                    \
  wide __coyote_atomic_##name##_16(volatile wide *object, wide value, int order) {            \
    acquire(object, order);                                                                   \
    release(object, order);                                                                   \
    wide old = *object;                                                                       \
    *object = (result);                                                                       \
    return old;                                                                               \
  }                                                                                           \
  BUILTIN(wide, name##_16, (volatile wide *object, wide value, int order))

READ_MODIFY_WRITE_16(exchange, value);
READ_MODIFY_WRITE_16(fetch_add, old + value);
READ_MODIFY_WRITE_16(fetch_sub, old - value);
READ_MODIFY_WRITE_16(fetch_and, old & value);
READ_MODIFY_WRITE_16(fetch_or, old | value);
READ_MODIFY_WRITE_16(fetch_xor, old ^ value);
READ_MODIFY_WRITE_16(fetch_nand, ~(old & value));
