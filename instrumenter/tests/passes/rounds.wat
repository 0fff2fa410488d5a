(module
  (import "env" "memory" (memory 1 4 shared))
  (import "wasi_snapshot_preview1" "sched_yield" (func $yield (result i32)))
  (func $optimised (param $flag i32) (local $rounds i32)
    (loop $wait
      (if (i32.ge_u (local.get $rounds) (i32.const 7)) (then (drop (call $yield))))
      (local.set $rounds (i32.add (local.get $rounds) (i32.const 1)))
      (br_if $wait (i32.eqz (i32.atomic.load (local.get $flag))))))
  ;; The function of a build without optimisation.
  (func $"std::sync::mpmc::utils::Backoff::spin_heavy" (param $self i32)
    (if (i32.gt_u (i32.load (local.get $self)) (i32.const 6)) (then (drop (call $yield))))
    (i32.store (local.get $self) (i32.add (i32.load (local.get $self)) (i32.const 1))))
  ;; Somebody sees this count.
  (func $seen (param $flag i32) (result i32) (local $rounds i32)
    (loop $wait
      (if (i32.ge_u (local.get $rounds) (i32.const 7)) (then (drop (call $yield))))
      (local.set $rounds (i32.add (local.get $rounds) (i32.const 1)))
      (br_if $wait (i32.eqz (i32.atomic.load (local.get $flag)))))
    (local.get $rounds)))
