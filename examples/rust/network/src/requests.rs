//! A server whose clients ask again if they hear nothing, and which is to apply each request once all the same.

use coyote::net::{Delivery, Network, Socket};
use std::collections::BTreeSet;
use std::time::Duration;

const SERVER: u16 = 7;
const DEPOSITS: [u32; 2] = [10, 20];

#[derive(Clone)]
enum Message {
    /// The number of the request, and what to add.
    Deposit(u32, u32),
    Read(u32),
    /// The number of the request, and the balance behind it.
    Balance(u32, u32),
}

/// What the server remembers of requests that it has applied.
trait Applied: Default {
    /// Whether the request is new, which is then applied.
    fn is_new(&mut self, number: u32) -> bool;
}

/// The last one: enough if a request that is repeated comes right behind itself.
#[derive(Default)]
struct Last(u32);

impl Applied for Last {
    fn is_new(&mut self, number: u32) -> bool {
        std::mem::replace(&mut self.0, number) != number
    }
}

/// All.
#[derive(Default)]
struct All(BTreeSet<u32>);

impl Applied for All {
    fn is_new(&mut self, number: u32) -> bool {
        self.0.insert(number)
    }
}

fn serve<A: Applied>(socket: &Socket<Message>) {
    let (mut applied, mut balance) = (A::default(), 0);
    loop {
        let (message, client) = socket.recv();
        let number = match message {
            Message::Deposit(number, amount) => {
                if applied.is_new(number) {
                    balance += amount;
                }
                number
            }
            Message::Read(number) => number,
            Message::Balance(..) => unreachable!("a client does not answer"),
        };
        socket.send_to(Message::Balance(number, balance), client);
    }
}

/// What a client hears of a request, if it hears anything before it gives up.
fn ask(socket: &Socket<Message>, network: &Network<Message>, request: Message, number: u32) -> Option<u32> {
    socket.send_to(request, network.address("server", SERVER));
    loop {
        match socket.recv_timeout(Duration::from_secs(5))? {
            (Message::Balance(of, balance), _) if of == number => return Some(balance),
            // An answer from before.
            _ => {}
        }
    }
}

fn deposit<A: Applied>() {
    let network = Network::new(Delivery::Unordered, ["client", "server"]);
    let server = network.node("server").bind(SERVER).expect("the port is free");
    // It serves for ever.
    let _server = coyote::thread::spawn(move || serve::<A>(&server));
    let client = network.node("client").bind(1).expect("the port is free");
    let mut number = 0;
    for amount in DEPOSITS {
        number += 1;
        if ask(&client, &network, Message::Deposit(number, amount), number).is_none() {
            return;
        }
    }
    number += 1;
    let balance = ask(&client, &network, Message::Read(number), number);
    let sum: u32 = DEPOSITS.iter().sum();
    assert!(balance.is_none_or(|balance| balance == sum), "a deposit is applied twice: {balance:?}");
}

#[coyote::test]
fn late_copy() {
    deposit::<Last>();
}

#[coyote::test]
fn late_copy_fixed() {
    deposit::<All>();
}
