;; --points sync
(module
  (memory 1)
  (func $"_RNvMs_NtNtCs1cbpOjQgv0Q_3std6thread6threadNtB4_6Thread3new" (param i64 i32) (result i32)
    (i32.load (local.get 1)))
  ;; Of another type: an older release, whose argument is another one.
  (func $_ZN3std6thread6Thread3new17h0123456789abcdefE (param i32) (result i32) (local.get 0))
  (func (export "f") (result i32)
    (call $"_RNvMs_NtNtCs1cbpOjQgv0Q_3std6thread6threadNtB4_6Thread3new" (i64.const 1) (i32.const 8))))
