;; Two workers grow memory by one and by two pages and store into the new pages. Which of them comes
;; first decides where each one's pages lie. One of them grows only if a choice says so.
(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "choose_bool" (func $choose_bool (result i32)))
  (memory (export "memory") 1 20)
  (table 2 funcref)
  (elem (i32.const 0) $grow)

  (func $grow (param $pages i32)
    (local $page i32)
    (if (i32.eq (local.get $pages) (i32.const 2))
      (then (br_if 1 (call $choose_bool))))
    (local.set $page (memory.grow (local.get $pages)))
    (i32.store (i32.shl (local.get $page) (i32.const 16)) (local.get $pages))
    (i32.store
      (i32.sub (i32.shl (memory.size) (i32.const 16)) (i32.const 4))
      (i32.add (local.get $pages) (i32.const 100)))
    (i32.store (i32.const 0x800) (local.get $page)))

  (func (export "coyote.test.grow")
    (local $a i32) (local $b i32)
    (local.set $a (call $spawn (i32.const 0) (i32.const 1) (i32.const 0) (i32.const 0)))
    (local.set $b (call $spawn (i32.const 0) (i32.const 2) (i32.const 0) (i32.const 0)))
    (call $join (local.get $a))
    (call $join (local.get $b))
    (i32.store (i32.const 0x804) (memory.size))))
