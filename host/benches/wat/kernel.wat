;; A sieve of Eratosthenes over 30,000 bytes, ten times: what a guest computes between choices.
(module
  (memory (export "memory") 1)
  (func $sieve (result i32)
    (local $i i32) (local $j i32) (local $count i32)
    (memory.fill (i32.const 0) (i32.const 1) (i32.const 30000))
    (local.set $i (i32.const 2))
    (loop $next
      (if (i32.load8_u (local.get $i))
        (then
          (local.set $count (i32.add (local.get $count) (i32.const 1)))
          (local.set $j (i32.add (local.get $i) (local.get $i)))
          (loop $strike
            (if (i32.lt_u (local.get $j) (i32.const 30000))
              (then
                (i32.store8 (local.get $j) (i32.const 0))
                (local.set $j (i32.add (local.get $j) (local.get $i)))
                (br $strike))))))
      (local.set $i (i32.add (local.get $i) (i32.const 1)))
      (br_if $next (i32.lt_u (local.get $i) (i32.const 30000))))
    (local.get $count))
  (func (export "coyote.test.kernel")
    (local $rounds i32)
    (local.set $rounds (i32.const 10))
    (loop $again
      (if (i32.ne (call $sieve) (i32.const 3245)) (then unreachable))
      (br_if $again (local.tee $rounds (i32.sub (local.get $rounds) (i32.const 1)))))))
