//! Unmodified C and C++ programs, compiled here by coyote-cc: tests that need no committed module.
//!
//! Without a clang that has a library for WASI, these tests print a message and pass.

use super::{guest, process};
use coyote_cc::Language;
use coyote_cc::build::Compiler;
use coyote_cc::toolchain::Toolchain;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

fn cache() -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join("coyote-cc")
}

/// Compiles a program, or says why not.
pub fn compile(language: Language, source: &Path, module: &Path, flags: &[&str]) -> Result<(), String> {
    let compiler = Toolchain::find().and_then(|toolchain| Compiler::new(toolchain, &cache()));
    let mut arguments: Vec<String> = flags.iter().map(|flag| flag.to_string()).collect();
    let text = |path: &Path| path.to_str().unwrap().to_string();
    arguments.extend([text(source), "-o".into(), text(module)]);
    let command = compiler.and_then(|compiler| compiler.command(language, &arguments));
    let output = command.map_err(|e| e.to_string())?.output().map_err(|e| e.to_string())?;
    let log = String::from_utf8_lossy(&output.stderr).into_owned();
    if output.status.success() { Ok(()) } else { Err(log) }
}

/// Whether programs in a language can be built here; prints a message once if not.
pub fn can(language: Language) -> bool {
    static C: OnceLock<bool> = OnceLock::new();
    static CPP: OnceLock<bool> = OnceLock::new();
    let (known, extension, text) = match language {
        Language::C => (&C, "c", "#include <pthread.h>\nint main(void) { return 0; }"),
        Language::Cpp => (&CPP, "cpp", "#include <thread>\nint main() { std::thread t; return 0; }"),
    };
    *known.get_or_init(|| {
        let directory = tempfile::tempdir().unwrap();
        let source = directory.path().join("empty").with_extension(extension);
        std::fs::write(&source, text).unwrap();
        let compiled = compile(language, &source, &directory.path().join("empty.wasm"), &[]);
        if let Err(why) = &compiled {
            eprintln!("skipped: no {language:?} programs can be built here: {why}");
        }
        compiled.is_ok()
    })
}

