//! Crash states against a naive model, which keeps every operation since the beginning and enumerates the possible
//! states.

use super::{Change, CrashModel, CrashRule};
use crate::runtime::Runtime;
use crate::runtime::files::{Answer, Call, Files, Node, ROOT, Served};
use coyote_abi::file;
use coyote_strategies::rng::ChoiceRng;
use coyote_strategies::{Iteration, WorkerId};
use std::collections::{BTreeMap, BTreeSet};

/// The content of the file system: paths of directories, and of files with their bytes.
type Image = BTreeMap<String, Option<Vec<u8>>>;

fn image(files: &Files) -> Image {
    let mut image = Image::new();
    let mut next = vec![(ROOT, String::new())];
    while let Some((directory, base)) = next.pop() {
        for ((_, name), number) in files.tree.inode(directory).entries().unwrap() {
            let path = format!("{base}/{name}");
            match &files.tree.inode(*number).node {
                Node::File(content) => _ = image.insert(path, Some(content.read(0, u64::MAX))),
                _ => {
                    image.insert(path.clone(), None);
                    next.push((*number, path));
                }
            }
        }
    }
    image
}

/// An operation of the naive model, on files by number and on names by path.
#[derive(Clone, Debug)]
enum Op {
    Write {
        file: usize,
        offset: usize,
        bytes: Vec<u8>,
    },
    Resize {
        file: usize,
        bytes: usize,
    },
    /// Changes of names of one directory, or of two for a rename.
    Names(Vec<(String, Option<usize>)>),
}

fn parent(path: &str) -> &str {
    path.rsplit_once('/').unwrap().0
}

/// All operations, and which of them are durable.
#[derive(Default)]
struct Naive {
    ops: Vec<(Op, bool)>,
    /// Whether an object is a directory.
    directories: Vec<bool>,
    names: BTreeMap<String, usize>,
}

impl Naive {
    fn make(&mut self, path: &str, directory: bool) -> usize {
        let number = self.directories.len();
        self.directories.push(directory);
        self.names.insert(path.into(), number);
        self.ops.push((Op::Names(vec![(path.into(), Some(number))]), false));
        number
    }

    /// Whether two operations belong to one queue, by definition.
    fn share(one: &Op, other: &Op) -> bool {
        let dirs = |op: &Op| match op {
            Op::Names(names) => names.iter().map(|(path, _)| parent(path).to_string()).collect(),
            _ => BTreeSet::new(),
        };
        match (one, other) {
            (
                Op::Write { file: a, .. } | Op::Resize { file: a, .. },
                Op::Write { file: b, .. } | Op::Resize { file: b, .. },
            ) => a == b,
            _ => !dirs(one).is_disjoint(&dirs(other)),
        }
    }

    /// The queue of each pending operation: the transitive closure of [`Naive::share`].
    fn queues(&self) -> Vec<Vec<usize>> {
        let pending: Vec<usize> = (0..self.ops.len()).filter(|index| !self.ops[*index].1).collect();
        let mut queues: Vec<Vec<usize>> = Vec::new();
        for index in pending {
            let mut queue = vec![index];
            let mut i = 0;
            while i < queues.len() {
                if queues[i].iter().any(|other| Naive::share(&self.ops[*other].0, &self.ops[index].0)) {
                    queue.extend(queues.remove(i));
                } else {
                    i += 1;
                }
            }
            queue.sort_unstable();
            queues.push(queue);
        }
        queues
    }

    fn sync_file(&mut self, number: usize) {
        for (op, durable) in &mut self.ops {
            *durable |= matches!(op, Op::Write { file, .. } | Op::Resize { file, .. } if *file == number);
        }
    }

    fn sync_directory(&mut self, directory: &str) {
        for queue in self.queues() {
            let concerns = |index: &usize| matches!(&self.ops[*index].0, Op::Names(names) if names.iter().any(|(path, _)| parent(path) == directory));
            if let Some(last) = queue.iter().rposition(concerns) {
                queue[..=last].iter().for_each(|index| self.ops[*index].1 = true);
            }
        }
    }

