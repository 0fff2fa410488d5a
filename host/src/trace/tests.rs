//! The format is pinned by a sample that must stay readable for ever.

use super::*;
use crate::identity::Party;
use crate::runtime::files::{Answer, Errno};
use coyote_abi::file::CALLS;
use coyote_strategies::Iteration;
use coyote_strategies::rng::ChoiceRng;

const SAMPLE: &str = include_str!("../../tests/trace_samples/v1.trace");

/// The sample of the version that is written.
const WRITTEN: &str = include_str!("../../tests/trace_samples/v5.trace");

fn step(worker: &[u32], kind: OpKind, place: Option<(u32, u32)>) -> Decision {
    let site = place.map(|(function, offset)| Location { function, offset });
    Decision::Step { worker: WorkerPath(worker.to_vec()), kind, site }
}

/// The content of the sample.
fn sample() -> Trace {
    Trace {
        header: Header {
            tool: "0.1.0".into(),
            module: "af1349b9f5f9a1a6a0404dea36dcc9499bcb25c9adc112b7cc9a93cae41f3262".into(),
            test: "two_accounts".into(),
            strategy: "pct:3".into(),
            seed: 18446744073709551615,
            iteration: 7,
            options: vec![("points".into(), "all".into()), ("max-steps".into(), "10000 100000".into())],
            shared: None,
            outcome: "deadlock".into(),
            message: "worker 0.0 waits for mutex 0x1040\nworker 0.1 waits for mutex 0x1048".into(),
            functions: BTreeMap::new(),
            identity: None,
            fingerprint: Some(0x0123456789abcdef_fedcba9876543210),
        },
        decisions: vec![
            step(&[], OpKind::Start, None),
            step(&[], OpKind::Spawn, Some((12, 0x3a4))),
            step(&[], OpKind::Spawn, Some((12, 0x3b0))),
            step(&[0], OpKind::Start, None),
            step(&[0], OpKind::ChooseInt, Some((9, 0x2ff))),
            Decision::Value { value: 2, bound: 3 },
            step(&[1], OpKind::Start, None),
            Decision::Timeout { worker: WorkerPath(vec![1]) },
            step(&[1], OpKind::Lock, Some((10, 0x310))),
            step(&[0], OpKind::Lock, Some((9, 0x2f0))),
            step(&[0, 4294967295], OpKind::AtomicLoad, Some((4294967295, 4294967295))),
        ],
        answers: Vec::new(),
    }
}

#[test]
fn the_sample_of_version_1_reads() {
    assert_eq!(Trace::parse(SAMPLE.as_bytes()).unwrap(), sample());
}

/// The additions of version 3.
#[test]
fn the_sample_of_version_3_reads() {
    let answer = |function: &str, call, error: Option<u16>, result: &[u8], data: &[u8]| HostAnswer {
        function: function.into(),
        call,
        answer: Answer { error: error.map(Errno), result: result.into(), data: data.into() },
    };
    let mut expected = sample();
    expected.answers = vec![
        answer("path_open", 0xd03eb39432f44553, None, &[4, 0, 0, 0], &[]),
        answer("fd_read", 0x0000000000000001, None, &[2, 0, 0, 0], b"hi"),
        answer("path_unlink_file", 0x0123456789abcdef, Some(44), &[], &[]),
        answer("fd_close", u64::MAX, None, &[], &[]),
    ];
    const SAMPLE: &str = include_str!("../../tests/trace_samples/v3.trace");
    assert_eq!(Trace::parse(SAMPLE.as_bytes()).unwrap(), expected);
    let refused = |from: &str, to: &str| {
        let text = SAMPLE.replacen(from, to, 1);
        Trace::parse(text.as_bytes()).unwrap_err().to_string()
    };
    assert!(refused("trace 3", "trace 2").contains("`answer path_open"));
    for (from, to) in [
        ("fd_read 0", "fd_reed 0"),
        ("0000000000000001 0", "0000000000000001 65536"),
        ("0000000000000001", "001"),
        ("6869", "686"),
        ("6869", "686A"),
        ("6869", ""),
        (" 6869", ""),
        ("6869", "6869 1"),
    ] {
        let error = refused(from, to);
        assert!(error.contains("is not an answer `FUNCTION CALL ERRNO RESULT DATA`"), "{from} {to}: {error}");
    }
    let late = refused("answer fd_close", "0 start\nanswer fd_close");
    assert!(late.contains("`0 start` is not an answer of the host"), "{late}");
}

