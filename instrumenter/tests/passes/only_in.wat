;; --points-only-in app::*
;; --stub host.print
(module
  (import "host" "print" (func $print (param i32)))
  (memory 1)
  (func $_ZN3app4push17h0123456789abcdefE (export "push")
    (drop (i32.load (i32.const 12))))
  (func $_ZN3std4push17h0123456789abcdefE (export "std")
    (call $print (i32.load (i32.const 12)))))
