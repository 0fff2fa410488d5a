/* coyote_order.h: tells the tool the memory order of each atomic operation of C and C++.
 *
 * WebAssembly's atomic instructions have no orders. coyote-cc and coyote-cxx include this file before
 * everything else; use `-include coyote_order.h` with another clang. <stdatomic.h>, <atomic> and the
 * functions `__atomic_*` and `__sync_*` are based on builtins of the compiler. Each becomes a macro: its operands are
 * evaluated, in their order, `__coyote_order` is called with the order, and the builtin with the values, so that
 * no other atomic operation comes between. The tool removes the call: it costs nothing and is no scheduling
 * point. An order that is known at run time only is SEQ_CST for the compiler.
 *
 * Operations that have no instruction (nand, minimum, maximum, sums of floating-point numbers) are written as
 * the loops that the compiler would make of them, whose first load would be a plain one.
 *
 * Operators of `_Atomic` variables and `__sync_synchronize` are SEQ_CST; so is an operation without a known order.
 * A call with another number of arguments than its builtin has (a template's comma, or a function of the program
 * of this name) stays as it is. `COYOTE_NO_ORDERINGS` leaves all calls as they are.
 *
 * libc++ has members with such names: see c++/__atomic/atomic_base.h.
 *
 * Not supported: such a call outside of all functions, as in a `sizeof` in an array's length.
 *
 * coyote-cc and coyote-cxx write `coyote-order` behind the compiler's name in the debug information (DW_AT_producer): in
 * such a unit, an atomic instruction without a call is known to be SEQ_CST. Pass `-Xclang -dwarf-debug-flags -Xclang
 * coyote-order` for that with another clang.
 */
#if !defined(COYOTE_ORDER_H) && !defined(COYOTE_NO_ORDERINGS) && !defined(__ASSEMBLER__) && defined(__wasm__)
#define COYOTE_ORDER_H
#pragma clang system_header

#ifdef __cplusplus
extern "C" {
#endif

/* The order of the worker's next atomic operation: a memory_order, plus 16 times that of a failed
 * compare-exchange, or 16 times 7 without one. `nomerge`: calls at several places stay separate. */
__attribute__((import_module("coyote"), import_name("order"), nothrow, nomerge)) void
__coyote_order(unsigned __orders);

#ifdef __cplusplus
}
#endif

/* A copy of an operand, and the type of the value that a pointer points to. */
#ifdef __cplusplus
template <class __coyote_t>
struct __coyote_plain {
  typedef __coyote_t type;
};
template <class __coyote_t>
struct __coyote_plain<const __coyote_t> : __coyote_plain<__coyote_t> {};
template <class __coyote_t>
struct __coyote_plain<volatile __coyote_t> : __coyote_plain<__coyote_t> {};
template <class __coyote_t>
struct __coyote_plain<const volatile __coyote_t> : __coyote_plain<__coyote_t> {};
template <class __coyote_t>
struct __coyote_plain<_Atomic(__coyote_t)> : __coyote_plain<__coyote_t> {};
template <class __coyote_t>
typename __coyote_plain<__coyote_t>::type __coyote_value(__coyote_t *);
#define __COYOTE_LET(name, operand) auto name = (operand)
#define __COYOTE_TYPE(pointer) __typeof__(__coyote_value(pointer))
#define __COYOTE_IS_FLOAT(type) __is_floating_point(type)
#else
/* The comma makes a value: of an array its address, of an atomic variable or a bit-field its contents. */
#define __COYOTE_LET(name, operand) __auto_type name = ((void)0, (operand))
#define __COYOTE_TYPE(pointer) __typeof__((void)0, *(pointer))
#define __COYOTE_IS_FLOAT(type)                                                        \
  (__builtin_types_compatible_p(type, float) || __builtin_types_compatible_p(type, double))
#endif
#define __COYOTE_POINTER(p) __COYOTE_LET(__coyote_p, p)
#define __COYOTE_OPERAND(v) __COYOTE_TYPE(__coyote_p) __coyote_v = (v)

