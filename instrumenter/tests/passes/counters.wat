;; --counted Loop LocalGet Call If I32Const
;; The constant is the order that goes with the load, and goes itself: the instruction behind it is counted.
(module
  (import "coyote" "order" (func $order (param i32)))
  (import "coyote" "yield" (func $yield))
  (memory 1)
  (func (export "coyote.test.main") (local $n i32) (local $i i32)
    loop $again
      call $yield
      i32.const 114
      call $order
      local.get $n
      i32.atomic.load
      local.tee $i
      if
        br $again
      end
    end
    local.get $i
    drop))
