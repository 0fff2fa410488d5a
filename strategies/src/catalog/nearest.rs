//! The likely meaning of a mistyped name.

/// The name that takes the fewest edits, unless these would change most of the word.
pub fn nearest<'a>(word: &str, names: impl Iterator<Item = &'a str>) -> Option<&'a str> {
    let (edits, name) = names.map(|name| (strsim::levenshtein(word, name), name)).min()?;
    (edits <= 1 + word.chars().count() / 3).then_some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_near_is_suggested() {
        let names = || ["random", "pct", "pos"].into_iter();
        assert_eq!(nearest("radnom", names()), Some("random"));
        assert_eq!(nearest("pctt", names()), Some("pct"));
        assert_eq!(nearest("fuzzing", names()), None);
    }
}
