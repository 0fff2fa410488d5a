;; A count that is only compared with a constant, and becomes negative within one round, since an inner loop without accesses
;; adds much to it: it must not be kept from growing.
;; run: --strategy random -i 1
;; exit: 2
;; line: assertion: wrapped
;; run: --strategy dpor
;; exit: 2
;; line: assertion: wrapped
;; run: --strategy stateful
;; exit: 2
;; line: assertion: wrapped
(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "fail" (func $fail (param i32 i32)))
  (memory (export "memory") 1)
  (data (i32.const 256) "wrapped")
  (table 2 funcref)
  (elem (i32.const 0) $a $b)
  (func $begin (param $entry i32) (result i32)
    (call $spawn (local.get $entry) (i32.const 0) (i32.const 0) (i32.const 0)))
  (func $a (param i32) (local $n i32) (local $j i32)
    (loop $l
      (local.set $n (i32.add (local.get $n) (i32.const 1)))
      (local.set $j (i32.const 0))
      (loop $work
        (local.set $n (i32.add (local.get $n) (i32.const 1000)))
        (br_if $work (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 1))) (i32.const 2200000))))
      (if (i32.lt_s (local.get $n) (i32.const 10)) (then (i32.store (i32.const 0x40) (i32.const 1))))
      (br_if $l (i32.eqz (i32.atomic.load (i32.const 0x10))))))
  (func $b (param i32) (i32.atomic.store (i32.const 0x10) (i32.const 1)))
  (func (export "coyote.test.t") (local $a i32) (local $b i32)
    (local.set $a (call $begin (i32.const 0)))
    (local.set $b (call $begin (i32.const 1)))
    (call $join (local.get $a))
    (call $join (local.get $b))
    (if (i32.load (i32.const 0x40)) (then (call $fail (i32.const 256) (i32.const 7)))))
  )
