(module
  (import "env" "memory" (memory 1 4 shared))
  ;; The rounds of both loops are one point, each time that the loop is entered.
  (func $"std::sys::sync::mutex::futex::Mutex::lock_contended" (param i32) (local i32 i32)
    i32.const -100
    local.set 1
    loop $spin
      local.get 0
      i32.atomic.load
      local.tee 2
      i32.const 1
      i32.eq
      if
        local.get 1
        i32.const 1
        i32.add
        local.tee 1
        br_if $spin
      end
    end
    loop $wait
      local.get 0
      i32.const 2
      i32.atomic.rmw.xchg
      if
        i32.const -100
        local.set 1
        loop $spin
          local.get 1
          i32.const 1
          i32.add
          local.tee 1
          i32.eqz
          br_if $wait
          local.get 0
          i32.atomic.load
          i32.const 1
          i32.eq
          br_if $spin
        end
        br $wait
      end
    end)
  ;; A round of two loads, unrolled, which writes its own frame.
  (global $__stack_pointer (mut i32) (i32.const 4096))
  (func $__wait (param i32 i32) (local i32 i32)
    global.get $__stack_pointer
    i32.const 16
    i32.sub
    local.set 2
    i32.const -100
    local.set 3
    loop $spin
      block $end
        local.get 1
        i32.load
        br_if $end
        local.get 0
        i32.load
        i32.eqz
        br_if $end
        local.get 2
        i32.const 0
        i32.store offset=12
        local.get 1
        i32.load
        br_if $end
        local.get 0
        i32.load
        i32.eqz
        br_if $end
        local.get 3
        i32.const 2
        i32.add
        local.tee 3
        br_if $spin
      end
    end)
  ;; Each round changes what others see.
  (func $"std::sys::sync::mutex::futex::Mutex::spin" (param i32)
    loop $spin
      local.get 0
      i32.const 0
      i32.store offset=8
      local.get 0
      i32.atomic.load
      br_if $spin
    end)
  ;; The program's own loop.
  (func $"app::Mutex::spin" (param i32)
    loop $spin
      local.get 0
      i32.atomic.load
      br_if $spin
    end)
  (func (export "_start")
    i32.const 64
    call $"std::sys::sync::mutex::futex::Mutex::lock_contended"
    i32.const 64
    i32.const 68
    call $__wait
    i32.const 64
    call $"std::sys::sync::mutex::futex::Mutex::spin"
    i32.const 64
    call $"app::Mutex::spin"))
