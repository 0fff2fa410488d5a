// libc++ has functions with the name and the number of arguments of a builtin: the macro of
// coyote_order.h must not replace them.
#pragma clang system_header
#pragma push_macro("__atomic_load")
#undef __atomic_load
#include_next <__atomic/atomic_base.h>
#pragma pop_macro("__atomic_load")