    /// Everything that a crash may leave.
    fn images(&self, rule: CrashRule) -> BTreeSet<Image> {
        // What survives of each operation: all of it (`None`), or a number of bytes.
        let all: Vec<Option<usize>> = vec![None; self.ops.len()];
        let mut states = vec![all];
        for queue in self.queues() {
            let names = matches!(self.ops[queue[0]].0, Op::Names(_));
            let mut next = Vec::new();
            for state in states {
                let mut cut = |lost: &[usize], torn: Option<(usize, usize)>| {
                    let mut state = state.clone();
                    lost.iter().for_each(|index| state[*index] = Some(0));
                    torn.into_iter().for_each(|(index, kept)| state[index] = Some(kept));
                    next.push(state);
                };
                match rule {
                    CrashRule::None => cut(&queue, None),
                    CrashRule::Subset if !names => (0..1u32 << queue.len()).for_each(|set| {
                        let lost: Vec<usize> =
                            (0..queue.len()).filter(|i| set >> i & 1 == 1).map(|i| queue[i]).collect();
                        cut(&lost, None);
                    }),
                    _ => (0..=queue.len()).for_each(|kept| {
                        cut(&queue[kept..], None);
                        if let (CrashRule::Torn(sector), Some(first)) = (rule, queue.get(kept))
                            && let Op::Write { offset, bytes, .. } = &self.ops[*first].0
                        {
                            let ends = (1..bytes.len()).filter(|n| (offset + n) % sector as usize == 0);
                            ends.for_each(|n| cut(&queue[kept..], Some((*first, n))));
                        }
                    }),
                }
            }
            states = next;
        }
        states.iter().map(|state| self.image(state)).collect()
    }

    fn image(&self, state: &[Option<usize>]) -> Image {
        let mut contents = vec![Vec::new(); self.directories.len()];
        let mut names: BTreeMap<String, usize> = BTreeMap::new();
        for ((op, _), kept) in self.ops.iter().zip(state) {
            match op {
                Op::Write { file, offset, bytes } => {
                    let bytes = &bytes[..kept.unwrap_or(bytes.len())];
                    let content: &mut Vec<u8> = &mut contents[*file];
                    if !bytes.is_empty() {
                        content.resize(content.len().max(offset + bytes.len()), 0);
                        content[*offset..offset + bytes.len()].copy_from_slice(bytes);
                    }
                }
                Op::Resize { file, bytes } if kept.is_none() => contents[*file].resize(*bytes, 0),
                Op::Names(changes) if kept.is_none() => {
                    for (path, what) in changes {
                        match what {
                            Some(what) => _ = names.insert(path.clone(), *what),
                            None => _ = names.remove(path),
                        }
                    }
                }
                _ => {}
            }
        }
        let reachable = |path: &str| parent(path).is_empty() || names.contains_key(parent(path));
        let there = names.iter().filter(|(path, _)| reachable(path));
        there
            .map(|(path, number)| {
                (path.clone(), (!self.directories[*number]).then(|| contents[*number].clone()))
            })
            .collect()
    }
}

fn call(name: &str, numbers: &[u64], inputs: &[&[u8]]) -> Call {
    let function = file::call(name).unwrap();
    let inputs = inputs.iter().map(|input| input.to_vec()).collect();
    Call { function, numbers: numbers.to_vec(), inputs, room: 0 }
}

/// A runtime whose files are followed, and the naive model beside it.
struct Both {
    runtime: Runtime,
    naive: Naive,
    /// The descriptor of the directory in which it is, and the worker that calls.
    base: u64,
    worker: Option<WorkerId>,
}

impl Both {
    fn new(model: CrashModel) -> Both {
        let mut runtime = Runtime { files: Files::new(1 << 30), ..Runtime::default() };
        runtime.files.follow_disk(model);
        Both { runtime, naive: Naive::default(), base: 3, worker: None }
    }

    fn serve(&mut self, name: &str, numbers: &[u64], inputs: &[&[u8]]) -> Answer {
        match self.runtime.file_call(self.worker, &call(name, numbers, inputs)) {
            Served::Here(answer) => answer,
            Served::ByHost(_) => panic!("nobody else is there"),
        }
    }

    fn open(&mut self, path: &str, flags: u64, rights: u64) -> u64 {
        let answer = self.serve("path_open", &[self.base, 0, flags, rights, 0, 0], &[&path.as_bytes()[1..]]);
        assert_eq!(answer.errno(), 0, "{path}");
        u32::from_le_bytes(answer.result[..4].try_into().unwrap()).into()
    }

