//! A register with two replicas, each a node with a file. A client writes to both, and is told by each that it keeps the
//! value; then each of them must have the value, whichever of them has crashed.
//!
//! - [`Mistake::InMemory`]: a replica keeps the value in memory alone.
//! - [`Mistake::Unsynced`]: it writes the value to its file, and tells the client before the file is synced.
//! - [`Mistake::FileReplaced`]: it writes a new file and renames that, but does not sync the directory.
//!
//! Run with `--points atomic`, since nodes share nothing but the network. Expected: `register` passes with
//! `--faults crash.node=2`, all others have a bug with `--faults crash.node=1`, and without crashes all pass.

use coyote::net::{Delivery, Network, Node, Socket};
use std::fs::{self, File, OpenOptions};
use std::io::{self, Seek, SeekFrom, Write};
use std::path::PathBuf;
use std::time::Duration;

const REPLICAS: [&str; 2] = ["left", "right"];
const PORT: u16 = 1;
const PATIENCE: Duration = Duration::from_secs(20);

#[derive(Clone, Copy, PartialEq)]
enum Mistake {
    None,
    InMemory,
    Unsynced,
    FileReplaced,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum Message {
    Write(u8),
    /// A replica keeps this value, or a later one.
    Kept(u8),
    Read,
    Value(u8),
}

fn path(replica: &str) -> PathBuf {
    format!("/{replica}/value").into()
}

#[coyote::setup]
fn setup() {
    for replica in REPLICAS {
        fs::create_dir(format!("/{replica}")).unwrap();
        fs::write(path(replica), [0]).unwrap();
    }
}

fn keep(replica: &str, value: u8, mistake: Mistake) -> io::Result<()> {
    match mistake {
        Mistake::InMemory => Ok(()),
        Mistake::FileReplaced => {
            let new = path(replica).with_extension("new");
            let mut file = File::create(&new)?;
            file.write_all(&[value])?;
            file.sync_all()?;
            fs::rename(new, path(replica))
        }
        Mistake::None | Mistake::Unsynced => {
            let mut file = OpenOptions::new().write(true).open(path(replica))?;
            file.seek(SeekFrom::Start(0))?;
            file.write_all(&[value])?;
            if mistake == Mistake::None { file.sync_data() } else { Ok(()) }
        }
    }
}

/// The program of a replica: it has what is in its file when it starts.
fn serve(node: &Node<Message>, mistake: Mistake) {
    let mut kept = fs::read(path(node.name())).expect("it is there from the beginning")[0];
    let socket = node.bind(PORT).expect("the port is free");
    loop {
        let (message, client) = socket.recv();
        match message {
            Message::Write(value) => {
                if value > kept {
                    keep(node.name(), value, mistake).expect("nothing is wrong with the disk");
                    kept = value;
                }
                socket.send_to(Message::Kept(value), client);
            }
            Message::Read => socket.send_to(Message::Value(kept), client),
            Message::Kept(_) | Message::Value(_) => {}
        }
    }
}

/// Asks a replica until it answers, since it may be down.
fn ask(
    network: &Network<Message>,
    socket: &Socket<Message>,
    replica: &str,
    question: Message,
    is_answer: fn(Message) -> bool,
) -> Message {
    let to = network.address(replica, PORT);
    loop {
        socket.send_to(question, to);
        while let Some((answer, from)) = socket.recv_timeout(PATIENCE) {
            if from == to && is_answer(answer) {
                return answer;
            }
        }
    }
}

fn use_register(mistake: Mistake) {
    let network = Network::new(Delivery::Unordered, ["left", "right", "client"]);
    for replica in REPLICAS {
        drop(network.node(replica).start(move |node| serve(node, mistake)));
    }
    let socket = network.node("client").bind(PORT).expect("the port is free");
    for replica in REPLICAS {
        ask(&network, &socket, replica, Message::Write(1), |answer| answer == Message::Kept(1));
    }
    for replica in REPLICAS {
        let answer = ask(&network, &socket, replica, Message::Read, |a| matches!(a, Message::Value(_)));
        assert_eq!(answer, Message::Value(1), "{replica} has lost the value that it keeps");
    }
}

#[coyote::test]
fn register() {
    use_register(Mistake::None);
}

#[coyote::test]
fn in_memory() {
    use_register(Mistake::InMemory);
}

#[coyote::test]
fn unsynced() {
    use_register(Mistake::Unsynced);
}

#[coyote::test]
fn file_replaced() {
    use_register(Mistake::FileReplaced);
}
