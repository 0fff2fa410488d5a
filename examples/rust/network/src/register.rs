//! A register that a primary and a backup keep, as a client sees it who asks the primary, and the backup from the moment on
//! at which the primary cannot be reached.
//!
//! What the primary writes, the backup has before a client is told. If one of the two cannot reach the other, it has to
//! decide whether the other one is dead or only cut off, which it cannot know: [`Alone::Always`] takes it for dead, so that a
//! partition makes two primaries of them. [`Alone::ByWitness`] asks a third node, which allows this to the first who asks.

use coyote::linearize::{self, Clock, Log, Model};
use coyote::net::{Address, Delivery, Listener, Network, Node, Stream};
use coyote::sync::Mutex;
use std::io::{ErrorKind, Read, Write};
use std::sync::Arc;

const PORT: u16 = 1;
const PRIMARY: &str = "primary";
const BACKUP: &str = "backup";
const WITNESS: &str = "witness";

/// When a replica goes on without the other.
#[derive(Clone, Copy, PartialEq)]
enum Alone {
    Always,
    ByWitness,
}

/// A request is three bytes: what, and its arguments. An answer is two: whether it was done, and the value.
const READ: u8 = 0;
const WRITE: u8 = 1;
/// The primary's state, for the backup: version and value.
const COPY: u8 = 2;
/// Who wants to go on alone: 0 for the primary, 1 for the backup.
const CLAIM: u8 = 3;

/// Why there is no answer.
enum Failure {
    /// The node cannot be reached, so that it does not have the request.
    Unreachable,
    /// It is not known whether the request was executed.
    Unknown,
}

fn ask(from: &Node<()>, to: Address, request: [u8; 3]) -> Result<[u8; 2], Failure> {
    let mut stream = from.connect(to).map_err(|error| match error.kind() {
        ErrorKind::TimedOut => Failure::Unreachable,
        _ => Failure::Unknown,
    })?;
    let mut answer = [0; 2];
    let answered = stream.write_all(&request).and_then(|()| stream.read_exact(&mut answer));
    answered.map(|()| answer).map_err(|_| Failure::Unknown)
}

/// Answers requests for ever, each connection in a worker of its own.
fn serve(listener: Listener<()>, answer: impl Fn([u8; 3]) -> (bool, u8) + Send + Sync + 'static) {
    let answer = Arc::new(answer);
    coyote::thread::spawn(move || {
        loop {
            let mut stream: Stream = listener.accept();
            let answer = answer.clone();
            coyote::thread::spawn(move || {
                let mut request = [0; 3];
                if stream.read_exact(&mut request).is_ok() {
                    let (done, value) = answer(request);
                    // Nobody may be there to be told.
                    let _told = stream.write_all(&[u8::from(done), value]);
                }
            });
        }
    });
}

#[derive(Default)]
struct State {
    version: u8,
    value: u8,
    /// It goes on without the other one.
    alone: bool,
    /// The other one goes on without it.
    left: bool,
}

struct Replica {
    network: Network<()>,
    node: Node<()>,
    rule: Alone,
    state: Mutex<State>,
}

impl Replica {
    fn start(network: &Network<()>, name: &str, rule: Alone) {
        let node = network.node(name);
        let listener = node.listen(PORT).expect("the port is free");
        let replica = Replica { network: network.clone(), node, rule, state: Mutex::default() };
        serve(listener, move |request| replica.answer(request));
    }

    fn is_backup(&self) -> bool {
        self.node.name() == BACKUP
    }

    fn answer(&self, [what, first, second]: [u8; 3]) -> (bool, u8) {
        if what == COPY {
            let mut state = self.state.lock();
            if state.alone && self.rule == Alone::ByWitness {
                return (false, 0);
            }
            if first > state.version {
                (state.version, state.value) = (first, second);
            }
            return (true, 0);
        }
        // A backup is asked by a client only if that cannot reach the primary.
        if self.is_backup() && !self.goes_alone() {
            return (false, 0);
        }
        let (version, value) = {
            let mut state = self.state.lock();
            if what == WRITE {
                (state.version, state.value) = (state.version + 1, first);
            }
            (state.version, state.value)
        };
        (self.is_backup() || self.copies(version, value), value)
    }

