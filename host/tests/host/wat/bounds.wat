;; Guests without a bug that run into a bound, or have nothing to choose.
(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "choose_bool" (func $choose_bool (result i32)))
  (import "coyote" "assume" (func $assume (param i32)))
  (import "wasi_snapshot_preview1" "proc_exit" (func $proc_exit (param i32)))
  (memory (export "memory") 1)
  (table 2 funcref)
  (elem (i32.const 0) $spin $nothing)

  (func $spin (param i32) (loop $again (br $again)))
  (func $nothing (param i32))

  ;; One worker, no choice.
  (func (export "coyote.test.alone") (i32.store (i32.const 0x800) (i32.load (i32.const 0x804))))

  ;; A loop without a scheduling point, beside another worker.
  (func (export "coyote.test.endless")
    (drop (call $spawn (i32.const 0) (i32.const 0) (i32.const 0) (i32.const 0)))
    (call $join (call $spawn (i32.const 1) (i32.const 0) (i32.const 0) (i32.const 0))))

  ;; Recursion that uses none of the stack in memory.
  (func $deep (param i32) (result i32)
    (i32.add (i32.const 1) (call $deep (i32.add (local.get 0) (i32.const 1)))))
  (func (export "coyote.test.deep") (drop (call $choose_bool)) (drop (call $deep (i32.const 0))))

  ;; Grows until it is refused: 32 pages with --max-memory 2.
  (func (export "coyote.test.grow")
    (drop (call $choose_bool))
    (loop $again (br_if $again (i32.ne (memory.grow (i32.const 1)) (i32.const -1))))
    (if (i32.ne (memory.size) (i32.const 32)) (then unreachable)))

  ;; An assumption that never holds.
  (func (export "coyote.test.never") (drop (call $choose_bool)) (call $assume (i32.const 0)) unreachable)

  ;; The program ends itself, successfully.
  (func (export "coyote.test.exits") (drop (call $choose_bool)) (call $proc_exit (i32.const 0)) unreachable))
