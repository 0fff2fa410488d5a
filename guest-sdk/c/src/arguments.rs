//! Translates the options of a program's build to options for the target.

use crate::Error;

/// A translated command line.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Arguments {
    /// The arguments for clang, in order.
    pub kept: Vec<String>,
    /// Whether the result is a module, not an object or a text.
    pub links: bool,
    /// Whether the user chose a level of debug information.
    pub debug_info: bool,
}

/// Options without an effect here, as whole words.
const DROPPED: &[&str] = &[
    "-pthread",
    "-pthreads",
    "-lpthread",
    "-lrt",
    "-ldl",
    "-lutil",
    "-static",
    "-static-libgcc",
    "-static-libstdc++",
    "-rdynamic",
    "-pie",
    "-no-pie",
    "-fPIC",
    "-fpic",
    "-fPIE",
    "-fpie",
    "-fno-PIC",
    "-fno-pic",
    "-fno-PIE",
    "-fno-pie",
    "-fno-plt",
    "-fexceptions",
    "-m32",
    // The tool needs names for the stack pointer, allocators and source lines.
    "-s",
];

/// Prefixes of options without an effect here: processors, link-time optimisation, hardening.
const DROPPED_PREFIXES: &[&str] = &[
    "-march=",
    "-mtune=",
    "-mcpu=",
    "-msse",
    "-mfpmath=",
    "-flto",
    "-fno-lto",
    "-ffat-lto-objects",
    "-fstack-protector",
    "-fstack-clash-protection",
    "-fcf-protection",
    "-D_FORTIFY_SOURCE",
];

/// Options of other linkers, as whole words or prefixes.
const LINKER_DROPPED: &[&str] = &[
    "--as-needed",
    "--no-as-needed",
    "--no-undefined",
    "--start-group",
    "--end-group",
    "--hash-style",
    "--enable-new-dtags",
    "--disable-new-dtags",
    "--copy-dt-needed-entries",
    "--no-copy-dt-needed-entries",
    "--sort-common",
    "--warn-",
    "--dynamic-list",
    "--version-script",
    "-Bsymbolic",
    "-Bstatic",
    "-Bdynamic",
    "-soname",
    "--dependency-file",
    "-rpath",
    "--rpath",
    "-Map",
    "-s",
    "--strip-all",
    "-S",
];

/// Options of the linker that are followed by a part of their own in `-Wl,option,value`.
const LINKER_WITH_VALUE: &[&str] = &["-rpath", "--rpath", "-soname", "-z", "-Map", "--version-script"];

/// Values of `-z` for other linkers.
const Z_DROPPED: &[&str] =
    &["relro", "norelro", "now", "lazy", "noexecstack", "defs", "nodlopen", "text", "origin"];

/// Options after which clang does not link.
const NOT_LINKING: &[&str] = &[
    "-c",
    "-S",
    "-E",
    "-M",
    "-MM",
    "-fsyntax-only",
    "-r",
    "--version",
    "-dumpversion",
    "-dumpmachine",
    "--help",
];

/// Options that are not supported, and what to do instead.
const REFUSED: &[(&str, &str)] = &[
    ("-fsanitize=thread", "coyote-wasm explores the schedules itself and needs no sanitizer: leave it out"),
    ("-fsanitize=address", "there is none for this target: leave it out"),
    ("-fsanitize=memory", "there is none for this target: leave it out"),
    ("-fsanitize=leak", "there is none for this target: leave it out"),
    ("-shared", "a module is linked whole: build a static library"),
    ("-dynamiclib", "a module is linked whole: build a static library"),
    ("-fwasm-exceptions", "the library was built without exceptions: leave it out, a throw is reported"),
    ("-m64", "the target is wasm32: leave it out"),
    ("--target=", "it is wasm32-wasi: leave it out"),
    ("-target", "it is wasm32-wasi: leave it out"),
];