/// The additions of version 2.
#[test]
fn the_sample_of_version_2_reads() {
    let mut expected = sample();
    expected.header.shared = Some([0x40, 0x41, 0x42, 0x60, 0x3ffffff].into_iter().collect());
    const SAMPLE: &str = include_str!("../../tests/trace_samples/v2.trace");
    assert_eq!(Trace::parse(SAMPLE.as_bytes()).unwrap(), expected);
    let old = SAMPLE.replacen("trace 2", "trace 1", 1);
    let error = Trace::parse(old.as_bytes()).unwrap_err().to_string();
    assert!(error.contains("unknown header key `shared`"), "{error}");
    for wrong in ["40-3f", "1 2", "A", "40 40", "4000000"] {
        let text = SAMPLE.replacen("40-42 60 3ffffff", wrong, 1);
        let error = Trace::parse(text.as_bytes()).unwrap_err().to_string();
        assert!(error.contains("is not granules such as"), "{error}");
    }
}

#[test]
fn the_documentation_shows_a_sample_that_is_executed() {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/trace-format.md");
    let page = std::fs::read_to_string(page).unwrap();
    const SAMPLE: &str = include_str!("../../tests/trace_samples/v5-files.trace");
    assert!(page.contains(&format!("```text\n{SAMPLE}```\n")), "docs/trace-format.md shows another example");
}

/// The content of the sample with the additions of version 4.
fn with_identity() -> Trace {
    let place = |function, offset| Location { function, offset };
    let mut expected = sample();
    expected.header.functions = [(9, "take(int)".into()), (12, "main".into())].into();
    expected.header.identity = Some(Identity {
        detail: "division-by-zero".into(),
        parties: vec![
            Party { worker: WorkerPath(vec![0]), stack: vec![place(9, 0x2f0), place(12, 0x3a4)] },
            Party { worker: WorkerPath(vec![1]), stack: Vec::new() },
        ],
    });
    expected
}

/// The additions of version 4.
#[test]
fn the_sample_of_version_4_reads() {
    const SAMPLE: &str = include_str!("../../tests/trace_samples/v4.trace");
    let expected = with_identity();
    assert_eq!(Trace::parse(SAMPLE.as_bytes()).unwrap(), expected);
    let refused = |from: &str, to: &str| {
        assert!(SAMPLE.contains(from), "{from}");
        Trace::parse(SAMPLE.replacen(from, to, 1).as_bytes()).unwrap_err().to_string()
    };
    assert!(refused("trace 4", "trace 3").contains("unknown header key `identity`"));
    assert!(refused("identity division-by-zero\n", "").contains("without its `identity` line"));
    assert!(refused("identity", "identity a\nidentity").contains("the header key `identity` is given twice"));
    for (from, to) in [("at 0.0", "at 1"), ("at 0.0", "at"), ("f12@0x3a4", "f12"), ("at 0.1", "at 0.1 ")] {
        assert!(
            refused(from, to).contains("is not a worker and its stack, `WORKER PLACE...`"),
            "{from} {to}"
        );
    }
    for (from, to) in
        [("function 9 ", "function x "), ("function 9 ", "function 4294967296 "), ("9 take(int)", "9")]
    {
        assert!(refused(from, to).contains("is not a function, `INDEX NAME`"), "{from} {to}");
    }
    assert!(refused("function 9", "function 12").contains("is not the first line of this function"));
}

