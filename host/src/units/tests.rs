//! Sets of results against one exploration that absorbs all iterations itself; and damaged files.

use super::*;
use crate::results::tests::Numbers;
use crate::results::{IterationResult, SweptSite};
use std::path::Path;

const TESTS: [&str; 2] = ["a", "b"];

fn campaign(iterations: Option<u64>, explore: bool) -> Campaign {
    let test = |name: &str| CampaignTest {
        name: name.into(),
        ignored: None,
        strategy: "random".into(),
        iterations,
        island: None,
        explore,
        check_determinism: false,
        suppressions: Vec::new(),
    };
    Campaign {
        build: "1".into(),
        module: "m".into(),
        options: Options::default(),
        seed: 7,
        strategy: "random".into(),
        tests: TESTS.map(test).into(),
        filtered_out: 0,
        needs_no_choice: false,
        not_on_target: None,
    }
}

/// The result of one exploration of these iterations of a test, which ends with the first bug unless it
/// explores.
fn explored(test: &str, iterations: &[IterationResult], explore: bool) -> TestResult {
    let subject = Subject { test: test.into(), ..Subject::default() };
    let mut result = TestResult::new(subject, StepsMax { unfair: 10, fair: 100 }, explore);
    for iteration in iterations {
        let buggy = iteration.bug.is_some();
        result.absorb(iteration.clone());
        if buggy && !explore {
            result.stop = Stop::Bug;
            break;
        }
    }
    result.bugs.iter_mut().for_each(|bug| bug.path = PathBuf::new());
    result
}

/// Random ranges that cover `iterations` iterations.
fn cuts(numbers: &mut Numbers, iterations: u64) -> Vec<(u64, u64)> {
    let mut bounds: Vec<u64> = (0..numbers.below(6)).map(|_| numbers.below(iterations + 1)).collect();
    bounds.extend([0, iterations]);
    bounds.sort_unstable();
    bounds.dedup();
    bounds.windows(2).map(|two| (two[0], two[1])).collect()
}

/// Puts sets together in random order and grouping: sets of one part each, some of them twice with other
/// times.
fn united(numbers: &mut Numbers, mut sets: Vec<Results>) -> Results {
    while sets.len() > 1 {
        let mut pick = |sets: &mut Vec<Results>| sets.swap_remove(numbers.below(sets.len() as u64) as usize);
        let (mut one, other) = (pick(&mut sets), pick(&mut sets));
        one.unite(other).unwrap();
        let again = one.clone();
        one.unite(again).unwrap();
        let stored = Results::parse(Path::new("x"), &one.to_bytes()).unwrap();
        assert_eq!(stored, one);
        sets.push(stored);
    }
    sets.pop().expect("there is one")
}

/// However often ranges were executed, and in whatever order sets are put together, the bytes are the same, and the
/// result is that of one exploration. Without some ranges, exactly these are missing.
#[test]
fn sets_are_one_exploration() {
    let (mut ended, mut incomplete) = (0, 0);
    for seed in 0..300 {
        let mut numbers = Numbers(seed);
        let iterations = 1 + numbers.below(30);
        let (knows_all, explore) = (numbers.flag(), numbers.flag());
        let campaign = campaign(knows_all.then_some(iterations), explore);
        let mut sets = Vec::new();
        let mut tests = Vec::new();
        for test in TESTS {
            let mut all: Vec<IterationResult> =
                (0..iterations).map(|index| numbers.iteration(Some(index))).collect();
            if numbers.flag() {
                all.iter_mut().for_each(|iteration| iteration.bug = None);
            }
            let ranges = cuts(&mut numbers, iterations);
            let keeps_all = numbers.below(3) > 0;
            let mut kept = Vec::new();
            for (first, end) in ranges {
                if !keeps_all && numbers.flag() {
                    continue;
                }
                kept.push((first, end));
                for _ in 0..1 + numbers.below(2) {
                    let path = format!("{}.wasm", numbers.below(5));
                    let mut set = Results::new(campaign.clone(), path.into());
                    let mut result = explored(test, &all[first as usize..end as usize], explore);
                    result.elapsed = Duration::from_millis(numbers.below(100));
                    set.add(test, first, end, result).unwrap();
                    sets.push(set);
                }
            }
            tests.push((test, all, kept));
        }
        if sets.is_empty() {
            continue;
        }
        let one = united(&mut numbers, sets.clone());
        assert_eq!(united(&mut numbers, sets).to_bytes(), one.to_bytes(), "seed {seed}");
        for ((test, all, kept), of) in tests.iter().zip(&campaign.tests) {
            // The naive way: number by number.
            let is_kept = |index: &u64| kept.iter().any(|(first, end)| (*first..*end).contains(index));
            let known: Vec<IterationResult> =
                (0..iterations).filter(is_kept).map(|index| all[index as usize].clone()).collect();
            let mut whole = explored(test, &known, explore);
            let end = match whole.stop {
                Stop::Bug => whole.indices.nth(whole.indices.len() - 1).unwrap_or(0) + 1,
                _ if knows_all => iterations,
                _ => kept.last().map_or(0, |(_, end)| *end),
            };
            whole.missing = (0..end).filter(|index| !is_kept(index)).collect();
            if kept.is_empty() {
                continue;
            }
            let mut total = one.total(of);
            let fastest = one.of(test).map(|part| part.elapsed).sum::<Duration>();
            assert!(total.elapsed <= fastest, "seed {seed}");
            total.elapsed = Duration::ZERO;
            assert_eq!(total, whole, "seed {seed}, test {test}");
            ended += u32::from(total.stop == Stop::Bug);
            incomplete += u32::from(!total.missing.is_empty());
        }
    }
    assert!(ended > 30 && incomplete > 30, "{ended} {incomplete}");
}