    /// One random operation on a few names in the root and two directories.
    fn random(&mut self, rng: &mut ChoiceRng) {
        const WRITE: u64 = 1 << 6;
        const NAMES: [&str; 6] = ["/a", "/b", "/d/a", "/d/b", "/e/a", "/e/b"];
        let mut pick = |n: u64| rng.below(n);
        let path = NAMES[pick(6) as usize];
        let can = parent(path).is_empty() || self.naive.names.contains_key(parent(path));
        let known = self.naive.names.get(path).copied();
        match (pick(10), known) {
            (0, _) => {
                let directory = ["/d", "/e"][pick(2) as usize];
                if self.serve("path_create_directory", &[self.base], &[&directory.as_bytes()[1..]]).errno()
                    == 0
                {
                    self.naive.make(directory, true);
                }
            }
            (_, None) if can => {
                let fd = self.open(path, 1, WRITE);
                self.naive.make(path, false);
                self.serve("fd_close", &[fd], &[]);
            }
            (1..=3, Some(file)) => {
                let (offset, length) = (pick(1200), 1 + pick(1200));
                let bytes = vec![b'A' + pick(26) as u8; length as usize];
                let fd = self.open(path, 0, WRITE);
                self.serve("fd_pwrite", &[fd, offset], &[&bytes]);
                self.serve("fd_close", &[fd], &[]);
                self.naive.ops.push((Op::Write { file, offset: offset as usize, bytes }, false));
            }
            (4, Some(file)) => {
                let bytes = pick(900);
                let fd = self.open(path, 0, WRITE);
                self.serve("fd_filestat_set_size", &[fd, bytes], &[]);
                self.serve("fd_close", &[fd], &[]);
                self.naive.ops.push((Op::Resize { file, bytes: bytes as usize }, false));
            }
            (5, Some(file)) => {
                let name = ["fd_sync", "fd_datasync"][pick(2) as usize];
                let fd = self.open(path, 0, WRITE);
                self.serve(name, &[fd], &[]);
                self.serve("fd_close", &[fd], &[]);
                self.naive.sync_file(file);
            }
            (6, Some(_)) => {
                self.serve("path_unlink_file", &[self.base], &[&path.as_bytes()[1..]]);
                self.naive.names.remove(path);
                self.naive.ops.push((Op::Names(vec![(path.into(), None)]), false));
            }
            (7, Some(file)) => {
                let to = NAMES[pick(6) as usize];
                if to != path
                    && self
                        .serve(
                            "path_rename",
                            &[self.base, self.base],
                            &[&path.as_bytes()[1..], &to.as_bytes()[1..]],
                        )
                        .errno()
                        == 0
                {
                    self.naive.names.remove(path);
                    self.naive.names.insert(to.into(), file);
                    self.naive
                        .ops
                        .push((Op::Names(vec![(path.into(), None), (to.into(), Some(file))]), false));
                }
            }
            (8, _) => {
                let directory = parent(path).to_string();
                if directory.is_empty() {
                    self.serve("fd_sync", &[self.base], &[]);
                } else if can {
                    let fd = self.open(&directory, 2, 2);
                    self.serve("fd_sync", &[fd], &[]);
                    self.serve("fd_close", &[fd], &[]);
                } else {
                    return;
                }
                self.naive.sync_directory(&directory);
            }
            _ => {}
        }
    }
}

#[test]
fn what_a_crash_leaves_is_what_a_naive_model_says() {
    let (mut states, mut most) = (0, 0);
    for model in ["none", "prefix", "subset", "torn"] {
        let model: CrashModel = model.parse().unwrap();
        for seed in 0..150 {
            let mut rng = ChoiceRng::new(Iteration { seed, index: 0 });
            let mut both = Both::new(model);
            for _ in 0..14 {
                both.random(&mut rng);
                let ways = both.runtime.files.crash_ways();
                if ways > 2_000 {
                    break;
                }
                let crashed = |way| {
                    let mut files = both.runtime.files.clone();
                    let crash = files.crash(way, 0);
                    assert!(way > 0 || model.rule == CrashRule::None || crash.lost.is_empty());
                    image(&files)
                };
                let ours: BTreeSet<Image> = (0..ways).map(crashed).collect();
                let naive = both.naive.images(model.rule);
                assert_eq!(ours, naive, "{model} {seed}: {:#?}", both.naive.ops);
                states += ours.len();
                most = most.max(ours.len());
            }
        }
    }
    assert!(states > 20_000 && most > 100, "{states} {most}");
}

