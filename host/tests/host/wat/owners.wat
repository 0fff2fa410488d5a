;; Guests for the owner table. The cell at 0x1000 has a granule to itself, and so has each result.
(module
  (import "coyote" "spawn" (func $spawn (param i32 i32 i32 i32) (result i32)))
  (import "coyote" "join" (func $join (param i32)))
  (import "coyote" "yield" (func $yield))
  (import "coyote" "semaphore_wait" (func $wait (param i32 i64) (result i32)))
  (import "coyote" "semaphore_post" (func $post (param i32) (result i32)))
  (import "wasi_snapshot_preview1" "random_get" (func $random_get (param i32 i32) (result i32)))
  (import "wasi_snapshot_preview1" "fd_write" (func $fd_write (param i32 i32 i32 i32) (result i32)))
  (memory (export "memory") 1)
  (data (i32.const 0x800) "\00\10\00\00\01\00\00\00")
  (table 25 funcref)
  (elem (i32.const 0) $reads_twice $random $writes_twice $prints $waits $uses_block $uses_block_again
    $uses_stale_block $spins $sets_flag $reads_owned $publishes $reads_owned $publishes_first $announces $frees_announced
    $reads_across $writes_beyond $uses_given $posts_between_reads $waits_and_writes $waits_and_frees
    $posts_and_writes $joins_and_reads $waits_and_reads)

  ;; An allocator of one free block of 128 bytes, and more behind 0x8000.
  (func $malloc (param i32) (result i32) (local $p i32)
    (local.set $p (i32.load (i32.const 0x400)))
    (i32.store (i32.const 0x400) (i32.const 0))
    (if (i32.eqz (local.get $p))
      (then
        (i32.store (i32.const 0x404) (i32.add (i32.load (i32.const 0x404)) (i32.const 128)))
        (local.set $p (i32.add (i32.const 0x8000) (i32.load (i32.const 0x404))))))
    (i32.store (local.get $p) (i32.const 0))
    (local.get $p))
  (func $free (param i32)
    (i32.store (i32.const 0x400) (local.get 0)))

  (func $reads_twice (param i32)
    (i32.store (i32.const 0x2000) (i32.eqz (i32.load (i32.const 0x1000))))
    (i32.store (i32.const 0x2040) (i32.eqz (i32.load (i32.const 0x1000)))))
  (func $random (param i32)
    (drop (call $random_get (i32.const 0x1000) (i32.const 4))))
  (func $writes_twice (param i32)
    (i32.store (i32.const 0x1000) (i32.const 65))
    (i32.store (i32.const 0x1000) (i32.const 66)))
  (func $prints (param i32)
    (drop (call $fd_write (i32.const 1) (i32.const 0x800) (i32.const 1) (i32.const 0x2080))))
  (func $waits (param i32)
    (i32.store (i32.const 0x2000)
      (memory.atomic.wait32 (i32.const 0x1000) (i32.const 65) (i64.const 1))))

  ;; Half of what it reads is in a granule that is its own.
  (func $reads_across (param i32)
    (i32.store (i32.const 0x1000) (i32.const 0))
    (i64.store (i32.const 0x2000) (i64.load (i32.const 0x103c)))
    (i64.store (i32.const 0x2040) (i64.load (i32.const 0x103c))))
  (func $writes_beyond (param i32)
    (i32.store (i32.const 0x1040) (i32.const 1)))

  ;; Its second read belongs to the step that posts: whoever waits for that comes after both, as long as the
  ;; cell is no point.
  (func $posts_between_reads (param $cell i32)
    (drop (i32.load (local.get $cell)))
    (drop (call $post (i32.const 0x500)))
    (i32.store (i32.const 0x2000) (i32.load (local.get $cell))))
  (func $waits_and_writes (param $cell i32)
    (drop (call $wait (i32.const 0x500) (i64.const -1)))
    (drop (i32.load (local.get $cell)))
    (i32.store (local.get $cell) (i32.const 1)))
  (func $waits_and_frees (param $block i32)
    (drop (call $wait (i32.const 0x500) (i64.const -1)))
    (drop (i32.load (local.get $block)))
    (call $free (local.get $block)))
  (func $posts_and_writes (param i32)
    (drop (call $post (i32.const 0x500)))
    (i32.store (i32.const 0x1000) (i32.const 1)))
  (func $joins_and_reads (param $worker i32)
    (call $join (local.get $worker))
    (drop (i32.load (i32.const 0x1000))))
  (func $waits_and_reads (param i32)
    (drop (call $wait (i32.const 0x500) (i64.const -1)))
    (i32.store (i32.const 0x2000) (i32.load (i32.const 0x1000))))

  ;; A cell that was written before.
  (func $uses_given (param i32)
    (i32.store (i32.const 0x1000) (i32.add (i32.load (i32.const 0x1000)) (i32.const 1))))

  ;; The block is its worker's alone.
  (func $uses_block (param i32) (local $p i32)
    (local.set $p (call $malloc (i32.const 128)))
    (i32.store (local.get $p) (local.get 0))
    (i32.store offset=64 (local.get $p) (i32.load (local.get $p)))
    (call $free (local.get $p)))
  ;; A block that another worker may have had. It must keep what was written.
  (func $uses_block_again (param i32) (local $p i32)
    (local.set $p (call $malloc (i32.const 128)))
    (i32.store (local.get $p) (i32.const 1))
    (i32.store (i32.const 0x2080) (i32.load (local.get $p))))
  ;; Says where its block is, frees it, and writes to it once more.
  (func $publishes (param i32) (local $p i32)
    (local.set $p (call $malloc (i32.const 128)))
    (i32.store (local.get $p) (i32.const 5))
    (call $free (local.get $p))
    (i32.store (local.get $p) (i32.const 7)))
  (func $uses_stale_block (param i32) (local $p i32)
    (local.set $p (i32.load (i32.const 0x1000)))
    (if (local.get $p)
      (then
        (i32.store offset=64 (local.get $p) (i32.const 3))
        (i32.store (i32.const 0x2000) (i32.load offset=64 (local.get $p))))))
  ;; Says where its block is before it writes there and frees it.
  (func $publishes_first (param i32) (local $p i32)
    (local.set $p (call $malloc (i32.const 128)))
    (i32.store (i32.const 0x1000) (local.get $p))
    (i32.store offset=64 (local.get $p) (i32.const 5))
    (call $free (local.get $p)))
  ;; Says that it uses the block; what another worker frees then, and uses as a new one.
  (func $announces (param i32)
    (i32.store (i32.const 0x1040) (i32.const 1))
    (i32.store (i32.const 0x8100) (i32.const 3))
    (i32.store (i32.const 0x2000) (i32.load (i32.const 0x8100))))
  (func $frees_announced (param i32)
    (if (i32.load (i32.const 0x1040))
      (then
        (call $free (i32.const 0x80c0))
        (i32.store offset=64 (call $malloc (i32.const 128)) (i32.const 9)))))
  (func $reads_owned (param i32)
    (drop (i32.load (i32.const 0x1000))))

  ;; A flag that this worker alone has touched by then, and not for ever.
  (func $spins (param i32) (local $left i32)
    (i32.store (i32.const 0x1000) (i32.const 0))
    (local.set $left (i32.const 5000))
    (loop $again
      (br_if $again
        (i32.and
          (i32.eqz (i32.load (i32.const 0x1000)))
          (i32.ne (local.tee $left (i32.sub (local.get $left) (i32.const 1))) (i32.const 0)))))
    (i32.store (i32.const 0x2000) (local.get $left)))
  (func $sets_flag (param i32)
    (i32.store (i32.const 0x1000) (i32.const 1)))

  (func $both (param $a i32) (param $b i32) (local $first i32) (local $second i32)
    (local.set $first (call $spawn (local.get $a) (i32.const 1) (i32.const 0) (i32.const 0)))
    (local.set $second (call $spawn (local.get $b) (i32.const 2) (i32.const 0) (i32.const 0)))
    (call $join (local.get $first))
    (call $join (local.get $second)))

  (func $both_with (param $a i32) (param $b i32) (param $argument i32) (local $first i32) (local $second i32)
    (local.set $first
      (call $spawn (local.get $a) (local.get $argument) (i32.const 0) (i32.const 0)))
    (local.set $second
      (call $spawn (local.get $b) (local.get $argument) (i32.const 0) (i32.const 0)))
    (call $join (local.get $first))
    (call $join (local.get $second)))

  (func (export "coyote.test.host_writes") (call $both (i32.const 0) (i32.const 1)))
  (func (export "coyote.test.host_reads") (call $both (i32.const 2) (i32.const 3)))
  (func (export "coyote.test.futex") (call $both (i32.const 2) (i32.const 4)))
  ;; Only one worker uses what the first one wrote.
  (func (export "coyote.test.given")
    (i32.store (i32.const 0x1000) (i32.const 5))
    (i32.store (i32.const 0x1040) (i32.const 5))
    (call $join (call $spawn (i32.const 18) (i32.const 0) (i32.const 0) (i32.const 0)))
    (i32.store (i32.const 0x2000) (i32.load (i32.const 0x1000))))
  ;; Both workers only read it.
  (func (export "coyote.test.prepared")
    (i32.store (i32.const 0x1000) (i32.const 5))
    (call $both (i32.const 10) (i32.const 10)))
  ;; The first one writes again when the other one exists.
  (func (export "coyote.test.taken_back") (local $worker i32)
    (i32.store (i32.const 0x1000) (i32.const 5))
    (local.set $worker (call $spawn (i32.const 18) (i32.const 0) (i32.const 0) (i32.const 0)))
    (i32.store (i32.const 0x1000) (i32.const 7))
    (i32.store (i32.const 0x2000) (i32.load (i32.const 0x1000)))
    (call $join (local.get $worker)))
  (func (export "coyote.test.across") (call $both (i32.const 16) (i32.const 17)))
  (func (export "coyote.test.blocks") (call $both (i32.const 5) (i32.const 5)))
  (func (export "coyote.test.after_free") (call $both (i32.const 11) (i32.const 6)))
  (func (export "coyote.test.stale") (call $both (i32.const 13) (i32.const 7)))
  (func (export "coyote.test.freed_by_another")
    (i32.store (i32.const 0x404) (i32.const 64))
    (drop (call $malloc (i32.const 128)))
    (call $both (i32.const 14) (i32.const 15)))
  ;; Two workers read it before one of them writes it, or frees it.
  (func (export "coyote.test.read_and_written")
    (call $both_with (i32.const 19) (i32.const 20) (i32.const 0x1000)))
  (func (export "coyote.test.read_and_freed")
    (call $both_with (i32.const 19) (i32.const 21) (call $malloc (i32.const 128))))
  ;; One worker reads what another one wrote that it joined; a third one reads it without being ordered.
  (func (export "coyote.test.handed_on") (local $writer i32) (local $after i32) (local $beside i32)
    (local.set $writer (call $spawn (i32.const 22) (i32.const 0) (i32.const 0) (i32.const 0)))
    (local.set $after (call $spawn (i32.const 23) (local.get $writer) (i32.const 0) (i32.const 0)))
    (local.set $beside (call $spawn (i32.const 24) (i32.const 0) (i32.const 0) (i32.const 0)))
    (call $join (local.get $after))
    (call $join (local.get $beside)))
  (func (export "coyote.test.spin") (call $both (i32.const 8) (i32.const 9)))
  (func (export "coyote.test.readers") (call $both (i32.const 12) (i32.const 12))))