/// Results of iterations 3 to 5 of test a, one of them with a bug.
fn small() -> Results {
    let mut numbers = Numbers(2);
    let mut iterations: Vec<IterationResult> = (3..6).map(|index| numbers.iteration(Some(index))).collect();
    while iterations[1].bug.is_none() {
        iterations[1] = numbers.iteration(Some(4));
    }
    let mut results = Results::new(campaign(None, true), "dir/m.wasm".into());
    results.add("a", 3, 6, explored("a", &iterations, true)).unwrap();
    results
}

#[test]
fn what_does_not_go_together_is_named() {
    let said = |change: &dyn Fn(&mut Results)| {
        let (mut one, mut other) = (small(), small());
        change(&mut other);
        one.unite(other).unwrap_err().to_string()
    };
    let of = |what: &str| format!("the results are of another {what}");
    for (error, start) in [
        (said(&|r| r.campaign.seed = 8), of("seed: 7 and 8")),
        (said(&|r| r.campaign.build = "2".into()), of("build of coyote-wasm: 1 and 2")),
        (said(&|r| r.campaign.module = "n".into()), of("module: m and n")),
        (said(&|r| r.campaign.strategy = "pct:3".into()), of("strategy: random and pct:3")),
        (said(&|r| drop(r.campaign.tests.pop())), of("set of tests: a, b and a")),
        (
            said(&|r| r.campaign.tests[0].iterations = Some(9)),
            of(
                "number of iterations: unknown, with --iterations-from and 9, unknown, with --iterations-from",
            ),
        ),
        (
            said(&|r| r.campaign.tests.iter_mut().for_each(|test| test.explore = false)),
            of("rule for what follows a bug (--explore): true and false"),
        ),
        (said(&|r| r.campaign.options.memory_errors = false), of("instrumentation: {")),
        (said(&|r| r.campaign.tests[1].check_determinism = true), of("campaign: {")),
        (said(&|r| r.campaign.tests[1].island = Some(7)), of("campaign: {")),
    ] {
        assert!(error.starts_with(&start), "{error}\n{start}");
    }
    let other = |first: u64, end: u64, change: &dyn Fn(&mut TestResult)| {
        let mut numbers = Numbers(first);
        let iterations: Vec<_> = (first..end).map(|index| numbers.iteration(Some(index))).collect();
        let mut result = explored("a", &iterations, true);
        change(&mut result);
        small().add("a", first, end, result).unwrap_err().to_string()
    };
    assert!(other(5, 9, &|_| {}).starts_with("test a: iteration 5 is in two ranges, 3 to 5 and 5 to 8: "));
    assert!(other(0, 4, &|_| {}).starts_with("test a: iteration 3 is in two ranges, 3 to 5 and 0 to 3: "));
    let bounds = |result: &mut TestResult| result.statistics.steps_max.fair = 1;
    assert_eq!(other(9, 12, &bounds), "test a: the results are of another bound on steps: 10 100 and 10 1");
    let watch = |result: &mut TestResult| result.watch.detectors.push("races".into());
    assert!(other(9, 12, &watch).starts_with("test a: the results are of another set of detectors: "));
    assert_eq!(other(3, 6, &|_| {}), "test a: iterations 3 to 5 have two different results");
}

fn parse(bytes: &[u8]) -> Result<Results, FileError> {
    Results::parse(Path::new("a.result"), bytes)
}