/// The addition of version 5: a line for a run of one worker.
#[test]
fn the_sample_of_version_5_is_what_is_written() {
    assert_eq!(with_identity().to_text(), WRITTEN);
    assert_eq!(Trace::parse(WRITTEN.as_bytes()).unwrap(), with_identity());
    let refused = |from: &str, to: &str| {
        assert!(WRITTEN.contains(from), "{from}");
        Trace::parse(WRITTEN.replacen(from, to, 1).as_bytes()).unwrap_err().to_string()
    };
    assert!(refused("trace 5", "trace 4").contains("is not a place such as `f12@0x3a4`"));
    assert!(refused("value 2 of 3", "value 3 of 3").contains("the value 3 is not below its bound 3"));
    assert!(refused("; timeout", "; timeouts").contains("unknown operation kind `timeouts`"));
    assert!(refused("; timeout", ";timeout").contains("unknown operation kind `start;timeout`"));
    assert!(refused("; timeout", "; ").contains("unknown operation kind ``"));
    assert!(refused("; timeout", "; 0.1 timeout").contains("is not a place such as"));
    // A value has no worker whose run could go on.
    assert!(refused("; value 2 of 3", "\nvalue 2 of 3; value 0 of 1").contains("is not a decision"));
    assert!(refused("; value 2 of 3", "").contains("10 decisions and its end line says 11"));
}

/// A trace with each decision on a line of its own is the same trace.
#[test]
fn runs_may_be_cut() {
    let end = WRITTEN.find("end 11").unwrap();
    let cut = WRITTEN[..end].replace("; spawn", "\n0 spawn").replace("; value", "\nvalue") + "end 11\n";
    assert_eq!(Trace::parse(cut.as_bytes()).unwrap(), with_identity());
}

/// The sample with one edit, and the whole error that it gives.
#[track_caller]
fn check(from: &str, to: &str, error: &str) {
    assert!(SAMPLE.contains(from), "the sample has no {from:?}");
    let edited = SAMPLE.replacen(from, to, 1);
    assert_eq!(Trace::parse(edited.as_bytes()).unwrap_err().to_string(), error);
}

#[test]
fn each_mistake_has_one_clear_error() {
    let no_trace = "line 1 of the trace: not a trace: it should begin with `coyote-wasm trace`; \
                    give a file that `coyote-wasm test` wrote";
    check("coyote-wasm trace 1", "coyote-wasm tracks 1", no_trace);
    check("coyote-wasm trace 1", "coyote-wasm trace", no_trace);
    check("coyote-wasm trace 1", "\0asm", no_trace);
    check(
        "trace 1",
        "trace 12",
        "line 1 of the trace: the trace has format version 12, this tool reads versions 1 to 5; \
         replay it with the version of coyote-wasm that its `tool` line names",
    );
    check(
        "seed 1",
        "sead 1",
        "line 8 of the trace: unknown header key `sead`; \
         replay the trace with the version of coyote-wasm that its `tool` line names",
    );
    check(
        "seed 1",
        "iteration 7\nseed 1",
        "line 10 of the trace: the header key `iteration` is given twice; delete one of its lines",
    );
    check(
        "iteration 7\n",
        "",
        "line 14 of the trace: the header ends without its `iteration` line; add it or record the trace again",
    );
    for (found, shown) in
        [("18446744073709551616", "18446744073709551616"), ("+1", "+1"), ("", ""), ("1\u{7}", "1\\u{7}")]
    {
        check(
            "18446744073709551615",
            found,
            &format!(
                "line 8 of the trace: `{shown}` is not a decimal number below 2^64; \
                 undo the edit or record the trace again"
            ),
        );
    }
    check(
        "0123456789abcdef",
        "",
        "line 14 of the trace: `fedcba9876543210` is not a fingerprint of 32 hex digits; \
         undo the edit or record the trace again",
    );
    check(
        "option points=",
        "option points ",
        "line 10 of the trace: `points all` is not an option NAME=VALUE; \
         undo the edit or record the trace again",
    );
    check(
        "\\nworker",
        "\\qworker",
        "line 13 of the trace: `worker 0.0 waits for mutex 0x1040\\\\qworker 0.1 waits for mut` is not \
         text with the escapes \\\\ \\n \\r \\t \\u{HEX}; undo the edit or record the trace again",
    );
    for line in ["0.0", "1 start", "0.x start", "0. start", "0.+1 start", "0.4294967296 start", "value 1"] {
        check(
            "0.0 start",
            line,
            &format!(
                "line 20 of the trace: `{line}` is not a decision, `WORKER KIND [PLACE]`, \
                 `WORKER timeout` or `value N of N`; undo the edit or record the trace again"
            ),
        );
    }
    check(
        "choose-int",
        "choose-float",
        "line 21 of the trace: unknown operation kind `choose-float`; \
         replay the trace with the version of coyote-wasm that wrote it",
    );
    for place in ["9@0x2ff", "f9+0x2ff", "f9@0x2FF", "f@0x2ff", "f4294967296@0x2ff", "f9@0x100000000"] {
        check(
            "f9@0x2ff",
            place,
            &format!(
                "line 21 of the trace: `{place}` is not a place such as `f12@0x3a4`; \
                 undo the edit or record the trace again"
            ),
        );
    }
    check(
        "value 2 of 3",
        "value 3 of 3",
        "line 22 of the trace: the value 3 is not below its bound 3; undo the edit or record the trace again",
    );
    check(
        "0.1 timeout\n",
        "",
        "line 27 of the trace: the trace has 10 decisions and its end line says 11: lines were lost or added; \
         copy it again from where it was written or record it again",
    );
    check(
        "0.0 lock f9@0x2f0",
        "0.0 lock f9@0x2f1",
        "line 28 of the trace: the checksum does not match, so the trace was damaged or edited; \
         if you edited it, delete the checksum, the last word of this line",
    );
    let whole = SAMPLE.to_owned() + "0 exit\n";
    assert_eq!(
        Trace::parse(whole.as_bytes()).unwrap_err().to_string(),
        "line 29 of the trace: the trace goes on after its end line; delete what follows it"
    );
    let mut bytes = SAMPLE.as_bytes().to_vec();
    bytes[SAMPLE.find("deadlock").unwrap()] = 0xff;
    assert_eq!(
        Trace::parse(&bytes).unwrap_err().to_string(),
        "line 12 of the trace: not UTF-8, so the file is damaged; copy it again from where it was written"
    );
}