/// The part of an image in a directory.
fn within(image: &Image, directory: &str) -> Image {
    let inside = image.iter().filter_map(|(path, file)| Some((path.strip_prefix(directory)?, file)));
    inside.filter(|(path, _)| !path.is_empty()).map(|(path, file)| (path.into(), file.clone())).collect()
}

/// Two nodes, each in a directory of its own: a crash of one leaves of its files what a naive model says, and those of the
/// other as they are, of which a later crash may lose as much as before.
#[test]
fn a_node_loses_what_is_its_own() {
    const DIRECTORIES: [&str; 2] = ["/left", "/right"];
    let members = |node: usize| BTreeSet::from([WorkerId(node as u32)]);
    let mut states = 0;
    for model in ["none", "prefix", "subset", "torn"] {
        let model: CrashModel = model.parse().unwrap();
        for seed in 0..80 {
            let mut rng = ChoiceRng::new(Iteration { seed, index: 2 });
            let mut both = Both::new(model);
            let mut nodes = DIRECTORIES.map(|directory| {
                both.serve("path_create_directory", &[3], &[&directory.as_bytes()[1..]]);
                (Naive::default(), both.open(directory, 2, 2))
            });
            both.runtime.files.follow_disk(model);
            both.runtime.files.follow_workers();
            for _ in 0..16 {
                let node = rng.below(2) as usize;
                std::mem::swap(&mut both.naive, &mut nodes[node].0);
                (both.base, both.worker) = (nodes[node].1, Some(WorkerId(node as u32)));
                both.random(&mut rng);
                std::mem::swap(&mut both.naive, &mut nodes[node].0);
                let now = &both.runtime.files;
                let ways = [0, 1].map(|node| now.node_crash_ways(&members(node)));
                if ways[0].max(ways[1]) > 200 {
                    break;
                }
                for (node, other) in [(0, 1), (1, 0)] {
                    let crashed = |files: &Files, node: usize, way| {
                        let mut files = files.clone();
                        files.crash_node(&members(node), way, 0);
                        files
                    };
                    let all: Vec<Files> = (0..ways[node]).map(|way| crashed(now, node, way)).collect();
                    let own = |files: &Files| within(&image(files), DIRECTORIES[node]);
                    let ours: BTreeSet<Image> = all.iter().map(own).collect();
                    assert_eq!(ours, nodes[node].0.images(model.rule), "{model} {seed}");
                    states += ours.len();
                    let before = within(&image(now), DIRECTORIES[other]);
                    assert!(all.iter().all(|files| within(&image(files), DIRECTORIES[other]) == before));
                    // What survived is durable, and the other node can lose what it could.
                    let last = all.last().expect("there is a way");
                    assert_eq!(last.node_crash_ways(&members(node)), 1);
                    let after = (0..ways[other]).map(|way| crashed(last, other, way));
                    let theirs: BTreeSet<Image> =
                        after.map(|files| within(&image(&files), DIRECTORIES[other])).collect();
                    assert_eq!(theirs, nodes[other].0.images(model.rule), "{model} {seed}");
                }
            }
        }
    }
    assert!(states > 5_000, "{states}");
}

/// A crash closes what the node has open, and nothing else.
#[test]
fn a_node_loses_its_descriptors() {
    let mut both = Both::new(CrashModel::default());
    both.runtime.files.follow_workers();
    let opened = [0, 1].map(|worker| {
        both.worker = Some(WorkerId(worker));
        both.open(["/a", "/b"][worker as usize], 1, 1 << 6)
    });
    // A file without a name that is open.
    both.serve("path_unlink_file", &[3], &[b"b"]);
    both.serve("fd_pwrite", &[opened[1], 0], &[b"kept"]);
    for way in 0..both.runtime.files.node_crash_ways(&BTreeSet::from([WorkerId(0)])) {
        let mut files = both.runtime.files.clone();
        std::mem::swap(&mut files, &mut both.runtime.files);
        both.runtime.files.crash_node(&BTreeSet::from([WorkerId(0)]), way, 0);
        let errors = opened.map(|fd| both.serve("fd_pwrite", &[fd, 4], &[b"on"]).errno());
        assert_eq!(errors, [8, 0], "{way}");
        both.runtime.files = files;
    }
}

