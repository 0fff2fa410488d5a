;; --atomic-fn app::*
;; The tag becomes the module's own, the host is told of throws, and brackets are closed by exceptions too.
(module
  (import "env" "__cpp_exception" (tag $__cpp_exception (param i32)))
  (memory 1)
  (func $_ZN4test16test_main_static17h0123456789abcdefE (export "_start")
    i32.const 7
    call $_ZN4test28__rust_begin_short_backtrace17h0123456789abcdefE
    drop)
  (func $_ZN4test28__rust_begin_short_backtrace17h0123456789abcdefE (param i32) (result i32)
    local.get 0
    call $app::test
    i32.const 1)
  (func $app::test (param i32)
    i32.const 2000
    i32.const 2
    i32.store
    local.get 0
    throw $__cpp_exception))