/// Compiles a program and explores it; `None` if it cannot be compiled here.
fn explore(language: Language, program: &str, flags: &[&str], options: &[&str]) -> Option<process::Ended> {
    if !can(language) {
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join(if language == Language::C { "program.c" } else { "program.cpp" });
    std::fs::write(&source, program).unwrap();
    let module = directory.path().join("program.wasm");
    compile(language, &source, &module, flags).unwrap_or_else(|log| panic!("{program}\n{log}"));
    let mut arguments = vec!["test", "program.wasm", "--seed", "0"];
    arguments.extend(options);
    Some(process::run(directory.path(), &arguments))
}

/// A compiled C program, and the directory that contains it.
pub struct Built {
    pub module: PathBuf,
    pub directory: tempfile::TempDir,
}

/// Compiles a C program; `None` if it cannot be compiled here.
pub fn build(program: &str, flags: &[&str]) -> Option<Built> {
    if !can(Language::C) {
        return None;
    }
    let directory = tempfile::tempdir().unwrap();
    let source = directory.path().join("program.c");
    std::fs::write(&source, program).unwrap();
    let module = directory.path().join("program.wasm");
    compile(Language::C, &source, &module, flags).unwrap_or_else(|log| panic!("{program}\n{log}"));
    Some(Built { module, directory })
}

/// The first line of the verdict.
fn verdict(ended: &process::Ended) -> &str {
    ended.stdout.lines().find(|l| l.starts_with("bug in test ")).unwrap_or("no bug")
}

#[test]
fn main_may_have_any_form() {
    let cases = [
        ("int main(void) { exit(3); }", 3),
        ("int main() { return 4; }", 4),
        ("main() { return 5; }", 5),
        ("void main() { exit(6); }", 6),
        ("void main(void) { }", 0),
        ("int main(int count, char **list) { return count * 10 + (list[2][0] - 'a'); }", 31),
        ("int main(count, list) int count; char **list; { return list[3] ? 1 : count; }", 3),
        ("void main(int count, char **list) { exit(list[1][0] == 'a' ? 7 : 1); }", 7),
        ("int main(int count, char **list, char **names) { return names[0][0] == 'N' ? 8 : 1; }", 8),
        ("void *main(void) { return 0; }", 0),
    ];
    for (main, code) in cases {
        let program = format!("#include <stdlib.h>\n{main}\n");
        let options = ["-i", "1", "--env", "N=1", "--", "a", "b"];
        let Some(ended) = explore(Language::C, &program, &["-std=gnu89", "-w"], &options) else { return };
        let wanted = match code {
            0 => "no bug".to_string(),
            _ => format!("bug in test main: exit-code: the program ended with exit code {code} (worker 0)"),
        };
        assert_eq!(verdict(&ended), wanted, "{main}: {ended:?}");
    }
}

/// clang refuses a `main` with invalid types, and says which types it must have.
#[test]
fn a_main_of_wrong_types_is_refused() {
    if !can(Language::C) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (source, module) = (directory.path().join("program.c"), directory.path().join("program.wasm"));
    std::fs::write(&source, "int main(int count, char *list) { return list[count]; }\n").unwrap();
    let log = compile(Language::C, &source, &module, &[]).unwrap_err();
    assert!(log.contains("second parameter of 'main' (argument array) must be of type 'char **'"), "{log}");
}

/// Programs for verifiers often use the verifiers' functions without a declaration, or declare them
/// differently.
#[test]
fn the_functions_of_verifiers_need_no_declaration() {
    let body = "int main(void) { int x = __VERIFIER_nondet_int(); __VERIFIER_assume(x == 3); \
                __VERIFIER_atomic_begin(); __VERIFIER_atomic_end(); if (x == 3) CALL; return 0; }";
    let declared = [
        "",
        "extern int __VERIFIER_nondet_int(); void __VERIFIER_assume(int); extern void __VERIFIER_error(void);\n",
        "void reach_error(void) __attribute__((noreturn)); void __VERIFIER_assume();\n",
        "extern void __VERIFIER_atomic_begin(); extern void __VERIFIER_atomic_end(); void __VERIFIER_assert(int);\n",
        "#include <stdlib.h>\nstatic void __VERIFIER_assume(unsigned char c) { if (!c) exit(0); }\n",
        "#define __VERIFIER_assume(condition) if (!(condition)) return 0\n",
    ];
    let calls = [
        ("__VERIFIER_error()", "__VERIFIER_error was called"),
        ("reach_error()", "reach_error was called"),
        ("__VERIFIER_assert(0)", "__VERIFIER_assert failed"),
    ];
    for (declarations, (call, said), standard) in declared
        .iter()
        .flat_map(|d| calls.iter().map(move |c| (d, c)))
        .zip(["-std=gnu17", "-std=gnu89"].iter().cycle())
        .map(|((d, c), s)| (d, c, s))
    {
        let program = format!("{declarations}{}", body.replace("CALL", call));
        let Some(ended) = explore(Language::C, &program, &[standard], &["-s", "dpor"]) else { return };
        let wanted = format!("bug in test main: assertion: {said} (worker 0)");
        assert_eq!(verdict(&ended), wanted, "{standard}, {program}: {ended:?}");
    }
    let program = "int main() { __VERIFIER_assert(__VERIFIER_nondet_bool()); }";
    let ended = explore(Language::Cpp, program, &[], &["-s", "dpor"]);
    assert!(ended.is_none_or(|e| verdict(&e).ends_with("__VERIFIER_assert failed (worker 0)")));
}

/// A call with other types than those of the function is no bug of the program: on other targets it works.
/// The linker reports the types.
#[test]
fn calls_of_other_types_are_a_limit() {
    if !can(Language::C) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    std::fs::write(at("one.c"), "int helper(int a, int b) { return a + b; }\n").unwrap();
    std::fs::write(at("two.c"), "int main() { return helper(1) == 77; }\n").unwrap();
    compile(Language::C, &at("one.c"), &at("one.o"), &["-c"]).unwrap();
    let compiler = Toolchain::find().and_then(|toolchain| Compiler::new(toolchain, &cache())).unwrap();
    let arguments = ["two.c", "one.o", "-o", "program.wasm", "-std=gnu89", "-w"].map(String::from);
    let mut command = compiler.command(Language::C, &arguments).unwrap();
    let linked = command.current_dir(directory.path()).output().unwrap();
    let log = String::from_utf8_lossy(&linked.stderr);
    assert!(linked.status.success() && log.contains("function signature mismatch: helper"), "{log}");

    let ended = process::run(directory.path(), &["test", "program.wasm", "--seed", "0"]);
    assert_eq!(ended.code, Some(7), "{ended:?}");
    let verdict = "no verdict on test main: helper is called with other types than it is defined with";
    assert!(ended.line("no verdict").starts_with(verdict), "{ended:?}");
    assert_eq!(verdict_of_replay(directory.path(), &ended), (Some(7), ". Reproduced: limit".to_string()));
}

/// The result of replaying the trace that a run wrote: exit code and verdict.
fn verdict_of_replay(directory: &Path, ended: &process::Ended) -> (Option<i32>, String) {
    let trace = ended.line("  trace:  ").trim_start_matches("  trace:  ");
    let replayed = process::run(directory, &["replay", "program.wasm", trace]);
    (replayed.code, replayed.line(". Reproduced").to_string())
}

/// A C++ function that ends without its `return` continues if its value is not used, at every level of
/// optimisation, so that the bug after it is found.
#[test]
fn functions_without_a_return_go_on() {
    let program = "
        #include <cassert>
        #include <pthread.h>
        static int counter;
        static int count() { counter++; }
        static void *run(void *) { count(); return nullptr; }
        int main() {
          pthread_t threads[2];
          for (auto &thread : threads) pthread_create(&thread, nullptr, run, nullptr);
          for (auto &thread : threads) pthread_join(thread, nullptr);
          assert(counter == 2);
        }\n";
    for level in ["-O0", "-O1"] {
        let Some(ended) = explore(Language::Cpp, program, &["-w", level], &["-s", "dpor"]) else { return };
        let wanted = "bug in test main: assertion: program.cpp:11: assertion failed: counter == 2 (worker 0)";
        // When optimised, the addition is one step, or is removed.
        assert!(verdict(&ended) == wanted || level == "-O1" && ended.code == Some(0), "{level}: {ended:?}");
    }
}

/// Headers of this machine that do not belong to the target.
#[test]
fn headers_that_cannot_be_had() {
    if !can(Language::C) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let (source, module) = (directory.path().join("program.c"), directory.path().join("program.wasm"));
    for (header, said) in [
        ("netdb.h", "WASI has no netdb.h"),
        ("setjmp.h", "WASI has no setjmp.h"),
        ("pwd.h", "'pwd.h' file not found"),
        ("sys/epoll.h", "'sys/epoll.h' file not found"),
    ] {
        std::fs::write(&source, format!("#include <{header}>\nint main(void) {{ return 0; }}\n")).unwrap();
        let log = compile(Language::C, &source, &module, &[]).unwrap_err();
        assert!(log.contains(said) && !log.contains("/usr/include/"), "{header}: {log}");
    }
}

/// A call of a function that the target does not have is reported with its name: no verdict.
#[test]
fn what_cannot_be_had_names_itself() {
    let cases = [
        ("pthread_cancel(pthread_self())", "pthread_cancel"),
        ("pthread_kill(pthread_self(), 15)", "pthread_kill"),
        ("pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST)", "pthread_mutexattr_setrobust"),
        ("sem_open(\"/name\", 0)", "sem_open"),
        ("sem_close(0)", "sem_close"),
        ("sem_unlink(\"/name\")", "sem_unlink"),
    ];
    for (call, name) in cases {
        let program = format!(
            "#include <pthread.h>\n#include <semaphore.h>\n\
             int main(void) {{ pthread_mutexattr_t attributes; (void)attributes; {call}; return 0; }}\n"
        );
        let Some(ended) = explore(Language::C, &program, &[], &["-i", "1"]) else { return };
        assert_eq!(ended.code, Some(7), "{call}: {ended:?}");
        let verdict = ended.line("no verdict on test main: the guest asks for ");
        assert!(verdict.contains(name), "{call}: {ended:?}");
    }
}

/// Explores a file below `programs`.
fn explore_file(name: &str, flags: &[&str], options: &[&str]) -> Option<process::Ended> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/host/programs").join(name);
    let language = if name.ends_with(".c") { Language::C } else { Language::Cpp };
    let standard = if language == Language::C { "-std=gnu17" } else { "-std=c++20" };
    let flags = [&["-O1", standard], flags].concat();
    explore(language, &std::fs::read_to_string(path).unwrap(), &flags, options)
}