#[test]
fn what_people_do_to_text_files_is_no_mistake() {
    let edits = [
        SAMPLE.replace('\n', "\r\n"),
        SAMPLE.replace('\n', "\n\n# a remark\n"),
        SAMPLE.lines().map(|l| l.trim_end().to_owned() + "\n").collect(),
    ];
    for edited in edits {
        assert_eq!(Trace::parse(edited.as_bytes()).unwrap(), sample());
    }
    // A user who edits a decision deletes the checksum.
    let end = SAMPLE.find("end 11").unwrap() + "end 11".len();
    let edited = SAMPLE[..end].replace("value 2", "value 1") + "\n";
    let decisions = Trace::parse(edited.as_bytes()).unwrap().decisions;
    assert_eq!(decisions[5], Decision::Value { value: 1, bound: 3 });
}

#[test]
fn every_truncation_is_noticed() {
    for sample in [SAMPLE, WRITTEN] {
        for length in 0..sample.len() {
            let error = Trace::parse(&sample.as_bytes()[..length]).unwrap_err();
            let TraceError::Format { problem, .. } = error else { panic!("{error}") };
            let expected = if length < version::MAGIC.len() { Problem::Magic } else { Problem::CutOff };
            assert_eq!(problem, expected, "at {length}");
        }
    }
}

#[test]
fn every_flipped_bit_is_noticed_or_harmless() {
    for sample in [SAMPLE, WRITTEN] {
        let trace = Trace::parse(sample.as_bytes()).unwrap();
        let mut harmless = 0;
        for bit in 0..sample.len() * 8 {
            let mut bytes = sample.as_bytes().to_vec();
            bytes[bit / 8] ^= 1 << (bit % 8);
            match Trace::parse(&bytes) {
                Ok(read) => {
                    assert_eq!(read, trace, "bit {bit}");
                    harmless += 1;
                }
                Err(error) => drop(error.to_string()),
            }
        }
        let comments: usize = sample.lines().filter(|l| l.starts_with('#')).map(|l| l.len() * 8).sum();
        assert!(harmless <= comments, "{harmless} flips outside of comments went unnoticed");
    }
}

