//! Evaluation of `#[cfg(..)]` conditions for the guest's target, as far as the result is certain.

use syn::punctuated::Punctuated;
use syn::{Attribute, Expr, ExprLit, Lit, Meta, Token};

/// The known properties of a target. Others (features, `loom`, `panic`) are unknown.
pub struct Facts {
    /// The values of `target_family`, which are also names of conditions (`unix`).
    families: &'static [&'static str],
    os: &'static str,
    arch: &'static str,
}

/// `wasm32-wasip1-threads`.
pub const GUEST: Facts = Facts { families: &["wasm"], os: "wasi", arch: "wasm32" };

/// The machine on which this tool runs, which is where the tests are run otherwise.
pub const HERE: Facts =
    Facts { families: &[std::env::consts::FAMILY], os: std::env::consts::OS, arch: std::env::consts::ARCH };

impl Facts {
    /// Whether a condition holds; `None` if that is not known.
    fn holds(&self, condition: &Meta) -> Option<bool> {
        let name = condition.path().get_ident()?.to_string();
        match condition {
            Meta::Path(_) => match name.as_str() {
                "test" => Some(true),
                "unix" | "windows" => Some(self.families.contains(&name.as_str())),
                _ => None,
            },
            Meta::NameValue(pair) => {
                let Expr::Lit(ExprLit { lit: Lit::Str(value), .. }) = &pair.value else { return None };
                let value = value.value();
                match name.as_str() {
                    "target_family" => Some(self.families.contains(&value.as_str())),
                    "target_os" => Some(self.os == value),
                    "target_arch" => Some(self.arch == value),
                    _ => None,
                }
            }
            Meta::List(list) => {
                let of = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).ok()?;
                let all: Vec<_> = of.iter().map(|condition| self.holds(condition)).collect();
                match (name.as_str(), all.as_slice()) {
                    ("not", [one]) => one.map(|holds| !holds),
                    ("all", all) if all.contains(&Some(false)) => Some(false),
                    ("all", all) => (!all.contains(&None)).then_some(true),
                    ("any", any) if any.contains(&Some(true)) => Some(true),
                    ("any", any) => (!any.contains(&None)).then_some(false),
                    _ => None,
                }
            }
        }
    }
}

/// Whether a condition certainly does not hold on the guest's target, and may hold on this machine.
pub fn leaves_out(condition: &Meta) -> bool {
    GUEST.holds(condition) == Some(false) && HERE.holds(condition) != Some(false)
}

/// Whether a condition holds, or may hold, on the guest's target.
pub fn may_hold(condition: &Meta) -> bool {
    GUEST.holds(condition) != Some(false)
}

/// The condition of `#[cfg(..)]`, or of the first part of `#[cfg_attr(.., ..)]`.
pub fn condition(attribute: &Attribute) -> Option<Meta> {
    let list = attribute.meta.require_list().ok()?;
    let parts = list.parse_args_with(Punctuated::<Meta, Token![,]>::parse_terminated).ok()?;
    parts.into_iter().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn is(text: &str) -> Option<bool> {
        GUEST.holds(&syn::parse_str(text).unwrap())
    }

    #[test]
    fn conditions_of_the_target_are_known() {
        for holds in [
            "test",
            "target_family = \"wasm\"",
            "not(unix)",
            "all()",
            "any(loom, target_arch = \"wasm32\")",
            "not(all(loom, target_os = \"linux\"))",
        ] {
            assert_eq!(is(holds), Some(true), "{holds}");
        }
        for not in ["unix", "not(target_family = \"wasm\")", "any()", "all(feature = \"a\", windows)"] {
            assert_eq!(is(not), Some(false), "{not}");
        }
        for unknown in ["feature = \"a\"", "not(miri)", "all(test, loom)", "any(unix, loom)", "a::b"] {
            assert_eq!(is(unknown), None, "{unknown}");
        }
    }

    /// Conditions that hold on no target, or only on other targets than this machine, are not counted.
    #[test]
    fn only_the_target_is_to_blame() {
        let leaves_out = |text: &str| leaves_out(&syn::parse_str(text).unwrap());
        assert!(leaves_out("not(target_family = \"wasm\")"));
        assert!(leaves_out("all(not(target_arch = \"wasm32\"), feature = \"std\")"));
        assert!(!leaves_out("any()"));
        assert!(!leaves_out("target_os = \"haiku\""));
        assert!(!leaves_out("not(miri)"));
    }
}
