//! The likely meaning of a mistyped name.

/// The name that takes the fewest edits, unless these would change most of the word.
pub fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (edits, name) = names.map(|name| (edits(word, name), name)).min()?;
    (edits <= 1 + word.chars().count() / 3).then_some(name)
}

/// Characters to insert, remove or replace (Levenshtein).
fn edits(from: &str, to: &str) -> usize {
    let to: Vec<char> = to.chars().collect();
    let mut row: Vec<usize> = (0..=to.len()).collect();
    for (i, a) in from.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = i + 1;
        for (j, b) in to.iter().enumerate() {
            let replaced = diagonal + usize::from(a != *b);
            diagonal = row[j + 1];
            row[j + 1] = replaced.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[to.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edits_are_counted() {
        for (from, to, n) in
            [("", "pos", 3), ("pct", "pct", 0), ("randm", "random", 1), ("kitten", "sitting", 3)]
        {
            assert_eq!(edits(from, to), n, "{from} {to}");
            assert_eq!(edits(to, from), n, "{to} {from}");
        }
    }

    #[test]
    fn only_what_is_near_is_suggested() {
        let names = || ["random", "pct", "pos"].into_iter();
        assert_eq!(nearest("radnom", names()), Some("random"));
        assert_eq!(nearest("pctt", names()), Some("pct"));
        assert_eq!(nearest("fuzzing", names()), None);
    }
}
