//! Whether counts agree with probabilities.

use std::collections::BTreeMap;

/// How unlikely the counts are, in standard deviations of a normal distribution: above 3.09 they would
/// come up by chance less than once in 1,000 times. Pearson's statistic by the approximation of Wilson
/// and Hilferty; cells in which less than 5 are expected are taken together. Infinite if something came
/// up that cannot.
pub fn deviation<K: Ord>(counts: &BTreeMap<K, u64>, probabilities: &BTreeMap<K, f64>) -> f64 {
    if counts.keys().any(|key| !probabilities.contains_key(key)) {
        return f64::INFINITY;
    }
    let total: f64 = probabilities.values().sum();
    assert!((total - 1.0).abs() < 1e-9, "these are no probabilities: their sum is {total}");
    let n = counts.values().sum::<u64>() as f64;
    let (mut cells, mut rest) = (Vec::new(), (0.0, 0.0));
    for (key, p) in probabilities {
        let cell = (counts.get(key).copied().unwrap_or(0) as f64, p * n);
        if cell.1 < 5.0 {
            rest = (rest.0 + cell.0, rest.1 + cell.1);
        } else {
            cells.push(cell);
        }
    }
    if rest.1 > 0.0 {
        cells.push(rest);
    }
    let statistic: f64 = cells.iter().map(|(seen, expected)| (seen - expected).powi(2) / expected).sum();
    let freedom = (cells.len() - 1) as f64;
    if freedom <= 1.0 {
        // Exactly: nothing can deviate, or the square of one normal variable, of either sign.
        return statistic.sqrt();
    }
    let spread = 2.0 / (9.0 * freedom);
    ((statistic / freedom).cbrt() - (1.0 - spread)) / spread.sqrt()
}

/// Agreement: p > 0.001.
pub const AGREES: f64 = 3.09;

/// Rejection without doubt: p < 1e-9.
pub const REJECTED: f64 = 6.0;

#[test]
fn quantiles_are_those_of_tables() {
    // The 99.9% quantiles of chi-square with 5 and 30 degrees of freedom are 20.515 and 59.703.
    for (cells, quantile) in [(6, 20.515), (31, 59.703)] {
        let probabilities: BTreeMap<u32, f64> = (0..cells).map(|k| (k, 1.0 / f64::from(cells))).collect();
        let (n, mean) = (100_000 * u64::from(cells), 100_000.0f64);
        // One cell too many, another too few, by so much that the statistic is the quantile.
        let shift = (quantile * mean / 2.0).sqrt().round() as u64;
        let mut counts: BTreeMap<u32, u64> = (0..cells).map(|k| (k, n / u64::from(cells))).collect();
        *counts.get_mut(&0).unwrap() += shift;
        *counts.get_mut(&1).unwrap() -= shift;
        let z = deviation(&counts, &probabilities);
        assert!((z - 3.09).abs() < 0.03, "{z}");
    }
}
