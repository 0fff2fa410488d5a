//! Names close to one that was not found, for error messages.

/// At most three of `names`, closest first, that contain `wanted` or that a typing error could have turned
/// into it.
pub fn nearest<'a>(wanted: &str, names: impl IntoIterator<Item = &'a str>) -> Vec<&'a str> {
    let mut close: Vec<(usize, &str)> = names
        .into_iter()
        .filter_map(|name| {
            if name.contains(wanted) {
                return Some((0, name));
            }
            let edits = strsim::levenshtein(wanted, name);
            (edits <= 1 + wanted.len() / 5).then_some((edits, name))
        })
        .collect();
    close.sort();
    close.dedup();
    close.into_iter().take(3).map(|(_, name)| name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn closest_first() {
        let names = ["mutex_lock", "mutex_try_lock", "mutex_unlock", "spawn"];
        assert_eq!(nearest("mutex_lok", names), ["mutex_lock"]);
        assert_eq!(nearest("lock", names), ["mutex_lock", "mutex_try_lock", "mutex_unlock"]);
        assert!(nearest("barrier", names).is_empty());
    }
}