/// Changes, leaves out, doubles or exchanges each byte, and tries each length: each time gives one error.
#[test]
fn damage_is_one_error() {
    let whole = small().to_bytes();
    assert_eq!(parse(&whole).unwrap(), small());
    let damaged = |bytes: &[u8], how: &str| match parse(bytes) {
        Err(FileError::Damaged(..) | FileError::Other(_) | FileError::Version(..)) => {}
        other => panic!("{how}: {other:?}"),
    };
    let mut numbers = Numbers(0);
    for at in 0..whole.len() {
        for bit in 0..8 {
            let mut bytes = whole.clone();
            bytes[at] ^= 1 << bit;
            damaged(&bytes, &format!("bit {bit} of byte {at}"));
        }
        let (before, after) = (&whole[..at], &whole[at + 1..]);
        damaged(before, &format!("cut at {at}"));
        damaged(&[before, after].concat(), &format!("without byte {at}"));
        damaged(&[before, &whole[at..=at], &whole[at..]].concat(), &format!("byte {at} twice"));
        for other in [at + 1, numbers.below(whole.len() as u64) as usize] {
            let mut bytes = whole.clone();
            if other < whole.len() && bytes[at] != bytes[other] {
                bytes.swap(at, other);
                damaged(&bytes, &format!("bytes {at} and {other} exchanged"));
            }
        }
    }
    damaged(&[&whole[..], b"x"].concat(), "a byte more");
    assert_eq!(
        parse(b"coyote-wasm result 2\nwhatever").unwrap_err().to_string(),
        "a.result is a result of version 2, and this tool reads version 1: use the one that wrote it"
    );
    assert_eq!(
        parse(b"{}").unwrap_err().to_string(),
        "a.result is no result of coyote-wasm: give files that `test --result` wrote"
    );
}

/// A file with this content and a checksum that fits.
fn sealed(json: &[u8]) -> Vec<u8> {
    let mut bytes = b"coyote-wasm result 1\n".to_vec();
    bytes.extend(zstd::encode_all(json, 3).unwrap());
    let hash = blake3::hash(&bytes);
    bytes.extend(hash.as_bytes());
    bytes
}

/// Content that no tool could have written is refused although its checksum fits.
#[test]
fn what_makes_no_sense_is_refused() {
    let said = |change: &dyn Fn(&mut Part)| {
        let mut results = small();
        let mut part = results.parts.pop_first().unwrap().1;
        change(&mut part);
        results.parts.insert((part.test.clone(), part.first, part.end), part);
        let error = parse(&results.to_bytes()).unwrap_err().to_string();
        let rest = error.strip_prefix("a.result is damaged and is not used: ").unwrap_or(&error);
        rest.strip_suffix("; execute its iterations again").unwrap_or(rest).to_string()
    };
    let at = "test a, iterations from 3 before 6: ";
    let swept = |part: &mut Part| {
        let sites = vec![SweptSite::default()];
        part.result.sweep = Some(crate::results::Sweep { sites, ..Default::default() });
    };
    for (error, what) in [
        (said(&|part| part.test = "c".into()), "test c, iterations from 3 before 6: there is no such test"),
        (said(&|part| part.result.subject.test = "b".into()), &format!("{at}there is no such test")),
        (said(&|part| part.first = 4), "test a, iterations from 4 before 6: other iterations are in it"),
        (said(&|part| part.end = 3), "test a, iterations from 3 before 3: other iterations are in it"),
        (said(&|part| part.end = 9), "test a, iterations from 3 before 9: iterations are missing in it"),
        (said(&|part| part.result.stop = Stop::Interrupted), &format!("{at}it was interrupted")),
        (said(&|part| part.result.missing.add(3..4)), &format!("{at}it is not of a sampler's iterations")),
        (said(&swept), &format!("{at}it is not of a sampler's iterations")),
        (
            said(&|part| part.result.subject.options.push(("dir".into(), "/".into()))),
            &format!("{at}it works in a directory of the host"),
        ),
    ] {
        assert_eq!(error, what);
    }
}

/// Any content of a file whose checksum fits gives an error, or results that can be added up.
#[test]
fn nonsense_is_never_a_panic() {
    let whole = small().to_bytes();
    let packed = &whole[b"coyote-wasm result 1\n".len()..whole.len() - 32];
    let json = zstd::decode_all(packed).unwrap();
    assert_eq!(parse(&sealed(&json)).unwrap(), small());
    let (mut numbers, mut read) = (Numbers(5), 0);
    for round in 0..5_000 {
        let mut bytes = json.clone();
        let at = numbers.below(bytes.len() as u64) as usize;
        bytes[at] = match bytes[at] {
            digit if digit.is_ascii_digit() && round % 2 == 0 => b'0' + numbers.below(10) as u8,
            _ => numbers.below(256) as u8,
        };
        if let Ok(results) = parse(&sealed(&bytes)) {
            read += 1;
            results.campaign.tests.iter().for_each(|test| drop(results.total(test)));
        }
    }
    assert!(read > 200, "{read}");
    assert!(parse(&sealed(b"")).is_err() && parse(&sealed(&[b'['; 100_000])).is_err());
}
