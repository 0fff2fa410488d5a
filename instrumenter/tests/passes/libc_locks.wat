(module
  (import "env" "memory" (memory 1 4 shared))
  (import "wasi" "thread-spawn" (func $spawn (param i32) (result i32)))
  (func $__wait (param i32 i32 i32 i32))
  (func $__pthread_rwlock_rdlock (param i32) (result i32) (i32.const 0))
  (func $__pthread_rwlock_unlock (param i32) (result i32) (i32.const 0))
  ;; The lock of the keys is not even taken; what is read meanwhile is seen.
  (func $__pthread_tsd_run_dtors (result i32) (local i32)
    (drop (call $__pthread_rwlock_rdlock (i32.const 1040)))
    (local.set 0 (i32.load (i32.const 1044)))
    (drop (call $__pthread_rwlock_unlock (i32.const 1040)))
    (local.get 0))
  ;; The list is seen before the lock is taken for certain, and after it is released; a store of the thread's number is not.
  (func $__pthread_create (param $thread i32) (param $own i32) (local $r i32)
    (i32.store (i32.const 1032) (i32.const 0))
    (block $owned
      (br_if $owned (i32.eq (local.get $own) (i32.load offset=1024 (i32.const 0))))
      (br_if $owned (i32.eqz (local.tee $r
        (i32.atomic.rmw.cmpxchg offset=1024 (i32.const 0) (i32.const 0) (local.get $own)))))
      (loop $again
        (call $__wait (i32.const 1024) (i32.const 1028) (local.get $r) (i32.const 0))
        (br_if $again (local.tee $r
          (i32.atomic.rmw.cmpxchg offset=1024 (i32.const 0) (i32.const 0) (local.get $own))))))
    (i32.store (i32.const 1032) (i32.const 1))
    (i32.atomic.store offset=20 (local.get $thread) (call $spawn (local.get $thread)))
    (loop $again
      (br_if $again (i32.ne
        (local.tee $r (i32.load offset=1024 (i32.const 0)))
        (i32.atomic.rmw.cmpxchg offset=1024 (i32.const 0) (local.get $r) (i32.const 0)))))
    (i32.store (i32.const 1032) (i32.const 2)))
  ;; That the thread has ended is seen. It does not note that no other one is left.
  (func $thread (param $own i32) (param $thread i32) (local $r i32)
    (drop (i32.atomic.rmw.cmpxchg offset=28 (local.get $thread) (i32.const 2) (i32.const 1)))
    (if (i32.atomic.rmw.cmpxchg offset=1024 (i32.const 0) (i32.const 0) (local.get $own)) (then (return)))
    (i32.store (i32.const 1032) (i32.const 0))
    (i32.store8 offset=1036 (i32.const 0) (i32.const 255))
    (i32.atomic.store offset=28 (local.get $thread) (i32.const 0)))
  (func (export "wasi_thread_start") (param i32 i32)
    local.get 0
    local.get 1
    call $thread
    i32.const 1024
    i32.const 0
    i32.atomic.store
    i32.const 1024
    i32.const 1
    memory.atomic.notify
    drop))
