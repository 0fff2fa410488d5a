;; A program whose `_start` returns while a worker spins: where that ends the process, it is no hang.
(module (import "wasi" "thread-spawn" (func $spawn (param i32) (result i32))) (import "env" "memory" (memory 1 1 shared))
 (func (export "wasi_thread_start") (param i32 i32) (loop $l (br_if $l (i32.eqz (i32.atomic.load (i32.const 2048))))))
 (func (export "_start") (drop (call $spawn (i32.const 0)))))