/// State that libraries built without threads share between all threads does no harm (see `UNGUARDED` and
/// `FileFunction` of the instrumenter), and neither do other things that correct programs do.
#[test]
fn correct_programs_pass() {
    for name in ["opens.c", "libc.c", "pointers.cpp", "once.cpp", "barrier.cpp", "returns.c", "memory.c"] {
        for strategy in ["portfolio", "dpor"] {
            let options = ["-s", strategy, "-i", "3000", "--leaks", "--env", "A=1", "--races", "some"];
            let Some(ended) = explore_file(name, &[], &options) else { return };
            let ok = ended.code == Some(0) || ended.code == Some(5);
            assert!(ok && verdict(&ended) == "no bug", "{name} {strategy}: {ended:?}");
        }
    }
}

#[test]
fn what_looks_like_it_is_a_bug() {
    for (name, flags, message) in [
        // The first worker has ended, but the process has not.
        ("returns.c", &["-DEXITS"][..], "deadlock: 1 worker is blocked"),
        ("initialisers.c", &[], "deadlock: "),
        ("recursion.c", &[], "stack-overflow: "),
    ] {
        let Some(ended) = explore_file(name, flags, &[]) else { return };
        let expected = format!("bug in test main: {message}");
        assert!(verdict(&ended).starts_with(&expected), "{name}: {ended:?}");
    }
}