/// Every byte changed to any other, left out, doubled, or swapped with its neighbour.
#[test]
fn every_damaged_byte_is_noticed_or_harmless() {
    for sample in [SAMPLE, WRITTEN] {
        let (trace, whole) = (Trace::parse(sample.as_bytes()).unwrap(), sample.as_bytes());
        let comments: usize = sample.lines().filter(|l| l.starts_with('#')).map(|l| l.len() + 1).sum();
        let mut harmless = 0;
        for at in 0..whole.len() {
            let others = (1..=255).map(|change| whole[at] ^ change);
            let mut damages: Vec<Vec<u8>> = Vec::new();
            damages.extend(others.map(|byte| [&whole[..at], &[byte], &whole[at + 1..]].concat()));
            damages.push([&whole[..at], &whole[at + 1..]].concat());
            damages.push([&whole[..at], &whole[at..=at], &whole[at..]].concat());
            if at + 1 < whole.len() {
                damages.push([&whole[..at], &[whole[at + 1], whole[at]], &whole[at + 2..]].concat());
            }
            let mut overlooked = 0;
            for damaged in damages {
                match Trace::parse(&damaged) {
                    // White space and comments are ignored.
                    Ok(read) => {
                        assert_eq!(read, trace, "byte {at}");
                        overlooked += 1;
                    }
                    Err(error) => assert!(!error.to_string().is_empty()),
                }
            }
            harmless += usize::from(overlooked > 20);
        }
        assert!(harmless <= comments, "changes of {harmless} bytes outside of comments went unnoticed");
    }
}

/// Several flips at once, with the checksum removed so that they reach the reader of decisions.
#[test]
fn ten_thousand_damaged_traces_never_panic() {
    let end = SAMPLE.find("end 11").unwrap() + "end 11".len();
    let unchecked = SAMPLE[..end].to_owned() + "\n";
    let (mut read, mut refused) = (0, 0);
    for index in 0..10_000 {
        let mut rng = ChoiceRng::new(Iteration { seed: 1, index });
        let mut bytes = unchecked.as_bytes().to_vec();
        for _ in 0..=rng.below(4) {
            let at = rng.below(bytes.len() as u64) as usize;
            bytes[at] ^= 1 << rng.below(8);
        }
        match Trace::parse(&bytes) {
            // Whatever was read can be written again.
            Ok(trace) => {
                assert_eq!(Trace::parse(trace.to_text().as_bytes()).unwrap(), trace, "index {index}");
                read += 1;
            }
            Err(error) => {
                assert!(!error.to_string().is_empty());
                refused += 1;
            }
        }
    }
    assert!(read > 100 && refused > 100, "{read} read, {refused} refused: the test lost its point");
}

#[test]
fn a_round_trip_is_exact() {
    for index in 0..2_000 {
        let trace = any_trace(&mut ChoiceRng::new(Iteration { seed: 2, index }));
        let text = trace.to_text();
        assert_eq!(Trace::parse(text.as_bytes()).unwrap(), trace, "index {index}:\n{text}");
        // An editor that strips white space from the ends of lines does no damage.
        assert!(text.lines().all(|l| l == l.trim()), "index {index}:\n{text}");
    }
}

#[test]
fn no_operation_kind_is_taken_for_another_decision() {
    assert!(
        OpKind::ALL
            .iter()
            .all(|k| !["timeout", "value"].contains(&k.name()) && !k.name().contains([' ', ';']))
    );
}

#[test]
fn a_file_is_replaced_as_a_whole() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("bug.trace");
    std::fs::write(&path, "another file").unwrap();
    sample().write(&path).unwrap();
    assert_eq!(Trace::read(&path).unwrap(), sample());
    let names: Vec<_> = std::fs::read_dir(&directory).unwrap().map(|e| e.unwrap().file_name()).collect();
    assert_eq!(names, ["bug.trace"], "a partial file is left");
}

#[test]
fn a_failed_write_leaves_the_old_file_and_nothing_else() {
    let directory = tempfile::tempdir().unwrap();
    // A directory cannot be replaced by a file: the rename fails after all else went well.
    let path = directory.path().join("bug.trace");
    std::fs::create_dir(&path).unwrap();
    let error = sample().write(&path).unwrap_err();
    assert_eq!(error.to_string(), format!("cannot write the trace {}", path.display()));
    assert!(path.is_dir());
    assert_eq!(std::fs::read_dir(&directory).unwrap().count(), 1, "a partial file is left");
    let missing = directory.path().join("none").join("bug.trace");
    assert!(matches!(sample().write(&missing), Err(TraceError::Write { .. })));
    assert!(matches!(Trace::read(&missing), Err(TraceError::Read { .. })));
}

