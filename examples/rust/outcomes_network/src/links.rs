//! Links as the program wants them.

use coyote::net::{Delivery, Network, Stream};
use coyote::{fault, task, thread};
use std::io::{ErrorKind, Read, Write};
use std::time::Duration;

const SECOND: Duration = Duration::from_secs(1);

#[coyote::test]
fn cut_held_and_slow() {
    let network = Network::new(Delivery::Ordered, ["a", "b"]);
    let (a, b) = (network.node("a").bind(1).unwrap(), network.node("b").bind(1).unwrap());
    let arrived = || b.try_recv().map(|(message, _)| message);
    network.cut("a", "b");
    a.send_to(1, b.address());
    b.send_to(2, a.address());
    assert_eq!(a.recv(), (2, b.address()), "the other direction is not cut");
    network.heal("a", "b");
    assert_eq!(arrived(), None, "it is lost");
    network.hold("a", "b");
    a.send_to(3, b.address());
    a.send_to(4, b.address());
    assert_eq!(arrived(), None);
    network.heal("a", "b");
    assert_eq!([arrived(), arrived(), arrived()], [Some(3), Some(4), None], "it was only held back");
    network.slow("a", "b", 5 * SECOND);
    a.send_to(5, b.address());
    network.heal("a", "b");
    a.send_to(6, b.address());
    assert_eq!(arrived(), None, "6 comes behind 5");
    let before = coyote::now();
    assert_eq!((b.recv().0, b.recv().0), (5, 6));
    assert_eq!((coyote::now() - before).as_secs(), 5);
    network.isolate("b");
    a.send_to(7, b.address());
    b.send_to(8, a.address());
    network.heal_all();
    assert_eq!((arrived(), a.try_recv()), (None, None));
    assert_eq!(b.recv_timeout(SECOND), None);
}

/// A receiver that waits is told when what was held back may come.
#[coyote::test]
fn healed_while_waited_for() {
    let network = Network::new(Delivery::Unordered, ["a", "b"]);
    let (a, b) = (network.node("a").bind(1).unwrap(), network.node("b").bind(1).unwrap());
    network.hold("a", "b");
    a.send_to(1, b.address());
    thread::scope(|scope| {
        scope.spawn(|| network.heal("a", "b"));
        assert_eq!(b.recv().0, 1);
    });
}

fn kind<T>(result: std::io::Result<T>) -> ErrorKind {
    result.map(drop).unwrap_err().kind()
}

/// A stream keeps what it has as long as its link is cut, and breaks if that takes too long.
#[coyote::test]
fn streams_over_links() {
    let network = Network::<()>::new(Delivery::Unordered, ["a", "b"]);
    let listener = network.node("b").listen(1).unwrap();
    let node = network.node("a");
    assert_eq!(kind(node.connect(network.address("b", 2))), ErrorKind::ConnectionRefused);
    let mut client = node.connect(listener.address()).unwrap();
    let mut server = listener.accept();
    assert_eq!((server.peer_address().node(), client.peer_address()), ("a", listener.address()));
    network.cut("a", "b");
    client.write_all(b"x").unwrap();
    let mut byte = [0];
    let reads = task::block_on(task::timeout(SECOND, server.read_async(&mut byte)));
    assert!(reads.is_err(), "it is not there");
    network.heal("a", "b");
    assert_eq!((server.read(&mut byte).unwrap(), byte), (1, *b"x"));
    network.cut("b", "a");
    let before = coyote::now();
    assert_eq!(kind(client.read(&mut byte)), ErrorKind::TimedOut);
    assert_eq!(kind(node.connect(listener.address())), ErrorKind::TimedOut);
    assert_eq!((coyote::now() - before).as_secs(), 30);
    fault::stop();
    network.heal_all();
    assert_eq!(kind(server.write(b"y")), ErrorKind::TimedOut, "it stays broken");
    let mut again = node.connect(listener.address()).unwrap();
    let mut server = listener.accept();
    server.write_all(b"z").unwrap();
    drop(server);
    let mut rest = Vec::new();
    assert_eq!((again.read_to_end(&mut rest).unwrap(), rest), (1, b"z".to_vec()));
    again.write_all(b"lost").unwrap();
    assert_eq!(kind(again.write(b"more")), ErrorKind::ConnectionReset, "nobody reads any more");
}

/// A connection from node "a" to node "b", and its network.
fn connected() -> (Network<()>, Stream, Stream) {
    let network = Network::<()>::new(Delivery::Unordered, ["a", "b"]);
    let listener = network.node("b").listen(1).unwrap();
    let client = network.node("a").connect(listener.address()).unwrap();
    let server = listener.accept();
    (network, client, server)
}

/// That the other end is gone is known by an answer, which comes over the link; what was sent before is read first.
#[coyote::test]
fn answers_over_links() {
    let mut byte = [0];
    let (_, mut client, mut server) = connected();
    server.write_all(b"x").unwrap();
    drop(server);
    client.write_all(b"lost").unwrap();
    assert_eq!((client.read(&mut byte).unwrap(), byte), (1, *b"x"));
    assert_eq!(kind(client.read(&mut byte)), ErrorKind::ConnectionReset);
    assert_eq!(kind(client.write(b"more")), ErrorKind::ConnectionReset);

    let (network, mut client, server) = connected();
    network.cut("b", "a");
    drop(server);
    client.write_all(b"lost").unwrap();
    client.write_all(b"lost, too").unwrap();
    let reads = task::block_on(task::timeout(SECOND, client.read_async(&mut byte)));
    assert!(reads.is_err(), "neither the end nor the answer is there");
    network.heal_all();
    assert_eq!(kind(client.write(b"more")), ErrorKind::ConnectionReset);
}

/// Links hold back connections and the ends of streams; a cut that takes too long breaks what nobody uses.
#[coyote::test]
fn connections_over_links() {
    let network = Network::<()>::new(Delivery::Unordered, ["a", "b"]);
    let listener = network.node("b").listen(1).unwrap();
    network.hold("b", "a");
    let connects = thread::spawn({
        let (node, to) = (network.node("a"), listener.address());
        move || (node.connect(to).unwrap(), coyote::now().as_secs())
    });
    let server = listener.accept();
    thread::sleep(SECOND);
    network.heal("b", "a");
    let (mut client, at) = connects.join();
    assert_eq!(at, 1);

    network.slow("b", "a", SECOND);
    server.shutdown();
    assert_eq!((client.read(&mut [0]).unwrap(), coyote::now().as_secs()), (0, 2));

    let (network, mut client, _server) = connected();
    network.cut("a", "b");
    thread::sleep(31 * SECOND);
    network.heal("a", "b");
    assert_eq!(kind(client.write(b"x")), ErrorKind::TimedOut);
}
