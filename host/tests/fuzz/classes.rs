//! Classes of effect that a step can have, each with the statements that have it.
//!
//! In a template, `$r` is the next place of what the thread keeps, `$k` is from 1 to 3, `$b` 0 or 1, `$s` from 0
//! to 2, `$v` a variable, `$t` the number of a thread, `$i` an offset that lies near the border of two granules,
//! `$n` a size, `$f` a name of a file; `{*}` is replaced by statements, `@` by the program's prefix. WebAssembly text has `?` for `$`.

use super::actions::{self, Draw};

/// See the module's documentation.
pub struct Class {
    pub name: &'static str,
    pub templates: &'static [&'static str],
    /// Draws what the model knows, too; then there are no templates.
    pub actions: Option<Draw>,
    /// C at the end of the first thread: looks at what `o` does not hold.
    pub tail: &'static str,
    /// Whether spurious wake-ups and failing try-locks mean something.
    pub faults: bool,
    /// Not with others in one program: it can end early, or never, or is in another language.
    pub alone: bool,
    /// Its statements are WebAssembly text, in which `%` is the number of the thread: C does not reach it.
    pub wat: bool,
}

const PLAIN: Class =
    Class { name: "", templates: &[], actions: None, tail: "", faults: false, alone: false, wat: false };

/// The class whose programs always have faults.
pub const FAULTS: &str = "faults";

