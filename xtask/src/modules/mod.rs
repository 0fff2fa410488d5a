//! `cargo xtask modules`: refuses circles of imports between modules, and imports from higher floors.
//!
//! - [`graph`]: the imports between modules, read from the sources.
//! - [`floors`]: the rules about which modules must not import which.

mod floors;
mod graph;

use crate::files;
use anyhow::{Result, bail};
use floors::CRATES;
use graph::Graph;
use std::collections::BTreeSet;

pub fn run() -> Result<()> {
    let mut wrong = Vec::new();
    for krate in CRATES {
        let graph = Graph::read(&files::root().join(krate.folder).join("src"))?;
        wrong.extend(check(krate, &graph).into_iter().map(|line| format!("{}: {line}", krate.folder)));
    }
    if !wrong.is_empty() {
        bail!("imports that must not be:\n  {}", wrong.join("\n  "));
    }
    Ok(())
}

/// The violations in a crate, one line each.
fn check(krate: &floors::Crate, graph: &Graph) -> Vec<String> {
    let mut wrong = Vec::new();
    for (lower, upper) in krate
        .floors
        .iter()
        .enumerate()
        .flat_map(|(i, floor)| krate.floors[i + 1..].iter().map(move |above| (floor, above)))
    {
        for from in lower.iter() {
            for to in upper.iter().filter(|to| graph.has(from, to)) {
                wrong.push(format!("{from} imports {to}, which is above it: {}", graph.places(from, to)));
            }
        }
    }
    for (from, to) in krate.apart.iter().flat_map(|(from, others)| others.iter().map(move |to| (from, to))) {
        if graph.has(from, to) {
            wrong.push(format!("{from} imports {to}, which it must not know: {}", graph.places(from, to)));
        }
    }
    let named: BTreeSet<&str> = krate.floors.iter().flat_map(|floor| floor.iter().copied()).collect();
    wrong.extend(named.iter().filter(|name| !graph.exists(name)).map(|name| format!("there is no {name}")));
    for circle in graph.circles() {
        let arrows = circle.windows(2).map(|pair| graph.places(&pair[0], &pair[1]));
        wrong.push(format!("a circle: {}: {}", circle.join(" -> "), arrows.collect::<Vec<_>>().join("; ")));
    }
    wrong
}

#[cfg(test)]
mod tests {
    use super::floors::Crate;
    use super::graph::Graph;
    use super::{check, run};

    #[test]
    fn no_import_runs_up_or_in_a_circle() {
        run().unwrap();
    }

    fn wrong(floors: &'static [&'static [&'static str]]) -> String {
        let graph = Graph::of(&[
            ("", "mod a; mod b; pub mod c; pub use c::inner::Deep;"),
            ("a", "use crate::b::B; fn f() { assert!(crate::c::g()); }"),
            ("b", "use super::Deep;"),
            ("c", "mod inner; pub use inner::*; fn g() { inner::h() }"),
            ("c::inner", "#[cfg(test)] mod tests { use crate::a::A; }\n/* crate::a */ struct Deep;"),
        ]);
        check(&Crate { folder: "x", floors, apart: &[("b", &["a"])] }, &graph).join("\n")
    }

    #[test]
    fn floors_are_looked_at_from_below() {
        assert_eq!(wrong(&[&["c"], &["b"], &["a"]]), "");
        assert_eq!(wrong(&[&["a"], &["c"]]), "a imports c, which is above it: a -> c::g");
        assert_eq!(
            wrong(&[&["b"], &["c"]]),
            "b imports c, which is above it: b -> c::inner::Deep",
            "through what the root exports"
        );
        assert_eq!(wrong(&[&["gone"]]), "there is no gone");
    }

    #[test]
    fn circles_are_found_among_neighbours() {
        let graph = Graph::of(&[
            ("", "mod a; mod b; mod c;"),
            ("a", "mod x; use super::b::B;"),
            ("a::x", "use super::A;"),
            ("b", "use crate::c::C;"),
            ("c", "fn f(x: &crate::a::x::X) {}"),
        ]);
        let krate = Crate { folder: "x", floors: &[], apart: &[("c", &["b"])] };
        let found = check(&krate, &graph);
        assert_eq!(
            found,
            ["a circle: a -> b -> c -> a: a -> b::B; b -> c::C; c -> a::x::X"],
            "a file may use the one that it is a part of"
        );
    }
}