/// Translates a command line: drops options without an effect here, and adapts those of the linker.
///
/// # Errors
/// An option is not supported; the text says what to do instead.
pub fn translate(arguments: &[String]) -> Result<Arguments, Error> {
    let mut result = Arguments { links: true, ..Arguments::default() };
    let mut inputs = false;
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        let argument = argument.as_str();
        if let Some((_, why)) = REFUSED.iter().find(|(option, _)| match option.ends_with('=') {
            true => argument.starts_with(option),
            false => argument == *option,
        }) {
            return Err(Error::new(format!("{argument} is not supported: {why}")));
        }
        if let Some(options) = argument.strip_prefix("-Wl,") {
            let options = linker_options(&options.split(',').collect::<Vec<_>>());
            if !options.is_empty() {
                result.kept.push(format!("-Wl,{}", options.join(",")));
            }
            continue;
        }
        match argument {
            "-Xlinker" => {
                let options: Vec<&str> = rest.next().map(String::as_str).into_iter().collect();
                for option in linker_options(&options) {
                    result.kept.extend(["-Xlinker".into(), option.to_string()]);
                }
                continue;
            }
            "-z" => {
                if let Some(value) = rest.next().filter(|value| !Z_DROPPED.contains(&value.as_str())) {
                    result.kept.extend(["-z".into(), value.clone()]);
                }
                continue;
            }
            // They take the next argument, which is no input.
            "-o" | "-x" | "-I" | "-D" | "-U" | "-include" | "-isystem" | "-idirafter" | "-iquote"
            | "-imacros" | "-MF" | "-MT" | "-MQ" | "-L" | "-l" | "-Xclang" | "-Xpreprocessor" | "-mllvm"
            | "-u" | "-e" | "-T" | "-arch" => {
                result.kept.push(argument.into());
                result.kept.extend(rest.next().cloned());
                continue;
            }
            "-fsanitize=undefined" => {
                // There is no library that could print: a trap is a bug, and has a stack.
                result.kept.extend([argument.into(), "-fsanitize-trap=undefined".into()]);
                continue;
            }
            _ => {}
        }
        if DROPPED.contains(&argument) || DROPPED_PREFIXES.iter().any(|prefix| argument.starts_with(prefix)) {
            continue;
        }
        if NOT_LINKING.contains(&argument) || argument.starts_with("-print-") {
            result.links = false;
        }
        result.debug_info |= argument.starts_with("-g") && argument != "-gz";
        inputs |= !argument.starts_with('-') || argument == "-";
        result.kept.push(argument.into());
    }
    result.links &= inputs;
    Ok(result)
}

/// Selects the linker options that wasm-ld knows.
fn linker_options<'a>(options: &[&'a str]) -> Vec<&'a str> {
    let mut kept = Vec::new();
    let mut rest = options.iter().copied();
    while let Some(option) = rest.next() {
        let name = option.split('=').next().unwrap_or_default();
        let dropped =
            LINKER_DROPPED.iter().any(|d| name == *d || (d.ends_with('-') && option.starts_with(d)));
        if LINKER_WITH_VALUE.contains(&option) {
            let Some(value) = rest.next() else {
                // The value is an argument of its own.
                if !dropped {
                    kept.push(option);
                }
                continue;
            };
            if !dropped && !Z_DROPPED.contains(&value) {
                kept.extend([option, value]);
            }
        } else if !dropped {
            kept.push(option);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn translated(line: &str) -> String {
        translate(&words(line)).unwrap().kept.join(" ")
    }

    fn words(line: &str) -> Vec<String> {
        line.split_whitespace().map(str::to_string).collect()
    }

    #[test]
    fn what_has_no_meaning_is_left_out() {
        let cases = [
            ("-O2 -pthread -fPIC a.c -lpthread -lm -o a", "-O2 a.c -lm -o a"),
            ("-march=native -flto=auto -D_FORTIFY_SOURCE=2 -DX a.c", "-DX a.c"),
            ("a.o -Wl,--as-needed,-z,relro,--export=f", "a.o -Wl,--export=f"),
            ("a.o -Wl,-rpath,/usr/lib -Wl,-z,stack-size=65536", "a.o -Wl,-z,stack-size=65536"),
            ("a.o -Wl,-soname=libx.so -Wl,-z -Wl,now", "a.o -Wl,-z -Wl,now"),
            ("a.o -z noexecstack -Xlinker --no-undefined -Xlinker --verbose", "a.o -Xlinker --verbose"),
            ("-fsanitize=undefined a.c", "-fsanitize=undefined -fsanitize-trap=undefined a.c"),
            ("-o -pthread a.c", "-o -pthread a.c"),
        ];
        for (given, wanted) in cases {
            assert_eq!(translated(given), wanted, "{given}");
        }
    }

    #[test]
    fn it_is_known_what_links() {
        let cases = [
            ("a.c", true),
            ("a.o -o a", true),
            ("-c a.c", false),
            ("-E a.c", false),
            ("-MM a.c", false),
            ("--version", false),
            ("-v", false),
            ("-print-search-dirs", false),
            ("-x c - -o a", true),
            ("-o a", false),
        ];
        for (given, wanted) in cases {
            assert_eq!(translate(&words(given)).unwrap().links, wanted, "{given}");
        }
    }

    #[test]
    fn what_cannot_be_had_is_refused() {
        let cases = [
            ("-fsanitize=thread a.c", "-fsanitize=thread is not supported: coyote-wasm explores"),
            ("-shared a.o", "-shared is not supported: a module is linked whole"),
            (
                "--target=x86_64-linux-gnu a.c",
                "--target=x86_64-linux-gnu is not supported: it is wasm32-wasi",
            ),
            ("-target x86_64 a.c", "-target is not supported"),
        ];
        for (given, wanted) in cases {
            let error = translate(&words(given)).unwrap_err().to_string();
            assert!(error.starts_with(wanted), "{error}");
        }
    }

    #[test]
    fn debug_information_is_the_users_choice() {
        assert!(!translate(&words("a.c")).unwrap().debug_info);
        assert!(translate(&words("-g0 a.c")).unwrap().debug_info);
        assert!(translate(&words("-ggdb a.c")).unwrap().debug_info);
    }
}
