;; --stub env.read=-1,7
;; --stub env.log=
;; --stub env.same=2.5
;; --stub env.below=choose:3
;; --stub env.gone
;; Calls of file functions are announced with their descriptor; stubs answer without a call.
(module
  (import "wasi_snapshot_preview1" "fd_close" (func $close (param i32) (result i32)))
  (import "wasi_snapshot_preview1" "path_symlink" (func $symlink (param i32 i32 i32 i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_prestat_get" (func $prestat (param i32 i32) (result i32)))
  (import "env" "read" (func $read (param i32 f32) (result i32)))
  (import "env" "log" (func $log (param i32)))
  (import "env" "same" (func $same (result f64)))
  (import "env" "below" (func $below (result i64)))
  (import "env" "gone" (func $gone))
  (memory 1)
  (table 1 funcref)
  (elem (i32.const 0) $close)
  (func $files (export "files") (result i32)
    (drop (call $close (i32.const 4)))
    (drop (call $prestat (i32.const 3) (i32.const 8)))
    (call $symlink (i32.const 1) (i32.const 2) (i32.const 3) (i32.const 4) (i32.const 5)))
  (func $stubs (export "stubs") (result i32)
    (call $gone)
    (call $log (i32.const 1))
    (drop (call $same))
    (drop (call $below))
    (call $read (i32.const 1) (f32.const 2))))
