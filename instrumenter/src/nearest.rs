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
            let edits = edits(wanted, name);
            (edits <= 1 + wanted.len() / 5).then_some((edits, name))
        })
        .collect();
    close.sort();
    close.dedup();
    close.into_iter().take(3).map(|(_, name)| name).collect()
}

/// Levenshtein distance in bytes.
fn edits(a: &str, b: &str) -> usize {
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, x) in a.bytes().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, y) in b.bytes().enumerate() {
            let replaced = diagonal + usize::from(x != y);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(row[j + 1] + 1);
        }
    }
    row[b.len()]
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
