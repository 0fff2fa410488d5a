use super::lcov::lcov;
use super::{Covered, FileCoverage};
use std::path::Path;

#[test]
fn a_tracefile_has_its_records() {
    let mut covered = Covered::default();
    let file = FileCoverage {
        lines: [(3, 2), (4, 0), (9, 7)].into(),
        functions: [
            ((3, "f".into()), 2),
            ((4, "f::{{closure}}".into()), 0),
            ((9, "f::{{closure}}".into()), 7),
        ]
        .into(),
    };
    covered.files.insert("src/a.c".into(), file);
    covered.files.insert("/b.c".into(), FileCoverage::default());
    let text = lcov(&covered, "queue-1", Path::new("/here"));
    assert_eq!(
        text,
        "TN:queue_1\nSF:/b.c\nFNF:0\nFNH:0\nLF:0\nLH:0\nend_of_record\n\
         TN:queue_1\nSF:/here/src/a.c\nFN:3,f\nFN:4,f::{{closure}}:4\nFN:9,f::{{closure}}:9\n\
         FNDA:2,f\nFNDA:0,f::{{closure}}:4\nFNDA:7,f::{{closure}}:9\nFNF:3\nFNH:2\n\
         DA:3,2\nDA:4,0\nDA:9,7\nLF:3\nLH:2\nend_of_record\n"
    );
    assert_eq!((covered.lines(), covered.functions()), ((3, 2), (3, 2)));
}