/// Each call on files is a step, and other workers can run in between.
#[test]
fn a_file_can_appear_between_two_calls() {
    for strategy in ["portfolio", "dpor"] {
        let Some(ended) = explore_file("claims.c", &[], &["-s", strategy]) else { return };
        assert_eq!(verdict(&ended), "bug in test main: assertion: abort was called (worker 0)", "{ended:?}");
    }
}

/// Each function of pthread.h is one step, whatever the optimiser does. (The function that every program here
/// calls links the library, and with it the handlers of exit.)
#[test]
fn a_call_is_one_step() {
    let steps = |level: &str, calls: &str| {
        let program = format!(
            "#include <pthread.h>\n#include <semaphore.h>\n\
             static pthread_mutex_t m = PTHREAD_MUTEX_INITIALIZER, r = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;\n\
             static pthread_cond_t c; static pthread_rwlock_t w; static sem_t s;\n\
             int main(void) {{ pthread_self(); sem_init(&s, 0, 0); {calls} return 0; }}\n"
        );
        let ended =
            explore(Language::C, &program, &[level, "-w"], &["-i", "1", "--strategy", "random", "--stats"])?;
        let line = ended.line("..... Steps in fair terminating schedules: ");
        Some(line.split_whitespace().nth(6).unwrap().parse::<i64>().unwrap())
    };
    let cases = [
        ("pthread_mutex_lock(&m); pthread_mutex_unlock(&m);", 2),
        ("pthread_mutex_lock(&r); pthread_mutex_trylock(&r);", 2),
        ("pthread_rwlock_rdlock(&w); pthread_rwlock_unlock(&w);", 2),
        ("sem_post(&s); sem_wait(&s);", 2),
        ("pthread_cond_signal(&c);", 1),
        ("sched_yield();", 1),
        ("pthread_setspecific(0, &m); pthread_self(); pthread_getspecific(0);", 1),
    ];
    for level in ["-O0", "-O2"] {
        let Some(none) = steps(level, "") else { return };
        for (calls, wanted) in cases {
            assert_eq!(steps(level, calls).unwrap() - none, wanted, "{level}: {calls}");
        }
    }
}