pub static CLASSES: &[Class] = &[
    Class { name: "memory", actions: Some(actions::memory), ..PLAIN },
    Class { name: "modelled-atomics", actions: Some(actions::atomics), ..PLAIN },
    Class { name: "modelled-mutexes", actions: Some(actions::mutexes), ..PLAIN },
    Class { name: "modelled-semaphores", actions: Some(actions::semaphores), ..PLAIN },
    Class { name: "modelled-choices", actions: Some(actions::choices), ..PLAIN },
    Class {
        name: FAULTS,
        templates: &[
            "K($r, coyote_fault_point(\"a\"));",
            "if (coyote_fault_fail(\"b.one\")) { {*} }",
            "K($r, coyote_fault_value(\"b.two\", 3));",
            "coyote_fault_stop();",
            "K($r, pthread_mutex_trylock(&mutex[$b]) == 0 && !pthread_mutex_unlock(&mutex[$b]));",
            "{ void *block = malloc($k + 1); K($r, block != 0); free(block); }",
            "o.buffer[$i] = $k;",
            "K($r, o.buffer[$i]);",
        ],
        faults: true,
        ..PLAIN
    },
    Class {
        name: "bytes",
        templates: &[
            "o.buffer[$i] = $k;",
            "K($r, o.buffer[$i]);",
            "K($r, AT(unaligned_int, $i));",
            "AT(unaligned_int, $i) = $k * 0x01010101;",
            "AT(unaligned_short, $i) = $k * 0x0102;",
            "AT(unaligned_long, $i) = $k * 0x0101010101010101ll;",
            "K($r, AT(unaligned_short, $i));",
            "K($r, AT(unaligned_long, $i) >> 24);",
            "copy($i, $i, $n);",
            "fill($i, $k, $n);",
            "o.buffer[$i] += $k;",
        ],
        ..PLAIN
    },
    Class {
        name: "mixed-atomics",
        templates: &[
            "K($r, __atomic_load_n(&o.mixed.words[$b], 5));",
            "K($r, __atomic_load_n(&o.mixed.whole, 5) >> 16);",
            "K($r, __atomic_load_n(&o.mixed.bytes[$s], 5));",
            "__atomic_store_n(&o.mixed.bytes[$s], $k, 5);",
            "__atomic_store_n(&o.mixed.halves[$b], $k * 0x0101, 5);",
            "__atomic_store_n(&o.mixed.whole, $k * 0x0001000100010001ull, 5);",
            "K($r, __atomic_fetch_add(&o.mixed.halves[$s], $k, 5));",
            "K($r, __atomic_exchange_n(&o.mixed.bytes[$s], $k, 5));",
            "K($r, __atomic_fetch_or(&o.mixed.words[$b], $k << 8, 5));",
            "{ unsigned char e = $b; K($r, __atomic_compare_exchange_n(&o.mixed.bytes[$s], &e, $k, 0, 5, 5) * 1000 + e); }",
            "{ unsigned short e = $k; K($r, __atomic_compare_exchange_n(&o.mixed.halves[$b], &e, $k, 0, 5, 5) * 100000 + e); }",
            "{ unsigned e = $b; K($r, __atomic_compare_exchange_n(&o.mixed.words[$b], &e, $k, 0, 5, 5) * 1000000 + e); }",
            "K($r, o.mixed.bytes[$s]);",
            "o.mixed.bytes[$s] = $k;",
        ],
        ..PLAIN
    },
    Class {
        name: "mutex-kinds",
        templates: &[
            "pthread_mutex_lock(&mutex[$b]); {*} pthread_mutex_unlock(&mutex[$b]);",
            "K($r, pthread_mutex_lock(&checked)); {*} K($r, pthread_mutex_unlock(&checked));",
            "K($r, pthread_mutex_lock(&checked));",
            "K($r, pthread_mutex_unlock(&checked));",
            "pthread_mutex_lock(&recursive); {*} pthread_mutex_unlock(&recursive);",
            "K($r, pthread_mutex_trylock(&recursive));",
            "K($r, pthread_mutex_unlock(&recursive));",
            "if (!K($r, pthread_mutex_trylock(&mutex[$b]))) { {*} pthread_mutex_unlock(&mutex[$b]); }",
            "if (!K($r, lock_until(&mutex[$b], $k))) { {*} pthread_mutex_unlock(&mutex[$b]); }",
            "pthread_mutex_unlock(&mutex[$b]);",
            "K($r, pthread_mutex_destroy(&mutex[$b]));",
            "K($r, pthread_mutex_init(&mutex[$b], NULL));",
            "if (mtx_lock(&mtx) == thrd_success) { {*} mtx_unlock(&mtx); }",
            "K($r, mtx_trylock(&mtx));",
            "mtx_destroy(&mtx);",
            "mtx_init(&mtx, mtx_plain);",
            "o.$v = $k;",
            "K($r, o.$v);",
        ],
        faults: true,
        ..PLAIN
    },
    Class {
        name: "rwlocks",
        templates: &[
            "pthread_rwlock_rdlock(&rwlock); {*} pthread_rwlock_unlock(&rwlock);",
            "pthread_rwlock_wrlock(&rwlock); {*} pthread_rwlock_unlock(&rwlock);",
            "if (!K($r, pthread_rwlock_tryrdlock(&rwlock))) { {*} pthread_rwlock_unlock(&rwlock); }",
            "if (!K($r, pthread_rwlock_trywrlock(&rwlock))) { {*} pthread_rwlock_unlock(&rwlock); }",
            "if (!K($r, read_lock_until($k))) { {*} pthread_rwlock_unlock(&rwlock); }",
            "if (!K($r, write_lock_until($k))) { {*} pthread_rwlock_unlock(&rwlock); }",
            "K($r, pthread_rwlock_rdlock(&rwlock));",
            "pthread_rwlock_unlock(&rwlock);",
            "o.$v = $k;",
            "K($r, o.$v);",
        ],
        faults: true,
        ..PLAIN
    },
    Class {
        name: "semaphores",
        templates: &[
            "sem_wait(&sem[$b]);",
            "sem_wait(&sem[0]);",
            "K($r, sem_post(&sem[$s]));",
            "sem_post(&sem[0]);",
            "K($r, sem_trywait(&sem[$s]));",
            "K($r, wait_until($b, $k));",
            "{ int n; sem_getvalue(&sem[$s], &n); K($r, n); }",
            "K($r, sem_init(&sem[$b], 0, $b));",
            "K($r, sem_destroy(&sem[$b]));",
            "o.$v = $k;",
            "K($r, o.$v);",
        ],
        faults: true,
        ..PLAIN
    },
    Class {
        name: "condvars",
        templates: &[
            "pthread_mutex_lock(&mutex[0]); while (!o.flag) { pthread_cond_wait(&cond[$b], &mutex[0]); } {*} pthread_mutex_unlock(&mutex[0]);",
            "pthread_mutex_lock(&mutex[0]); pthread_cond_wait(&cond[$b], &mutex[0]); {*} pthread_mutex_unlock(&mutex[0]);",
            "pthread_mutex_lock(&mutex[0]); K($r, wait_for(&cond[$b], &mutex[0], $k)); {*} pthread_mutex_unlock(&mutex[0]);",
            "pthread_mutex_lock(&mutex[0]); while (!o.flag && !K($r, wait_for(&cond[0], &mutex[0], $k))) {} pthread_mutex_unlock(&mutex[0]);",
            "pthread_mutex_lock(&mutex[0]); o.flag = 1; pthread_cond_signal(&cond[$b]); pthread_mutex_unlock(&mutex[0]);",
            "pthread_mutex_lock(&mutex[0]); o.flag = $b; {*} pthread_cond_broadcast(&cond[$b]); pthread_mutex_unlock(&mutex[0]);",
            "pthread_cond_signal(&cond[$b]);",
            "pthread_cond_broadcast(&cond[$b]);",
            "pthread_mutex_lock(&mutex[1]); pthread_cond_wait(&cond[1], &mutex[1]); pthread_mutex_unlock(&mutex[1]);",
            "K($r, pthread_cond_destroy(&cond[$b]));",
            "mtx_lock(&mtx); K($r, cnd_wait(&cnd, &mtx)); mtx_unlock(&mtx);",
            "cnd_signal(&cnd);",
            "o.flag = 1;",
            "K($r, o.$v);",
            "o.$v = $k;",
        ],
        faults: true,
        ..PLAIN
    },
    Class {
        name: "barriers",
        templates: &[
            "K($r, pthread_barrier_wait(&barrier));",
            "K($r, pthread_barrier_wait(&barrier));",
            "K($r, pthread_barrier_init(&barrier, NULL, $k));",
            "K($r, pthread_barrier_destroy(&barrier));",
            "o.$v = $k;",
            "K($r, o.$v);",
        ],
        ..PLAIN
    },
    Class {
        name: "once",
        templates: &[
            "pthread_once(&once[$b], do_once); {*}",
            "pthread_once(&once[$b], do_flag);",
            "call_once(&flag, do_flag);",
            "o.$v = $k;",
            "K($r, o.$v);",
        ],
        ..PLAIN
    },
    Class {
        name: "own-values",
        templates: &[
            "own += $k; K($r, own);",
            "pthread_setspecific(key, (void *)$k);",
            "pthread_setspecific(other_key, (void *)$k);",
            "K($r, (intptr_t)pthread_getspecific(key));",
            "K($r, (intptr_t)pthread_getspecific(other_key));",
            "K($r, pthread_key_delete(key));",
            "{ pthread_key_t new; K($r, pthread_key_create(&new, destroyed)); pthread_setspecific(new, (void *)$k); }",
            "pthread_exit((void *)$k);",
            "errno = $k; {*} K($r, errno);",
            "K($r, o.y);",
            "o.y = $k;",
        ],
        ..PLAIN
    },
    Class {
        name: "threads",
        templates: &[
            "K($r, pthread_join(thread[$t], NULL));",
            "{ void *result = 0; pthread_join(thread[$t], &result); K($r, (intptr_t)result); }",
            "K($r, pthread_detach(thread[$t]));",
            "pthread_detach(pthread_self());",
            "if (o.$v == $k) { {*} pthread_exit((void *)$k); }",
            "pthread_cleanup_push(cleaned, (void *)$k); {*} pthread_cleanup_pop($b);",
            "pthread_cleanup_push(cleaned, (void *)$k); {*} pthread_exit(NULL); pthread_cleanup_pop(0);",
            "K($r, pthread_equal(pthread_self(), thread[$t]) != 0);",
            "pthread_setname_np(thread[$t], \"a name\");",
            "sched_yield();",
            "o.$v = $k;",
            "K($r, o.$v);",
        ],
        ..PLAIN
    },
    Class {
        name: "heap",
        templates: &[
            "{ int *p = pointer[$b]; if (p) { K($r, *(volatile int *)p); } }",
            "{ int *p = pointer[$b]; if (p) { *(volatile int *)p = $k; } }",
            "{ int *p = pointer[$b]; pointer[$b] = NULL; {*} free(p); }",
            "{ int *p = pointer[0]; {*} free(p); }",
            "{ int *p = malloc(4); *(volatile int *)p = $k; {*} pointer[$b] = p; }",
            "{ int *p = calloc(1, $n); pointer[$b] = p; }",
            "{ int *p = realloc(pointer[$b], $n); *(volatile int *)p = $k; pointer[$b] = p; }",
            "{ int *p = pointer[0]; pointer[0] = pointer[1]; pointer[1] = p; }",
            "{ char *p = (char *)pointer[0]; if (p) { K($r, ((volatile char *)p)[4]); } }",
            "{ int *p = malloc(4); *(volatile int *)p = $k; {*} K($r, *(volatile int *)p); free(p); }",
            "o.x = $k;",
            "K($r, o.x);",
        ],
        ..PLAIN
    },
    Class {
        name: "growth",
        templates: &[
            "K($r, __builtin_wasm_memory_grow(0, STACK_PAGES * $b) - pages);",
            "K($r, __builtin_wasm_memory_grow(0, STACK_PAGES + 1) - pages);",
            "K($r, __builtin_wasm_memory_size(0) - pages);",
            "K($r, *(volatile char *)(pages * 65536 + 8));",
            "*(volatile char *)(pages * 65536 + 8) = $k;",
            "K($r, *(volatile int *)(pages * 65536 - 2) >> 24);",
            "K($r, (uintptr_t)sbrk(0) / 65536 - pages);",
            "K($r, (uintptr_t)sbrk((STACK_PAGES + 1) * 65536) / 65536 - pages);",
            "K($r, allocate(200000) != NULL);",
            "o.x = $k;",
            "K($r, o.x);",
        ],
        ..PLAIN
    },
    Class {
        name: "no-memory",
        templates: &[
            "K($r, allocate(3 << 20) != NULL);",
            "K($r, allocate(1 << 20) != NULL);",
            "{ char *p = allocate(2 << 20); K($r, p != NULL); {*} free(p); }",
            "{ char *p = realloc(pointer[0], 3 << 20); K($r, p != NULL); pointer[0] = p; }",
            "K($r, __builtin_wasm_memory_grow(0, 40) > 0);",
            "o.x = $k;",
            "K($r, o.x);",
        ],
        ..PLAIN
    },
    Class {
        name: "stdio",
        templates: &[
            "K($r, fputc('a' + $k, file));",
            "K($r, fgetc(file));",
            "rewind(file);",
            "K($r, fseek(file, $k, SEEK_SET));",
            "K($r, ftell(file));",
            "fflush(file);",
            "fputs(\"yz\", file);",
            "K($r, feof(file) != 0);",
            "K($r, ungetc('0' + $k, file));",
            "fprintf(file, \"%d\", $k);",
            "setvbuf(file, NULL, _IONBF, 0);",
            "o.x = $k;",
            "K($r, o.x);",
        ],
        tail: "rewind(file); keep(0, 6, fgetc(file)); keep(0, 7, fgetc(file)); keep(0, 8, fgetc(file)); keep(0, 9, fgetc(file));",
        ..PLAIN
    },
    Class {
        name: "files",
        templates: &[
            "K($r, write(fd, \"$k$k\", 2));",
            "K($r, lseek(fd, $b, SEEK_SET));",
            "K($r, lseek(fd, 0, SEEK_CUR));",
            "K($r, get_byte());",
            "K($r, get_byte_at($b));",
            "K($r, pwrite(fd, \"$k\", 1, $b));",
            "K($r, ftruncate(fd, $k));",
            "K($r, put_byte(\"$f\", \"$k\", 0));",
            "K($r, put_byte(\"$f\", \"$k\", O_EXCL));",
            "K($r, put_byte(\"$f\", \"$k\", O_APPEND));",
            "K($r, size_of(\"$f\"));",
            "K($r, unlink(\"$f\"));",
            "K($r, rename(\"$f\", \"$f\"));",
            "K($r, mkdir(\"/d/n\", 0777));",
            "K($r, rmdir(\"/d/n\"));",
            "K($r, rmdir(\"/d\"));",
            "K($r, access(\"$f\", F_OK));",
            "K($r, link(\"$f\", \"$f\"));",
            "K($r, symlink(\"/shared\", \"$f\"));",
            "K($r, entries(\"/d\"));",
            "K($r, open(\"/shared\", O_RDONLY));",
            "K($r, close(fd));",
        ],
        tail: "keep(0, 7, size_of(\"/a\")); keep(0, 8, size_of(\"/d/b\")); keep(0, 9, size_of(\"/shared\"));",
        ..PLAIN
    },
    Class {
        name: "sockets",
        templates: &[
            "K($r, write(peer, \"$k$k\", 2));",
            "K($r, write(served, \"$k\", 1));",
            "K($r, take(served));",
            "K($r, take(peer));",
            "K($r, take(served));",
            "K($r, polled(served, peer, 0));",
            "K($r, polled(peer, served, $k));",
            "K($r, polled(LISTENER, served, -1));",
            "K($r, shutdown(served, SHUT_WR));",
            "K($r, shutdown(peer, SHUT_RDWR));",
            "K($r, close(peer));",
            "K($r, close(served));",
            "K($r, close(LISTENER));",
            "K($r, accepted());",
            "K($r, accepted());",
            "K($r, coyote_net_connect(LISTENER));",
            "K($r, coyote_net_connect(LISTENER));",
            "K($r, fcntl(served, F_SETFL, O_NONBLOCK));",
            "K($r, fcntl(LISTENER, F_SETFL, O_NONBLOCK));",
            "o.x = $k;",
            "K($r, o.x);",
        ],
        tail: "keep(0, 8, polled(served, peer, 0));",
        faults: true,
        ..PLAIN
    },
    Class {
        name: "directories",
        templates: &[
            "K($r, chdir(\"/d\"));",
            "K($r, chdir(\"/e\"));",
            "K($r, chdir(\"/\"));",
            "K($r, here());",
            "K($r, put_byte(\"b\", \"$k\", 0));",
            "K($r, size_of(\"b\"));",
            "K($r, unlink(\"b\"));",
            "K($r, mkdir(\"n\", 0777));",
            "K($r, entries(\".\"));",
        ],
        tail: "keep(0, 8, size_of(\"/d/b\")); keep(0, 9, size_of(\"/e/b\"));",
        ..PLAIN
    },
    Class {
        name: "process",
        templates: &[
            "atexit(left_1);",
            "atexit(left_2);",
            "GUARDED(setenv(\"A\", \"$k\", 1));",
            "GUARDED(setenv(\"A\", \"$k\", 0));",
            "GUARDED(unsetenv(\"A\"));",
            "GUARDED(K($r, variable()));",
            "srand($k);",
            "K($r, rand() % 100);",
            "K($r, arc4random() % 2);",
            "if (o.x == $k) { {*} exit(0); }",
            "if (o.x == $k) { exit($b); }",
            "if (o.x == $k) { abort(); }",
            "o.x = $k;",
            "K($r, o.x);",
        ],
        tail: "exit(0);",
        alone: true,
        ..PLAIN
    },
    Class {
        name: "clock",
        templates: &[
            "K($r, now());",
            "K($r, clock_now(CLOCK_REALTIME));",
            "K($r, clock_now(CLOCK_MONOTONIC));",
            "K($r, (int)coyote_now_ns());",
            "nap($k);",
            "K($r, wait_until(0, $k));",
            "sem_post(&sem[0]);",
            "if (!K($r, lock_until(&mutex[0], $k))) { {*} pthread_mutex_unlock(&mutex[0]); }",
            "pthread_mutex_lock(&mutex[0]); {*} pthread_mutex_unlock(&mutex[0]);",
            "pthread_mutex_lock(&mutex[0]); K($r, wait_for(&cond[0], &mutex[0], $k)); pthread_mutex_unlock(&mutex[0]);",
            "pthread_cond_signal(&cond[0]);",
            "o.x = $k;",
            "K($r, o.x);",
        ],
        ..PLAIN
    },
    Class {
        name: "futexes",
        templates: &[
            "K($r, futex_wait($b, -1));",
            "K($r, futex_wait(0, $k * 1000000000ll));",
            "K($r, futex_wait(1, 0));",
            "K($r, futex_wake($k));",
            "__atomic_store_n(&o.futex, $b, 5);",
            "o.futex = 1;",
            "K($r, now());",
            "K($r, o.x);",
            "o.x = $k;",
        ],
        ..PLAIN
    },
    Class {
        name: "choices",
        templates: &[
            "K($r, coyote_choose_int(3));",
            "if (coyote_choose_bool()) { {*} }",
            "K($r, coyote_choose_between(-1, 0));",
            "coyote_assume(o.$v == 0);",
            "coyote_assume(o.$v == $k);",
            "COYOTE_ASSERT(o.x != 3);",
            "if (coyote_choose_bool()) { pthread_exit(NULL); }",
            "o.$v = coyote_choose_bool();",
            "K($r, o.$v);",
            "o.$v = $k;",
        ],
        ..PLAIN
    },
    Class {
        name: "sections",
        templates: &[
            "__VERIFIER_atomic_begin(); {*} __VERIFIER_atomic_end();",
            "__VERIFIER_atomic_begin(); o.x = $k; {*} o.y = o.x; __VERIFIER_atomic_end();",
            "o.$v += $k;",
            "o.$v = $k;",
            "K($r, o.$v);",
        ],
        ..PLAIN
    },
    Class {
        name: "bounded-spins",
        templates: &[
            "for (int i = 0; i < 2 && !o.flag; i++) {}",
            "for (int i = 0; i < 2 && !o.flag; i++) { sched_yield(); }",
            "for (int i = 0; i < 3 && __atomic_exchange_n(&o.a, 1, 5); i++) {}",
            "{ int i = 0; while (compare_exchange(&o.a, 0, 1) < 10 && i < 2) { i++; } K($r, i); }",
            "__atomic_store_n(&o.a, 0, 5);",
            "o.flag = 1;",
            "K($r, o.$v);",
            "o.$v = $k;",
        ],
        ..PLAIN
    },
    Class {
        name: "spins",
        templates: &[
            "while (!o.flag) {}",
            "while (o.flag != $k) { sched_yield(); }",
            "while (__atomic_exchange_n(&o.a, 1, 5)) {} {*} __atomic_store_n(&o.a, 0, 5);",
            "while (compare_exchange(&o.b, 0, 1) < 10) { sched_yield(); } {*} o.b = 0;",
            "o.flag = $k;",
            "o.flag = 1;",
            "K($r, o.$v);",
            "o.$v = $k;",
        ],
        alone: true,
        ..PLAIN
    },
    Class {
        name: "tables",
        templates: &[
            "(table.set $t (i32.const ?s) (ref.func $three))",
            "(table.set $t (i32.const ?b) (ref.null func))",
            "(table.set $t (i32.const ?b) (table.get $t (i32.const ?s)))",
            "(call $keep (i32.const %) (i32.const ?r) (call_indirect $t (result i32) (i32.const ?s)))",
            "(call $keep (i32.const %) (i32.const ?r) (call_indirect $t (result i32) (i32.const ?k)))",
            "(call $keep (i32.const %) (i32.const ?r) (ref.is_null (table.get $t (i32.const ?s))))",
            "(call $keep (i32.const %) (i32.const ?r) (table.size $t))",
            "(call $keep (i32.const %) (i32.const ?r) (table.grow $t (ref.func $two) (i32.const ?k)))",
            "(table.fill $t (i32.const ?b) (ref.func $three) (i32.const ?k))",
            "(table.copy $t $t (i32.const ?b) (i32.const ?s) (i32.const 1))",
            "(table.init $t $list (i32.const ?b) (i32.const ?b) (i32.const 1))",
            "(elem.drop $list)",
            "(memory.init $text (i32.const 1280) (i32.const ?b) (i32.const ?k))",
            "(data.drop $text)",
            "(i32.store (i32.const 1200) (i32.const ?k))",
            "(call $keep (i32.const %) (i32.const ?r) (i32.load (i32.const 1200)))",
            "(call $keep (i32.const %) (i32.const ?r) (memory.grow (i32.const ?b)))",
            "(call $keep (i32.const %) (i32.const ?r) (memory.size))",
            "(call $keep (i32.const %) (i32.const ?r) (i32.load8_u (i32.const 131072)))",
        ],
        alone: true,
        wat: true,
        ..PLAIN
    },
    Class {
        name: "predicates",
        templates: &[
            "coyote_wait_until(x_is_at_least, (void *)$k);",
            "coyote_wait_until(x_and_y, 0); {*}",
            "coyote_wait_until(flag_under_lock, (void *)$b);",
            "coyote_wait_until(takes, 0); {*} __atomic_store_n(&o.a, 0, 5);",
            "coyote_wait_until(takes, 0); o.x++; {*} __atomic_store_n(&o.a, 0, 5);",
            "coyote_wait_until(buffer_has, (void *)$k);",
            "pthread_mutex_lock(&mutex[0]); {*} o.flag = $b; pthread_mutex_unlock(&mutex[0]);",
            "coyote_suppress(); {*} coyote_resume();",
            "coyote_suppress(); o.x = $k; {*} o.y = o.x; coyote_resume();",
            "coyote_interleave();",
            "coyote_point_read($b);",
            "coyote_point_write($b);",
            "fill($i, $k, $n);",
            "o.flag = 1;",
            "o.$v = $k;",
            "o.$v++;",
            "o.$v++;",
            "K($r, o.$v);",
        ],
        alone: true,
        ..PLAIN
    },
];

pub fn by_name(name: &str) -> &'static Class {
    CLASSES.iter().find(|class| class.name == name).unwrap_or_else(|| panic!("there is no class {name}"))
}
