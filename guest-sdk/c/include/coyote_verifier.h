/* Declarations of SV-COMP's functions, for programs that use them without a declaration: coyote-cc includes
 * this file first, and defines COYOTE_DECLARE_NAME for each that the sources use and do not declare. */
#ifndef COYOTE_VERIFIER_H
#define COYOTE_VERIFIER_H

#ifdef __cplusplus
extern "C" {
#endif

#ifdef COYOTE_DECLARE___VERIFIER_assume
void __VERIFIER_assume(int);
#endif
#ifdef COYOTE_DECLARE___VERIFIER_assert
void __VERIFIER_assert(int);
#endif
#ifdef COYOTE_DECLARE___VERIFIER_error
void __VERIFIER_error(void) __attribute__((__noreturn__));
#endif
#ifdef COYOTE_DECLARE_reach_error
void reach_error(void) __attribute__((__noreturn__));
#endif
#ifdef COYOTE_DECLARE___VERIFIER_atomic_begin
void __VERIFIER_atomic_begin(void);
#endif
#ifdef COYOTE_DECLARE___VERIFIER_atomic_end
void __VERIFIER_atomic_end(void);
#endif
#ifdef COYOTE_DECLARE___VERIFIER_nondet_bool
#ifdef __cplusplus
bool __VERIFIER_nondet_bool(void);
#else
_Bool __VERIFIER_nondet_bool(void);
#endif
#endif
#ifdef COYOTE_DECLARE___VERIFIER_nondet_char
char __VERIFIER_nondet_char(void);
#endif
#ifdef COYOTE_DECLARE___VERIFIER_nondet_short
short __VERIFIER_nondet_short(void);
#endif
#ifdef COYOTE_DECLARE___VERIFIER_nondet_int
int __VERIFIER_nondet_int(void);
#endif
#ifdef COYOTE_DECLARE___VERIFIER_nondet_long
long __VERIFIER_nondet_long(void);
#endif
#ifdef COYOTE_DECLARE___VERIFIER_nondet_longlong
long long __VERIFIER_nondet_longlong(void);
#endif
#ifdef COYOTE_DECLARE___VERIFIER_nondet_uchar
unsigned char __VERIFIER_nondet_uchar(void);
#endif
#ifdef COYOTE_DECLARE___VERIFIER_nondet_unsigned_char
unsigned char __VERIFIER_nondet_unsigned_char(void);
#endif
#ifdef COYOTE_DECLARE___VERIFIER_nondet_ushort
unsigned short __VERIFIER_nondet_ushort(void);
#endif
#ifdef COYOTE_DECLARE___VERIFIER_nondet_uint
unsigned __VERIFIER_nondet_uint(void);
#endif
#ifdef COYOTE_DECLARE___VERIFIER_nondet_unsigned
unsigned __VERIFIER_nondet_unsigned(void);
#endif
#ifdef COYOTE_DECLARE___VERIFIER_nondet_u8
unsigned char __VERIFIER_nondet_u8(void);
#endif
#ifdef COYOTE_DECLARE___VERIFIER_nondet_u16
unsigned short __VERIFIER_nondet_u16(void);
#endif
#ifdef COYOTE_DECLARE___VERIFIER_nondet_u32
unsigned __VERIFIER_nondet_u32(void);
#endif
#ifdef COYOTE_DECLARE___VERIFIER_nondet_ulong
unsigned long __VERIFIER_nondet_ulong(void);
#endif
#ifdef COYOTE_DECLARE___VERIFIER_nondet_ulonglong
unsigned long long __VERIFIER_nondet_ulonglong(void);
#endif
#ifdef COYOTE_DECLARE___VERIFIER_nondet_size_t
__SIZE_TYPE__ __VERIFIER_nondet_size_t(void);
#endif
#ifdef COYOTE_DECLARE___VERIFIER_nondet_float
float __VERIFIER_nondet_float(void);
#endif
#ifdef COYOTE_DECLARE___VERIFIER_nondet_double
double __VERIFIER_nondet_double(void);
#endif
#ifdef COYOTE_DECLARE___VERIFIER_nondet_pointer
void *__VERIFIER_nondet_pointer(void);
#endif

#ifdef __cplusplus
}
#endif
#endif