/// If a wasm-opt is installed, clang's driver optimises the linked module and would inline the calls of a
/// step.
#[cfg(unix)]
#[test]
fn nobody_optimises_what_is_linked() {
    use std::os::unix::fs::PermissionsExt;
    if !can(Language::C) {
        return;
    }
    let directory = tempfile::tempdir().unwrap();
    let at = |name: &str| directory.path().join(name);
    let write = |name: &str, text: &str| std::fs::write(at(name), text).unwrap();
    write("program.c", "int main(void) { return 0; }\n");
    write("wasm-opt", "#!/bin/sh\ntouch \"$(dirname \"$0\")/ran\"\n");
    std::fs::set_permissions(at("wasm-opt"), std::fs::Permissions::from_mode(0o755)).unwrap();
    let path = std::env::var_os("PATH").unwrap_or_default();
    let path = [directory.path().to_path_buf()].into_iter().chain(std::env::split_paths(&path));
    let path = std::env::join_paths(path).unwrap();
    let run = |mut command: Command| {
        let output = command.current_dir(directory.path()).env("PATH", &path).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        std::fs::remove_file(at("ran")).is_ok()
    };
    let toolchain = Toolchain::find().unwrap();
    let mut plain = Command::new(&toolchain.clang);
    plain.args(["--target=wasm32-wasi", "-O2", "program.c", "-o", "program.wasm"]);
    assert!(run(plain), "the driver runs it on its own");
    let compiler = Compiler::new(toolchain, &cache()).unwrap();
    for line in ["-O2 program.c -o program.wasm", "-O2 -c program.c", "-O2 program.o -o program.wasm"] {
        let arguments: Vec<String> = line.split(' ').map(str::to_string).collect();
        assert!(!run(compiler.command(Language::C, &arguments).unwrap()), "{line}");
    }
}

/// The report contains what a program wrote before it failed.
#[test]
fn ends_of_a_program_are_bugs() {
    let cases = [
        ("assert(1 + 1 == 3)", "assertion: program.c:4: assertion failed: 1 + 1 == 3 (worker 0)"),
        ("abort()", "assertion: abort was called (worker 0)"),
        ("reach_error()", "assertion: reach_error was called (worker 0)"),
        ("__VERIFIER_error()", "assertion: __VERIFIER_error was called (worker 0)"),
        (
            "pthread_t t = pthread_self(); pthread_detach(t); pthread_join((pthread_t)malloc(99), 0)",
            "misuse: pthread_join: there is no such thread; was it joined? (worker 0)",
        ),
    ];
    for (call, wanted) in cases {
        let program = format!(
            "#include <assert.h>\n#include <pthread.h>\n#include <stdio.h>\n#include <stdlib.h>\n\
             void reach_error(void), __VERIFIER_error(void);\n\
             int main(void) {{ printf(\"before\");\n#line 4\n{call}; return 0; }}\n"
        );
        let Some(ended) = explore(Language::C, &program, &[], &["-i", "1"]) else { return };
        assert_eq!(verdict(&ended), format!("bug in test main: {wanted}"), "{ended:?}");
        assert!(ended.stdout.contains("worker 0: before"), "{ended:?}");
        assert!(ended.stdout.contains("at main (program.c:4:"), "{ended:?}");
    }
}

/// A test begins with the sync objects and the time at the end of its setup.
#[test]
fn a_test_begins_where_its_setup_ended() {
    let program = "
        #include <assert.h>
        #include <coyote.h>
        #include <pthread.h>
        #include <semaphore.h>
        #include <time.h>
        #include <unistd.h>
        static sem_t places;
        static pthread_mutex_t mutex;
        static pthread_barrier_t both;
        static time_t began;
        static void *enters(void *unused) {
            sem_wait(&places);
            pthread_barrier_wait(&both);
            return pthread_mutex_trylock(&mutex) ? unused : (void *)1;
        }
        COYOTE_SETUP {
            pthread_mutexattr_t recursive;
            pthread_mutexattr_init(&recursive);
            pthread_mutexattr_settype(&recursive, PTHREAD_MUTEX_RECURSIVE);
            pthread_mutex_init(&mutex, &recursive);
            pthread_mutex_lock(&mutex);
            pthread_barrier_init(&both, 0, 2);
            sem_init(&places, 0, 1);
            sleep(7);
            began = time(0);
        }
        COYOTE_TEST(continues) {
            pthread_t thread;
            void *took;
            pthread_create(&thread, 0, enters, 0);
            pthread_barrier_wait(&both);
            pthread_join(thread, &took);
            assert(!took && time(0) >= began);
            pthread_mutex_lock(&mutex);
            pthread_mutex_unlock(&mutex);
            assert(pthread_mutex_unlock(&mutex) == 0);
            int value;
            assert(sem_getvalue(&places, &value) == 0 && value == 0);
        }
    ";
    let reactor = ["-mexec-model=reactor"];
    for strategy in ["random", "dpor", "stateful"] {
        let options = ["-s", strategy, "-i", "200", "--test", "continues"];
        let Some(ended) = explore(Language::C, program, &reactor, &options) else { return };
        assert_eq!((ended.code, verdict(&ended)), (Some(0), "no bug"), "{strategy}: {ended:?}");
    }
    let program = "
        #include <coyote.h>
        #include <pthread.h>
        static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        static void *takes(void *unused) { pthread_mutex_lock(&mutex); return unused; }
        COYOTE_SETUP {
            pthread_t thread;
            pthread_create(&thread, 0, takes, 0);
            pthread_join(thread, 0);
        }
        COYOTE_TEST(never) {}
    ";
    let Some(ended) = explore(Language::C, program, &reactor, &["--test", "never"]) else { return };
    assert_eq!(ended.code, Some(1), "{ended:?}");
    assert!(ended.stderr.contains("worker 0.0 has ended and still holds a lock"), "{ended:?}");
}