/// Every image has the synced data under the synced names, whatever else happens.
#[test]
fn what_is_synced_is_never_lost() {
    for model in ["none", "prefix", "subset", "torn", "none+ext4", "prefix+ext4"] {
        let model: CrashModel = model.parse().unwrap();
        for seed in 0..100 {
            let mut rng = ChoiceRng::new(Iteration { seed, index: 1 });
            let mut both = Both::new(model);
            let fd = both.open("/kept", 1, 1 << 6);
            both.serve("fd_pwrite", &[fd, 0], &[b"what is kept"]);
            both.serve("fd_sync", &[fd], &[]);
            if !model.ordered_names {
                both.serve("fd_sync", &[3], &[]);
            }
            (0..10).for_each(|_| both.random(&mut rng));
            for way in (0..both.runtime.files.crash_ways()).take(500) {
                let mut files = both.runtime.files.clone();
                files.crash(way, 0);
                assert_eq!(image(&files).get("/kept"), Some(&Some(b"what is kept".to_vec())), "{model}");
            }
        }
    }
}

/// With names in order, a sync of a file also makes its name durable, and all names before it.
#[test]
fn names_in_order_are_those_of_the_journal() {
    let mut both = Both::new("prefix+ext4".parse().unwrap());
    for path in ["/a", "/b", "/c"] {
        let fd = both.open(path, 1, 1 << 6);
        if path == "/b" {
            both.serve("fd_sync", &[fd], &[]);
        }
    }
    let left = |way| {
        let mut files = both.runtime.files.clone();
        files.crash(way, 0);
        image(&files).into_keys().collect::<Vec<_>>().join(" ")
    };
    assert_eq!((both.runtime.files.crash_ways(), left(0), left(1)), (2, "/a /b /c".into(), "/a /b".into()));
}

/// With names in order, a sync of a file that has lost its name, by a removal or to another file, makes that durable.
#[test]
fn names_that_are_taken_are_those_of_the_journal() {
    for rename in [false, true] {
        let mut both = Both::new("none+ext4".parse().unwrap());
        both.open("/other", 1, 1 << 6);
        let fd = both.open("/f", 1, 1 << 6);
        match rename {
            true => both.serve("path_rename", &[3, 3], &[b"other", b"f"]),
            false => both.serve("path_unlink_file", &[3], &[b"f"]),
        };
        let left = |both: &Both| {
            let mut files = both.runtime.files.clone();
            files.crash(0, 0);
            image(&files).into_keys().collect::<Vec<_>>().join(" ")
        };
        assert_eq!(left(&both), "");
        both.open("/later", 1, 1 << 6);
        both.serve("fd_sync", &[fd], &[]);
        assert_eq!(left(&both), if rename { "/f" } else { "/other" });
    }
}

#[test]
fn a_rename_is_atomic_and_its_data_is_not() {
    let mut both = Both::new(CrashModel::default());
    for (path, text) in [("/f", "old"), ("/t", "new")] {
        let fd = both.open(path, 1, 1 << 6);
        both.serve("fd_pwrite", &[fd, 0], &[text.as_bytes()]);
        if path == "/f" {
            both.serve("fd_sync", &[fd], &[]);
            both.serve("fd_sync", &[3], &[]);
        }
    }
    both.serve("path_rename", &[3, 3], &[b"t", b"f"]);
    let left = |way| {
        let mut files = both.runtime.files.clone();
        files.crash(way, 0);
        String::from_utf8(image(&files)["/f"].clone().unwrap()).unwrap()
    };
    let all: BTreeSet<String> = (0..both.runtime.files.crash_ways()).map(left).collect();
    assert_eq!(all, BTreeSet::from(["".into(), "new".into(), "old".into()]));
    assert_eq!(Change::named(1, "a", 2).entries().len(), 1);
}
