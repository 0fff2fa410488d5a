;; Workers and files: an update that is lost between a read and a write, a lock file, and files apart.
;;
;; Expected: `counter` fails (both workers may read 0), `exclusive` and `apart` pass.
(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "fail" (func $fail (param i32 i32)))
  (import "wasi_snapshot_preview1" "path_open"
    (func $path_open (param i32 i32 i32 i32 i32 i64 i64 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_read" (func $fd_read (param i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_pwrite" (func $fd_pwrite (param i32 i32 i32 i64 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_close" (func $fd_close (param i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0x800) "abn")
  (data (i32.const 0x900) "an update is lost")
  (data (i32.const 0x940) "a call failed")
  (data (i32.const 0x980) "not one of them made the lock file")
  (table 3 funcref)
  (elem (i32.const 0) $count $lock $apart)

  (func $must (param $error i32)
    (if (local.get $error) (then (call $fail (i32.const 0x940) (i32.const 13)))))

  ;; Each worker has 256 bytes at 0x1000: a buffer's address and length, a result, the buffer.
  (func $area (param $worker i32) (result i32) (local $at i32)
    (local.set $at (i32.add (i32.const 0x1000) (i32.shl (local.get $worker) (i32.const 8))))
    (i32.store (local.get $at) (i32.add (local.get $at) (i32.const 16)))
    (i32.store offset=4 (local.get $at) (i32.const 1))
    (local.get $at))

  ;; Opens the file whose name of one letter is at the address, and returns the descriptor.
  (func $open (param $worker i32) (param $name i32) (param $flags i32) (result i32)
    (call $must (call $path_open (i32.const 3) (i32.const 0) (local.get $name) (i32.const 1)
      (local.get $flags) (i64.const 0x42) (i64.const 0) (i32.const 0)
      (i32.add (call $area (local.get $worker)) (i32.const 8))))
    (i32.load offset=8 (call $area (local.get $worker))))

  (func $write (param $worker i32) (param $file i32) (param $byte i32) (local $at i32)
    (local.set $at (call $area (local.get $worker)))
    (i32.store8 offset=16 (local.get $at) (local.get $byte))
    (call $must (call $fd_pwrite (local.get $file) (local.get $at) (i32.const 1) (i64.const 0)
      (i32.add (local.get $at) (i32.const 8)))))

  (func $read (param $worker i32) (param $file i32) (result i32) (local $at i32)
    (local.set $at (call $area (local.get $worker)))
    (call $must (call $fd_read (local.get $file) (local.get $at) (i32.const 1)
      (i32.add (local.get $at) (i32.const 8))))
    (i32.load8_u offset=16 (local.get $at)))

  ;; Adds 1 to the number in file n.
  (func $count (param $worker i32) (local $file i32)
    (local.set $file (call $open (local.get $worker) (i32.const 0x802) (i32.const 0)))
    (call $write (local.get $worker) (local.get $file)
      (i32.add (call $read (local.get $worker) (local.get $file)) (i32.const 1)))
    (call $must (call $fd_close (local.get $file))))

  ;; Counts at 0xa00 + worker whether it made file n, which must not exist.
  (func $lock (param $worker i32)
    (i32.store8 offset=0xa00 (local.get $worker)
      (i32.eqz (call $path_open (i32.const 3) (i32.const 0) (i32.const 0x802) (i32.const 1) (i32.const 5)
        (i64.const 0x42) (i64.const 0) (i32.const 0)
        (i32.add (call $area (local.get $worker)) (i32.const 8))))))

  ;; Writes a file of its own, which was opened as descriptor 4 + worker.
  (func $apart (param $worker i32)
    (call $write (local.get $worker) (i32.add (i32.const 4) (local.get $worker))
      (i32.add (i32.const 0x30) (local.get $worker)))
    (if (i32.ne (call $read (local.get $worker) (i32.add (i32.const 4) (local.get $worker)))
          (i32.add (i32.const 0x30) (local.get $worker)))
      (then (call $fail (i32.const 0x900) (i32.const 17)))))

  (func $two (param $entry i32) (local $a i32) (local $b i32)
    (local.set $a (call $spawn (local.get $entry) (i32.const 0) (i32.const 0) (i32.const 0)))
    (local.set $b (call $spawn (local.get $entry) (i32.const 1) (i32.const 0) (i32.const 0)))
    (call $join (local.get $a))
    (call $join (local.get $b)))

  (func (export "coyote.test.counter") (local $file i32)
    (local.set $file (call $open (i32.const 2) (i32.const 0x802) (i32.const 1)))
    (call $write (i32.const 2) (local.get $file) (i32.const 0x30))
    (call $two (i32.const 0))
    (if (i32.ne (call $read (i32.const 2) (local.get $file)) (i32.const 0x32))
      (then (call $fail (i32.const 0x900) (i32.const 17)))))

  (func (export "coyote.test.exclusive")
    (call $two (i32.const 1))
    (if (i32.ne (i32.const 1)
          (i32.add (i32.load8_u (i32.const 0xa00)) (i32.load8_u (i32.const 0xa01))))
      (then (call $fail (i32.const 0x980) (i32.const 34)))))

  (func (export "coyote.test.apart")
    (drop (call $open (i32.const 2) (i32.const 0x800) (i32.const 1)))
    (drop (call $open (i32.const 2) (i32.const 0x801) (i32.const 1)))
    (call $two (i32.const 2))))