/// Sections and functions that are atomic by SV-COMP's rules, chosen values and assumptions: verified by a
/// search, and refuted if a section is missing.
#[test]
fn sv_comp_programs_are_verified() {
    let program = |begin: &str, name: &str| {
        format!(
            "#include <pthread.h>\n\
             void reach_error(void); int __VERIFIER_nondet_int(void); void __VERIFIER_assume(int);\n\
             void __VERIFIER_atomic_begin(void); void __VERIFIER_atomic_end(void);\n\
             int x, y;\n\
             void {name}(int by) {{ y = y + by; }}\n\
             void *thread(void *unused) {{ {begin} {name}(1); return unused; }}\n\
             int main(void) {{ pthread_t one, two; int n = __VERIFIER_nondet_int();\n\
             __VERIFIER_assume(n == 1 || n == 2);\n\
             pthread_create(&one, 0, thread, 0); if (n == 2) pthread_create(&two, 0, thread, 0);\n\
             pthread_join(one, 0); if (n == 2) pthread_join(two, 0);\n\
             if (x != n || y != n) reach_error(); return 0; }}\n"
        )
    };
    let atomic = "__VERIFIER_atomic_begin(); x = x + 1; __VERIFIER_atomic_end();";
    let cases = [
        (atomic, "__VERIFIER_atomic_add", "no bug", Some(0)),
        ("x = x + 1;", "__VERIFIER_atomic_add", "assertion: reach_error was called", Some(2)),
        (atomic, "add", "assertion: reach_error was called", Some(2)),
    ];
    for (begin, name, wanted, code) in cases {
        let options = ["--strategy", "dpor", "-i", "10000"];
        let Some(ended) = explore(Language::C, &program(begin, name), &["-O0"], &options) else { return };
        assert!(verdict(&ended).contains(wanted), "{begin} {name}: {ended:?}");
        assert_eq!(ended.code, code, "{begin} {name}: {ended:?}");
    }
}

/// A program that throws may be correct if it catches the exception: no verdict.
#[test]
fn a_throw_is_reported_with_its_type_and_its_stack() {
    let program = "#include <stdexcept>\n#include <vector>\n\
        static int third(const std::vector<int> &list) {\n  if (list.size() < 3) throw std::out_of_range(\"too short\");\n\
        return list[2]; }\n\
        int main() { try { return third({1, 2}); } catch (const std::exception &) { return 0; } }\n";
    let Some(ended) = explore(Language::Cpp, program, &["-O0"], &["-i", "1"]) else { return };
    assert_eq!(ended.code, Some(7), "{ended:?}");
    assert_eq!(
        ended.line("no verdict"),
        "no verdict on test main: the guest asks for exceptions (it throws std::out_of_range: too short), which \
         cannot be had here (worker 0)"
    );
    assert!(ended.stdout.contains("(program.cpp:4:24)"), "{ended:?}");
}

