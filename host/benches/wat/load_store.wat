;; Two workers, each 100 times an atomic load and an atomic store of one variable; the first worker
;; starts and joins them. The stacks are static.
(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (memory (export "memory") 1)
  (table 1 funcref)
  (elem (i32.const 0) $work)
  (func $work (param i32)
    (local $left i32)
    (local.set $left (i32.const 100))
    (loop $again
      (i32.atomic.store (i32.const 64) (i32.add (i32.atomic.load (i32.const 64)) (i32.const 1)))
      (br_if $again (local.tee $left (i32.sub (local.get $left) (i32.const 1))))))
  (func (export "coyote.test.load_store")
    (local $a i32) (local $b i32)
    (local.set $a (call $spawn (i32.const 0) (i32.const 0) (i32.const 4096) (i32.const 8192)))
    (local.set $b (call $spawn (i32.const 0) (i32.const 0) (i32.const 8192) (i32.const 12288)))
    (call $join (local.get $a))
    (call $join (local.get $b))))