fn any_trace(rng: &mut ChoiceRng) -> Trace {
    let options = (0..rng.below(4)).map(|_| (any_text(rng), any_text(rng))).collect();
    Trace {
        header: Header {
            tool: any_text(rng),
            module: any_text(rng),
            test: any_text(rng),
            strategy: any_text(rng),
            seed: any_number(rng),
            iteration: any_number(rng),
            options,
            shared: rng.one_in(2).then(|| (0..rng.below(9)).map(|_| rng.below(40) as u32).collect()),
            outcome: any_text(rng),
            message: any_text(rng),
            functions: if rng.one_in(2) {
                (0..rng.below(4)).map(|_| (any_number(rng) as u32, format!("f{}", any_text(rng)))).collect()
            } else {
                BTreeMap::new()
            },
            identity: rng.one_in(2).then(|| Identity {
                detail: any_text(rng),
                parties: (0..rng.below(3)).map(|_| any_party(rng)).collect(),
            }),
            fingerprint: rng
                .one_in(2)
                .then(|| u128::from(any_number(rng)) << 64 | u128::from(any_number(rng))),
        },
        decisions: (0..rng.below(40)).map(|_| any_decision(rng)).collect(),
        answers: if rng.one_in(2) {
            (0..rng.below(5)).map(|_| any_answer(rng)).collect()
        } else {
            Vec::new()
        },
    }
}

fn any_party(rng: &mut ChoiceRng) -> Party {
    let worker = WorkerPath((0..rng.below(3)).map(|_| any_number(rng) as u32).collect());
    let place =
        |rng: &mut ChoiceRng| Location { function: any_number(rng) as u32, offset: any_number(rng) as u32 };
    Party { worker, stack: (0..rng.below(4)).map(|_| place(rng)).collect() }
}

fn any_answer(rng: &mut ChoiceRng) -> HostAnswer {
    let function = CALLS[rng.below(CALLS.len() as u64) as usize].name.to_string();
    let mut bytes = || (0..rng.below(9)).map(|_| rng.below(256) as u8).collect();
    let (result, data) = (bytes(), bytes());
    let error = rng.one_in(2).then(|| Errno(1 + rng.below(76) as u16));
    HostAnswer { function, call: any_number(rng), answer: Answer { error, result, data } }
}

fn any_decision(rng: &mut ChoiceRng) -> Decision {
    let depth = rng.below(4);
    let worker = WorkerPath((0..depth).map(|_| any_number(rng) as u32).collect());
    match rng.below(4) {
        0 => Decision::Timeout { worker },
        1 => {
            let bound = any_number(rng).max(1);
            Decision::Value { value: rng.below(bound), bound }
        }
        _ => {
            let kind = OpKind::ALL[rng.below(OpKind::ALL.len() as u64) as usize];
            let place = Location { function: any_number(rng) as u32, offset: any_number(rng) as u32 };
            Decision::Step { worker, kind, site: rng.one_in(2).then_some(place) }
        }
    }
}

/// A number of any magnitude, extremes included.
fn any_number(rng: &mut ChoiceRng) -> u64 {
    match rng.below(66) {
        64 => 0,
        65 => u64::MAX,
        bits => rng.below(u64::MAX) >> bits,
    }
}

/// A text, mostly of characters that have a meaning in the format.
fn any_text(rng: &mut ChoiceRng) -> String {
    const CHARS: &[char] = &[
        ' ', ' ', '\n', '\r', '\t', '\\', 'u', '{', '}', 'n', '=', '#', '\0', '\u{7f}', '\u{85}', '\u{a0}',
        '\u{2028}', '\u{feff}', 'é', '🦊', 'a', '0', '"',
    ];
    (0..rng.below(12)).map(|_| CHARS[rng.below(CHARS.len() as u64) as usize]).collect()
}
