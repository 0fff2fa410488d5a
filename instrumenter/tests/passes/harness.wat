;; The harness's own accesses are no points; where it calls a test is marked, for each kind of test.
(module
  (memory 1)
  (func $_ZN4test16test_main_static17h0123456789abcdefE (export "_start")
    i32.const 2000
    i32.const 1
    i32.store
    i32.const 7
    call $_ZN4test28__rust_begin_short_backtrace17h0123456789abcdefE
    drop)
  (func $_ZN4test28__rust_begin_short_backtrace17h0123456789abcdefE (param i32) (result i32)
    call $app_test
    local.get 0)
  (func $app_test
    i32.const 2000
    i32.const 2
    i32.store))