/// Threads of C++'s library, and a static variable that two threads initialise.
#[test]
fn cpp_threads_are_explored() {
    let program = |guard: &str| {
        format!(
            "#include <atomic>\n#include <cassert>\n#include <condition_variable>\n#include <future>\n\
             #include <mutex>\n#include <shared_mutex>\n#include <thread>\n\
             static std::mutex lock; static std::condition_variable changed; static std::shared_mutex shared;\n\
             static int made, sum; static bool ready; static std::atomic<int> ended{{0}};\n\
             struct Made {{ Made() {{ made = made + 1; }} }};\n\
             struct Ended {{ int n = 1; ~Ended() {{ ended += n; }} }};\n\
             static thread_local Ended own;\n\
             static void work() {{ static Made once; own.n++;\n\
               {{ std::shared_lock<std::shared_mutex> reading(shared); }}\n\
               {{ {guard} sum = sum + 1; }}\n\
               {{ std::lock_guard<std::mutex> guard(lock); ready = true; }} changed.notify_one(); }}\n\
             int main() {{ std::thread one(work), two(work);\n\
               {{ std::unique_lock<std::mutex> guard(lock); changed.wait(guard, [] {{ return ready; }}); }}\n\
               one.join(); two.join(); assert(made == 1); assert(ended == 4);\n\
               assert(std::async(std::launch::async, [] {{ return 5; }}).get() == 5);\n\
               assert(sum == 2); return 0; }}\n"
        )
    };
    let right = program("std::lock_guard<std::mutex> guard(lock);");
    let options = ["-i", "300"];
    let Some(ended) = explore(Language::Cpp, &right, &["-std=c++17"], &options) else { return };
    assert_eq!(ended.code, Some(0), "{ended:?}");
    for (races, bug) in [("off", "assertion failed: sum == 2"), ("some", "which nothing orders with")] {
        let options = ["-i", "1000", "--races", races];
        let Some(ended) = explore(Language::Cpp, &program(""), &["-std=c++17"], &options) else { return };
        assert!(verdict(&ended).contains(bug), "{ended:?}");
    }
}

/// An ordinary project of several files, built by CMake with the toolchain file, explored by its own CTest.
/// If its option removes the loop around its waits, a bug is found.
#[test]
fn a_cmake_project_is_built_and_explored() {
    if !can(Language::C) || !can(Language::Cpp) {
        return;
    }
    if Command::new("cmake").arg("--version").output().is_err() {
        eprintln!("skipped: there is no cmake");
        return;
    }
    let tools = tools();
    let path = std::env::var_os("PATH").unwrap();
    let path =
        std::env::join_paths(std::iter::once(tools.clone()).chain(std::env::split_paths(&path))).unwrap();
    let run = |directory: &Path, program: &str, arguments: &[&str]| {
        let output = Command::new(program)
            .args(arguments)
            .current_dir(directory)
            .env("PATH", &path)
            .env("COYOTE_CC_CACHE", cache())
            .env("COYOTE_CACHE_DIR", process::cache())
            .env("CI", "true")
            .output()
            .unwrap();
        let text = String::from_utf8_lossy(&output.stdout) + String::from_utf8_lossy(&output.stderr);
        (output.status.success(), text.into_owned())
    };
    let directory = tempfile::tempdir().unwrap();
    let (_, toolchain) = run(directory.path(), "coyote-cc", &["--coyote-cmake"]);
    let toolchain = format!("-DCMAKE_TOOLCHAIN_FILE={}", toolchain.trim());
    let source = guest::root().join("examples/cmake");
    let source = source.to_str().unwrap();
    for (recheck, right) in [("ON", true), ("OFF", false)] {
        let option = format!("-DQUEUE_RECHECK={recheck}");
        let configured = run(directory.path(), "cmake", &["-S", source, "-B", recheck, &toolchain, &option]);
        assert!(configured.0, "{}", configured.1);
        assert!(configured.1.contains("Found Threads: TRUE"), "{}", configured.1);
        let built = run(directory.path(), "cmake", &["--build", recheck]);
        assert!(built.0, "{}", built.1);
        let tested = run(&directory.path().join(recheck), "ctest", &["-V", "-R", "relay|totals"]);
        assert_eq!(tested.0, right, "{}", tested.1);
        assert_eq!(tested.1.contains("bug in test main"), !right, "{}", tested.1);
    }
}

/// A directory with coyote-cc, coyote-cxx and coyote-wasm.
fn tools() -> PathBuf {
    let wasm = Path::new(env!("CARGO_BIN_EXE_coyote-wasm"));
    let directory = wasm.parent().unwrap();
    let mut build = Command::new(env!("CARGO"));
    build.args(["build", "--quiet", "-p", "coyote-cc"]).current_dir(guest::root());
    if directory.ends_with("release") {
        build.arg("--release");
    }
    // The directory above that of the profile.
    build.arg("--target-dir").arg(directory.parent().unwrap());
    assert!(build.status().unwrap().success());
    directory.to_path_buf()
}