    /// Whether the backup has what the primary is about to tell, or is not needed.
    fn copies(&self, version: u8, value: u8) -> bool {
        let (alone, left) = {
            let state = self.state.lock();
            (state.alone, state.left)
        };
        if alone || left {
            return alone;
        }
        match ask(&self.node, self.network.address(BACKUP, PORT), [COPY, version, value]) {
            Ok([1, _]) => true,
            Ok(_) => {
                self.state.lock().left = true;
                false
            }
            Err(_) => self.goes_alone(),
        }
    }

    /// Goes on without the other one, if that is allowed.
    fn goes_alone(&self) -> bool {
        if self.state.lock().alone {
            return true;
        }
        let claim = [CLAIM, u8::from(self.is_backup()), 0];
        let allowed = match self.rule {
            Alone::Always => true,
            Alone::ByWitness => {
                ask(&self.node, self.network.address(WITNESS, PORT), claim).is_ok_and(|a| a[0] == 1)
            }
        };
        if allowed {
            self.state.lock().alone = true;
        }
        allowed
    }
}

/// Allows the first who asks to go on alone, and nobody else.
fn start_witness(network: &Network<()>) {
    let listener = network.node(WITNESS).listen(PORT).expect("the port is free");
    let allowed = Mutex::new(None);
    serve(listener, move |[_, who, _]| (*allowed.lock().get_or_insert(who) == who, 0));
}

#[derive(Clone, Debug)]
enum Call {
    Read,
    Write(u8),
}

/// What one register does.
struct Register;

impl Model for Register {
    type Call = Call;
    type Return = u8;
    type State = u8;

    fn initial(&self) -> u8 {
        0
    }

    fn step(&self, state: &u8, call: &Call, returned: Option<&u8>) -> Option<u8> {
        match call {
            Call::Read => returned.is_none_or(|value| value == state).then_some(*state),
            Call::Write(value) => Some(*value),
        }
    }
}

static CLOCK: Clock = Clock::new();

type History = Log<'static, Call, u8>;

struct Client {
    network: Network<()>,
    node: Node<()>,
    server: &'static str,
    log: History,
}

impl Client {
    fn new(network: &Network<()>, name: &str) -> Client {
        Client { network: network.clone(), node: network.node(name), server: PRIMARY, log: CLOCK.log() }
    }

    /// What was not done, or what nobody knows of, has no end.
    fn execute(&mut self, call: Call) {
        let request = match call {
            Call::Read => [READ, 0, 0],
            Call::Write(value) => [WRITE, value, 0],
        };
        let begun = self.log.begin(call);
        let mut answer = ask(&self.node, self.network.address(self.server, PORT), request);
        if let Err(Failure::Unreachable) = answer {
            self.server = BACKUP;
            answer = ask(&self.node, self.network.address(BACKUP, PORT), request);
        }
        if let Ok([1, value]) = answer {
            self.log.end(begun, value);
        }
    }
}

fn explore(rule: Alone) {
    let network = Network::new(Delivery::Unordered, [PRIMARY, BACKUP, WITNESS, "writer", "reader"]);
    Replica::start(&network, PRIMARY, rule);
    Replica::start(&network, BACKUP, rule);
    start_witness(&network);
    let (mut writer, mut reader) = (Client::new(&network, "writer"), Client::new(&network, "reader"));
    let logs = coyote::thread::scope(|scope| {
        let writer = scope.spawn(move || {
            writer.execute(Call::Write(1));
            writer.execute(Call::Read);
            writer.execute(Call::Read);
            writer.log
        });
        let reader = scope.spawn(move || {
            reader.execute(Call::Write(2));
            reader.execute(Call::Read);
            reader.log
        });
        [writer.join(), reader.join()]
    });
    linearize::assert(&Register, logs);
}

#[coyote::test]
fn split_brain() {
    explore(Alone::Always);
}

#[coyote::test]
fn split_brain_fixed() {
    explore(Alone::ByWitness);
}
