//! Functions of C++'s library, as debug information names them.

/// `std::mutex::lock` of `std::__2::mutex::lock[abi:se190107]()`: the path of a function without its return type, parameters,
/// arguments of templates, and the namespace that the library has for its version. `None` if a name has no parameters, as
/// those of Rust and C have none.
pub fn path(function: &str) -> Option<String> {
    let mut path = String::new();
    let mut depth = 0_u32;
    for c in function.replace("(anonymous namespace)::", "").chars() {
        match c {
            '(' if depth == 0 => {
                return Some(path.replace("std::__2::", "std::").replace("std::__1::", "std::"));
            }
            '<' | '[' => depth += 1,
            '>' | ']' => depth = depth.checked_sub(1)?,
            ' ' if depth == 0 => path.clear(),
            _ if depth == 0 => path.push(c),
            _ => {}
        }
    }
    None
}

/// The class and the name of a method.
pub fn method(path: &str) -> Option<(&str, &str)> {
    let (of, method) = path.rsplit_once("::")?;
    Some((of.rsplit("::").next().unwrap_or(of), method))
}

#[cfg(test)]
mod tests {
    use super::{method, path};

    #[test]
    fn paths() {
        for (function, expected) in [
            ("std::__2::mutex::lock()", Some("std::mutex::lock")),
            (
                "std::__2::unique_lock<std::__2::mutex>::unique_lock[abi:se190107](std::__2::mutex&)",
                Some("std::unique_lock::unique_lock"),
            ),
            (
                "void std::__2::condition_variable::wait<take()::{lambda()#1}>(std::__2::unique_lock<std::__2::mutex>&, take()::{lambda()#1})",
                Some("std::condition_variable::wait"),
            ),
            ("(anonymous namespace)::Pool::run(int)", Some("Pool::run")),
            ("<std::sync::Mutex<fn(u32) -> u32>>::lock", None),
            ("pthread_mutex_lock", None),
        ] {
            assert_eq!(path(function).as_deref(), expected, "{function}");
        }
        assert_eq!(method("std::mutex::lock"), Some(("mutex", "lock")));
        assert_eq!(method("main"), None);
    }
}
