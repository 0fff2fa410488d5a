// libc++ has functions of its own that are called as a builtin is, with as many commas: the macro of
// coyote_order.h is not for them.
#pragma clang system_header
#pragma push_macro("__atomic_load")
#undef __atomic_load
#include_next <__atomic/atomic_base.h>
#pragma pop_macro("__atomic_load")