/* Tells the tool an order, and is the order for the builtin. Evaluates the order once. */
#define __COYOTE_TELL(o) __coyote_order((unsigned)(o) | 0x70)
#define __COYOTE_TELL_BOTH(s, f) __coyote_order((unsigned)(s) | (unsigned)(f) << 4)
#define __COYOTE_GIVE(o) (__builtin_constant_p(o) ? (o) : __ATOMIC_SEQ_CST)

/* (pointer, order) */
#define __COYOTE_LOAD(builtin, p, o)                                                   \
  __extension__({                                                                      \
    __COYOTE_POINTER(p);                                                               \
    __COYOTE_TELL(o);                                                                  \
    builtin(__coyote_p, __COYOTE_GIVE(o));                                             \
  })

/* (pointer, value, order) */
#define __COYOTE_STORE(builtin, p, v, o)                                               \
  __extension__({                                                                      \
    __COYOTE_POINTER(p);                                                               \
    __COYOTE_OPERAND(v);                                                               \
    __COYOTE_TELL(o);                                                                  \
    builtin(__coyote_p, __coyote_v, __COYOTE_GIVE(o));                                 \
  })

/* (pointer, operand of any type, order) */
#define __COYOTE_FETCH(builtin, p, v, o)                                               \
  __extension__({                                                                      \
    __COYOTE_POINTER(p);                                                               \
    __COYOTE_LET(__coyote_v, v);                                                       \
    __COYOTE_TELL(o);                                                                  \
    builtin(__coyote_p, __coyote_v, __COYOTE_GIVE(o));                                 \
  })

/* The builtin evaluates second pointers: a copy of one in the frame would make the whole frame memory that other
 * workers may access. If one contains an atomic operation, the outer operation has no order for the tool. */
/* (pointer, pointer, order) */
#define __COYOTE_MOVE(builtin, p, v, o)                                                \
  __extension__({                                                                      \
    __COYOTE_POINTER(p);                                                               \
    __COYOTE_TELL(o);                                                                  \
    builtin(__coyote_p, v, __COYOTE_GIVE(o));                                          \
  })

/* (pointer, pointer, pointer, order) */
#define __COYOTE_EXCHANGE(builtin, p, v, r, o)                                         \
  __extension__({                                                                      \
    __COYOTE_POINTER(p);                                                               \
    __COYOTE_TELL(o);                                                                  \
    builtin(__coyote_p, v, r, __COYOTE_GIVE(o));                                       \
  })

/* (pointer, pointer to what is expected, value, success, failure) */
#define __COYOTE_COMPARE(builtin, p, e, v, s, f)                                       \
  __extension__({                                                                      \
    __COYOTE_POINTER(p);                                                               \
    __COYOTE_OPERAND(v);                                                               \
    __COYOTE_TELL_BOTH(s, f);                                                          \
    builtin(__coyote_p, e, __coyote_v, __COYOTE_GIVE(s), __COYOTE_GIVE(f));            \
  })

/* (pointer, pointer to what is expected, value, whether weak, success, failure) */
#define __COYOTE_COMPARE_N(builtin, p, e, v, w, s, f)                                  \
  __extension__({                                                                      \
    __COYOTE_POINTER(p);                                                               \
    __COYOTE_OPERAND(v);                                                               \
    (void)(w);                                                                         \
    __COYOTE_TELL_BOTH(s, f);                                                          \
    builtin(__coyote_p, e, __coyote_v, 0, __COYOTE_GIVE(s), __COYOTE_GIVE(f));         \
  })

/* The same with a pointer to the value. */
#define __COYOTE_COMPARE_P(builtin, p, e, v, w, s, f)                                  \
  __extension__({                                                                      \
    __COYOTE_POINTER(p);                                                               \
    (void)(w);                                                                         \
    __COYOTE_TELL_BOTH(s, f);                                                          \
    builtin(__coyote_p, e, v, 0, __COYOTE_GIVE(s), __COYOTE_GIVE(f));                  \
  })

/* A read-modify-write as a loop, into __coyote_old and __coyote_new: `new` is a term of __coyote_old and
 * __coyote_v. `kind` is C11 or GNU. */
#define __COYOTE_ATTEMPTS(kind, o, new)                                                \
  const int __coyote_o = (int)(o);                                                     \
  __COYOTE_TYPE(__coyote_p) __coyote_old, __coyote_new;                                \
  __COYOTE_TELL(__ATOMIC_RELAXED);                                                     \
  __COYOTE_LOAD_##kind;                                                                \
  do {                                                                                 \
    __coyote_new = (__COYOTE_TYPE(__coyote_p))(new);                                   \
    __COYOTE_TELL(__builtin_constant_p(o) ? (int)(o) : __coyote_o);                    \
  } while (!__COYOTE_TRY_##kind);                                                      \
  (void)__coyote_o
#define __COYOTE_LOAD_C11 __coyote_old = (__c11_atomic_load)(__coyote_p, __ATOMIC_RELAXED)
#define __COYOTE_LOAD_GNU (__atomic_load)(__coyote_p, &__coyote_old, __ATOMIC_RELAXED)
#define __COYOTE_TRY_C11                                                               \
  (__c11_atomic_compare_exchange_weak)(__coyote_p, &__coyote_old, __coyote_new,        \
                                       __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)
#define __COYOTE_TRY_GNU                                                               \
  (__atomic_compare_exchange)(__coyote_p, &__coyote_old, &__coyote_new, 1,             \
                              __ATOMIC_SEQ_CST, __ATOMIC_SEQ_CST)

#define __COYOTE_LOOP(kind, result, new, p, v, o)                                      \
  __extension__({                                                                      \
    __COYOTE_POINTER(p);                                                               \
    __COYOTE_OPERAND(v);                                                               \
    __COYOTE_ATTEMPTS(kind, o, new);                                                   \
    result;                                                                            \
  })
#define __COYOTE_NAND ~(__coyote_old & __coyote_v)
#define __COYOTE_MIN __coyote_v < __coyote_old ? __coyote_v : __coyote_old
#define __COYOTE_MAX __coyote_old < __coyote_v ? __coyote_v : __coyote_old

/* A sum or difference, of numbers with a fraction as a loop. */
#define __COYOTE_SUM(kind, result, new, builtin, p, v, o)                              \
  __extension__({                                                                      \
    __COYOTE_POINTER(p);                                                               \
    __COYOTE_LET(__coyote_v, v);                                                       \
    __COYOTE_TYPE(__coyote_p) __coyote_r;                                              \
    if (__COYOTE_IS_FLOAT(__COYOTE_TYPE(__coyote_p))) {                                \
      __COYOTE_ATTEMPTS(kind, o, new);                                                 \
      __coyote_r = result;                                                             \
    } else {                                                                           \
      __COYOTE_TELL(o);                                                                \
      __coyote_r = builtin(__coyote_p, __coyote_v, __COYOTE_GIVE(o));                  \
    }                                                                                  \
    __coyote_r;                                                                        \
  })

/* A relaxed fence is none. */
#define __COYOTE_FENCE(builtin, o)                                                     \
  __extension__({                                                                      \
    if (__builtin_constant_p(o)) {                                                     \
      if ((int)(o) != __ATOMIC_RELAXED) {                                              \
        __COYOTE_TELL(o);                                                              \
        builtin(__COYOTE_GIVE(o));                                                     \
      }                                                                                \
    } else {                                                                           \
      const int __coyote_o = (int)(o);                                                 \
      if (__coyote_o != __ATOMIC_RELAXED) {                                            \
        __COYOTE_TELL(__coyote_o);                                                     \
        builtin(__ATOMIC_SEQ_CST);                                                     \
      }                                                                                \
    }                                                                                  \
    (void)0;                                                                           \
  })

/* (pointer, value): always of one order. */
#define __COYOTE_SYNC(builtin, o, p, v)                                                \
  __extension__({                                                                      \
    __COYOTE_POINTER(p);                                                               \
    __COYOTE_LET(__coyote_v, v);                                                       \
    __COYOTE_TELL(o);                                                                  \
    builtin(__coyote_p, __coyote_v);                                                   \
  })
#define __COYOTE_SYNC_RELEASE(builtin, p)                                              \
  __extension__({                                                                      \
    __COYOTE_POINTER(p);                                                               \
    __COYOTE_TELL(__ATOMIC_RELEASE);                                                   \
    builtin(__coyote_p);                                                               \
  })
#define __COYOTE_SYNC_COMPARE(builtin, p, e, v)                                        \
  __extension__({                                                                      \
    __COYOTE_POINTER(p);                                                               \
    __COYOTE_TYPE(__coyote_p) __coyote_e = (e);                                        \
    __COYOTE_OPERAND(v);                                                               \
    __COYOTE_TELL(__ATOMIC_SEQ_CST);                                                   \
    builtin(__coyote_p, __coyote_e, __coyote_v);                                       \
  })

/* Selects by the number of arguments: the macro, or the builtin alone. */
#define __COYOTE_NINTH(a, b, c, d, e, f, g, h, ninth, ...) ninth
#define __COYOTE_IF_1(macro, plain, ...) \
  __COYOTE_NINTH(__VA_ARGS__, plain, plain, plain, plain, plain, plain, plain, macro, plain, )
#define __COYOTE_IF_2(macro, plain, ...) \
  __COYOTE_NINTH(__VA_ARGS__, plain, plain, plain, plain, plain, plain, macro, plain, plain, )
#define __COYOTE_IF_3(macro, plain, ...) \
  __COYOTE_NINTH(__VA_ARGS__, plain, plain, plain, plain, plain, macro, plain, plain, plain, )
#define __COYOTE_IF_4(macro, plain, ...) \
  __COYOTE_NINTH(__VA_ARGS__, plain, plain, plain, plain, macro, plain, plain, plain, plain, )
#define __COYOTE_IF_5(macro, plain, ...) \
  __COYOTE_NINTH(__VA_ARGS__, plain, plain, plain, macro, plain, plain, plain, plain, plain, )
#define __COYOTE_IF_6(macro, plain, ...) \
  __COYOTE_NINTH(__VA_ARGS__, plain, plain, macro, plain, plain, plain, plain, plain, plain, )

/* The builtins of <stdatomic.h> and <atomic>. */
#define __c11_atomic_load(...) \
  __COYOTE_IF_2(__COYOTE_c11_atomic_load, __c11_atomic_load, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_c11_atomic_load(a, b) __COYOTE_LOAD((__c11_atomic_load), a, b)
#define __c11_atomic_store(...) \
  __COYOTE_IF_3(__COYOTE_c11_atomic_store, __c11_atomic_store, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_c11_atomic_store(a, b, c) __COYOTE_STORE((__c11_atomic_store), a, b, c)
#define __c11_atomic_exchange(...) \
  __COYOTE_IF_3(__COYOTE_c11_atomic_exchange, __c11_atomic_exchange, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_c11_atomic_exchange(a, b, c) __COYOTE_STORE((__c11_atomic_exchange), a, b, c)
#define __c11_atomic_compare_exchange_strong(...) \
  __COYOTE_IF_5(__COYOTE_c11_atomic_compare_exchange_strong, __c11_atomic_compare_exchange_strong, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_c11_atomic_compare_exchange_strong(a, b, c, d, e) \
  __COYOTE_COMPARE((__c11_atomic_compare_exchange_strong), a, b, c, d, e)
#define __c11_atomic_compare_exchange_weak(...) \
  __COYOTE_IF_5(__COYOTE_c11_atomic_compare_exchange_weak, __c11_atomic_compare_exchange_weak, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_c11_atomic_compare_exchange_weak(a, b, c, d, e) \
  __COYOTE_COMPARE((__c11_atomic_compare_exchange_weak), a, b, c, d, e)
#define __c11_atomic_fetch_add(...) \
  __COYOTE_IF_3(__COYOTE_c11_atomic_fetch_add, __c11_atomic_fetch_add, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_c11_atomic_fetch_add(a, b, c) \
  __COYOTE_SUM(C11, __coyote_old, __coyote_old + __coyote_v, (__c11_atomic_fetch_add), a, b, c)
#define __c11_atomic_fetch_sub(...) \
  __COYOTE_IF_3(__COYOTE_c11_atomic_fetch_sub, __c11_atomic_fetch_sub, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_c11_atomic_fetch_sub(a, b, c) \
  __COYOTE_SUM(C11, __coyote_old, __coyote_old - __coyote_v, (__c11_atomic_fetch_sub), a, b, c)
#define __c11_atomic_fetch_and(...) \
  __COYOTE_IF_3(__COYOTE_c11_atomic_fetch_and, __c11_atomic_fetch_and, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_c11_atomic_fetch_and(a, b, c) __COYOTE_FETCH((__c11_atomic_fetch_and), a, b, c)
#define __c11_atomic_fetch_or(...) \
  __COYOTE_IF_3(__COYOTE_c11_atomic_fetch_or, __c11_atomic_fetch_or, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_c11_atomic_fetch_or(a, b, c) __COYOTE_FETCH((__c11_atomic_fetch_or), a, b, c)
#define __c11_atomic_fetch_xor(...) \
  __COYOTE_IF_3(__COYOTE_c11_atomic_fetch_xor, __c11_atomic_fetch_xor, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_c11_atomic_fetch_xor(a, b, c) __COYOTE_FETCH((__c11_atomic_fetch_xor), a, b, c)
#define __c11_atomic_fetch_nand(...) \
  __COYOTE_IF_3(__COYOTE_c11_atomic_fetch_nand, __c11_atomic_fetch_nand, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_c11_atomic_fetch_nand(a, b, c) \
  __COYOTE_LOOP(C11, __coyote_old, __COYOTE_NAND, a, b, c)
#define __c11_atomic_fetch_min(...) \
  __COYOTE_IF_3(__COYOTE_c11_atomic_fetch_min, __c11_atomic_fetch_min, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_c11_atomic_fetch_min(a, b, c) \
  __COYOTE_LOOP(C11, __coyote_old, __COYOTE_MIN, a, b, c)
#define __c11_atomic_fetch_max(...) \
  __COYOTE_IF_3(__COYOTE_c11_atomic_fetch_max, __c11_atomic_fetch_max, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_c11_atomic_fetch_max(a, b, c) \
  __COYOTE_LOOP(C11, __coyote_old, __COYOTE_MAX, a, b, c)
#define __c11_atomic_thread_fence(...) \
  __COYOTE_IF_1(__COYOTE_c11_atomic_thread_fence, __c11_atomic_thread_fence, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_c11_atomic_thread_fence(a) __COYOTE_FENCE((__c11_atomic_thread_fence), a)

/* GNU, with an order. */
#define __atomic_load_n(...) \
  __COYOTE_IF_2(__COYOTE_atomic_load_n, __atomic_load_n, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_atomic_load_n(a, b) __COYOTE_LOAD((__atomic_load_n), a, b)
#define __atomic_load(...) \
  __COYOTE_IF_3(__COYOTE_atomic_load, __atomic_load, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_atomic_load(a, b, c) __COYOTE_MOVE((__atomic_load), a, b, c)
#define __atomic_store_n(...) \
  __COYOTE_IF_3(__COYOTE_atomic_store_n, __atomic_store_n, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_atomic_store_n(a, b, c) __COYOTE_STORE((__atomic_store_n), a, b, c)
#define __atomic_exchange_n(...) \
  __COYOTE_IF_3(__COYOTE_atomic_exchange_n, __atomic_exchange_n, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_atomic_exchange_n(a, b, c) __COYOTE_STORE((__atomic_exchange_n), a, b, c)
#define __atomic_store(...) \
  __COYOTE_IF_3(__COYOTE_atomic_store, __atomic_store, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_atomic_store(a, b, c) __COYOTE_MOVE((__atomic_store), a, b, c)
#define __atomic_exchange(...) \
  __COYOTE_IF_4(__COYOTE_atomic_exchange, __atomic_exchange, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_atomic_exchange(a, b, c, d) __COYOTE_EXCHANGE((__atomic_exchange), a, b, c, d)
#define __atomic_compare_exchange_n(...) \
  __COYOTE_IF_6(__COYOTE_atomic_compare_exchange_n, __atomic_compare_exchange_n, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_atomic_compare_exchange_n(a, b, c, d, e, f) \
  __COYOTE_COMPARE_N((__atomic_compare_exchange_n), a, b, c, d, e, f)
#define __atomic_compare_exchange(...) \
  __COYOTE_IF_6(__COYOTE_atomic_compare_exchange, __atomic_compare_exchange, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_atomic_compare_exchange(a, b, c, d, e, f) \
  __COYOTE_COMPARE_P((__atomic_compare_exchange), a, b, c, d, e, f)
#define __atomic_fetch_add(...) \
  __COYOTE_IF_3(__COYOTE_atomic_fetch_add, __atomic_fetch_add, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_atomic_fetch_add(a, b, c) \
  __COYOTE_SUM(GNU, __coyote_old, __coyote_old + __coyote_v, (__atomic_fetch_add), a, b, c)
#define __atomic_fetch_sub(...) \
  __COYOTE_IF_3(__COYOTE_atomic_fetch_sub, __atomic_fetch_sub, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_atomic_fetch_sub(a, b, c) \
  __COYOTE_SUM(GNU, __coyote_old, __coyote_old - __coyote_v, (__atomic_fetch_sub), a, b, c)
#define __atomic_fetch_and(...) \
  __COYOTE_IF_3(__COYOTE_atomic_fetch_and, __atomic_fetch_and, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_atomic_fetch_and(a, b, c) __COYOTE_FETCH((__atomic_fetch_and), a, b, c)
#define __atomic_fetch_or(...) \
  __COYOTE_IF_3(__COYOTE_atomic_fetch_or, __atomic_fetch_or, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_atomic_fetch_or(a, b, c) __COYOTE_FETCH((__atomic_fetch_or), a, b, c)
#define __atomic_fetch_xor(...) \
  __COYOTE_IF_3(__COYOTE_atomic_fetch_xor, __atomic_fetch_xor, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_atomic_fetch_xor(a, b, c) __COYOTE_FETCH((__atomic_fetch_xor), a, b, c)
#define __atomic_fetch_nand(...) \
  __COYOTE_IF_3(__COYOTE_atomic_fetch_nand, __atomic_fetch_nand, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_atomic_fetch_nand(a, b, c) __COYOTE_LOOP(GNU, __coyote_old, __COYOTE_NAND, a, b, c)
#define __atomic_fetch_min(...) \
  __COYOTE_IF_3(__COYOTE_atomic_fetch_min, __atomic_fetch_min, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_atomic_fetch_min(a, b, c) __COYOTE_LOOP(GNU, __coyote_old, __COYOTE_MIN, a, b, c)
#define __atomic_fetch_max(...) \
  __COYOTE_IF_3(__COYOTE_atomic_fetch_max, __atomic_fetch_max, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_atomic_fetch_max(a, b, c) __COYOTE_LOOP(GNU, __coyote_old, __COYOTE_MAX, a, b, c)
#define __atomic_add_fetch(...) \
  __COYOTE_IF_3(__COYOTE_atomic_add_fetch, __atomic_add_fetch, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_atomic_add_fetch(a, b, c) \
  __COYOTE_SUM(GNU, __coyote_new, __coyote_old + __coyote_v, (__atomic_add_fetch), a, b, c)
#define __atomic_sub_fetch(...) \
  __COYOTE_IF_3(__COYOTE_atomic_sub_fetch, __atomic_sub_fetch, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_atomic_sub_fetch(a, b, c) \
  __COYOTE_SUM(GNU, __coyote_new, __coyote_old - __coyote_v, (__atomic_sub_fetch), a, b, c)
#define __atomic_and_fetch(...) \
  __COYOTE_IF_3(__COYOTE_atomic_and_fetch, __atomic_and_fetch, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_atomic_and_fetch(a, b, c) __COYOTE_FETCH((__atomic_and_fetch), a, b, c)
#define __atomic_or_fetch(...) \
  __COYOTE_IF_3(__COYOTE_atomic_or_fetch, __atomic_or_fetch, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_atomic_or_fetch(a, b, c) __COYOTE_FETCH((__atomic_or_fetch), a, b, c)
#define __atomic_xor_fetch(...) \
  __COYOTE_IF_3(__COYOTE_atomic_xor_fetch, __atomic_xor_fetch, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_atomic_xor_fetch(a, b, c) __COYOTE_FETCH((__atomic_xor_fetch), a, b, c)
#define __atomic_nand_fetch(...) \
  __COYOTE_IF_3(__COYOTE_atomic_nand_fetch, __atomic_nand_fetch, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_atomic_nand_fetch(a, b, c) __COYOTE_LOOP(GNU, __coyote_new, __COYOTE_NAND, a, b, c)
#define __atomic_min_fetch(...) \
  __COYOTE_IF_3(__COYOTE_atomic_min_fetch, __atomic_min_fetch, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_atomic_min_fetch(a, b, c) __COYOTE_LOOP(GNU, __coyote_new, __COYOTE_MIN, a, b, c)
#define __atomic_max_fetch(...) \
  __COYOTE_IF_3(__COYOTE_atomic_max_fetch, __atomic_max_fetch, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_atomic_max_fetch(a, b, c) __COYOTE_LOOP(GNU, __coyote_new, __COYOTE_MAX, a, b, c)
#define __atomic_test_and_set(...) \
  __COYOTE_IF_2(__COYOTE_atomic_test_and_set, __atomic_test_and_set, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_atomic_test_and_set(a, b) __COYOTE_LOAD((__atomic_test_and_set), a, b)
#define __atomic_clear(...) \
  __COYOTE_IF_2(__COYOTE_atomic_clear, __atomic_clear, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_atomic_clear(a, b) __COYOTE_LOAD((__atomic_clear), a, b)
#define __atomic_thread_fence(...) \
  __COYOTE_IF_1(__COYOTE_atomic_thread_fence, __atomic_thread_fence, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_atomic_thread_fence(a) __COYOTE_FENCE((__atomic_thread_fence), a)

/* The older builtins of GNU: full barriers, except the two for locks. */
#define __sync_fetch_and_add(...) \
  __COYOTE_IF_2(__COYOTE_sync_fetch_and_add, __sync_fetch_and_add, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_sync_fetch_and_add(a, b) \
  __COYOTE_SYNC((__sync_fetch_and_add), __ATOMIC_SEQ_CST, a, b)
#define __sync_fetch_and_sub(...) \
  __COYOTE_IF_2(__COYOTE_sync_fetch_and_sub, __sync_fetch_and_sub, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_sync_fetch_and_sub(a, b) \
  __COYOTE_SYNC((__sync_fetch_and_sub), __ATOMIC_SEQ_CST, a, b)
#define __sync_fetch_and_and(...) \
  __COYOTE_IF_2(__COYOTE_sync_fetch_and_and, __sync_fetch_and_and, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_sync_fetch_and_and(a, b) \
  __COYOTE_SYNC((__sync_fetch_and_and), __ATOMIC_SEQ_CST, a, b)
#define __sync_fetch_and_or(...) \
  __COYOTE_IF_2(__COYOTE_sync_fetch_and_or, __sync_fetch_and_or, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_sync_fetch_and_or(a, b) \
  __COYOTE_SYNC((__sync_fetch_and_or), __ATOMIC_SEQ_CST, a, b)
#define __sync_fetch_and_xor(...) \
  __COYOTE_IF_2(__COYOTE_sync_fetch_and_xor, __sync_fetch_and_xor, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_sync_fetch_and_xor(a, b) \
  __COYOTE_SYNC((__sync_fetch_and_xor), __ATOMIC_SEQ_CST, a, b)
#define __sync_fetch_and_nand(...) \
  __COYOTE_IF_2(__COYOTE_sync_fetch_and_nand, __sync_fetch_and_nand, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_sync_fetch_and_nand(a, b) \
  __COYOTE_LOOP(GNU, __coyote_old, __COYOTE_NAND, a, b, __ATOMIC_SEQ_CST)
#define __sync_add_and_fetch(...) \
  __COYOTE_IF_2(__COYOTE_sync_add_and_fetch, __sync_add_and_fetch, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_sync_add_and_fetch(a, b) \
  __COYOTE_SYNC((__sync_add_and_fetch), __ATOMIC_SEQ_CST, a, b)
#define __sync_sub_and_fetch(...) \
  __COYOTE_IF_2(__COYOTE_sync_sub_and_fetch, __sync_sub_and_fetch, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_sync_sub_and_fetch(a, b) \
  __COYOTE_SYNC((__sync_sub_and_fetch), __ATOMIC_SEQ_CST, a, b)
#define __sync_and_and_fetch(...) \
  __COYOTE_IF_2(__COYOTE_sync_and_and_fetch, __sync_and_and_fetch, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_sync_and_and_fetch(a, b) \
  __COYOTE_SYNC((__sync_and_and_fetch), __ATOMIC_SEQ_CST, a, b)
#define __sync_or_and_fetch(...) \
  __COYOTE_IF_2(__COYOTE_sync_or_and_fetch, __sync_or_and_fetch, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_sync_or_and_fetch(a, b) \
  __COYOTE_SYNC((__sync_or_and_fetch), __ATOMIC_SEQ_CST, a, b)
#define __sync_xor_and_fetch(...) \
  __COYOTE_IF_2(__COYOTE_sync_xor_and_fetch, __sync_xor_and_fetch, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_sync_xor_and_fetch(a, b) \
  __COYOTE_SYNC((__sync_xor_and_fetch), __ATOMIC_SEQ_CST, a, b)
#define __sync_nand_and_fetch(...) \
  __COYOTE_IF_2(__COYOTE_sync_nand_and_fetch, __sync_nand_and_fetch, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_sync_nand_and_fetch(a, b) \
  __COYOTE_LOOP(GNU, __coyote_new, __COYOTE_NAND, a, b, __ATOMIC_SEQ_CST)
#define __sync_bool_compare_and_swap(...) \
  __COYOTE_IF_3(__COYOTE_sync_bool_compare_and_swap, __sync_bool_compare_and_swap, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_sync_bool_compare_and_swap(a, b, c) \
  __COYOTE_SYNC_COMPARE((__sync_bool_compare_and_swap), a, b, c)
#define __sync_val_compare_and_swap(...) \
  __COYOTE_IF_3(__COYOTE_sync_val_compare_and_swap, __sync_val_compare_and_swap, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_sync_val_compare_and_swap(a, b, c) \
  __COYOTE_SYNC_COMPARE((__sync_val_compare_and_swap), a, b, c)
#define __sync_swap(...) __COYOTE_IF_2(__COYOTE_sync_swap, __sync_swap, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_sync_swap(a, b) __COYOTE_SYNC((__sync_swap), __ATOMIC_SEQ_CST, a, b)
#define __sync_lock_test_and_set(...) \
  __COYOTE_IF_2(__COYOTE_sync_lock_test_and_set, __sync_lock_test_and_set, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_sync_lock_test_and_set(a, b) \
  __COYOTE_SYNC((__sync_lock_test_and_set), __ATOMIC_ACQUIRE, a, b)
#define __sync_lock_release(...) \
  __COYOTE_IF_1(__COYOTE_sync_lock_release, __sync_lock_release, __VA_ARGS__)(__VA_ARGS__)
#define __COYOTE_sync_lock_release(a) __COYOTE_SYNC_RELEASE((__sync_lock_release), a)

#endif
