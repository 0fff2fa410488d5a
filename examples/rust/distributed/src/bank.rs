//! A bank: clients withdraw money by a server, which keeps balances in a database. After the first tutorial of P (client and server).
//!
//! *Specification:* the bank pays no more than was in the account.
//!
//! *Bug:* while the server waits for a balance, it takes the next request. Both ask for the balance before either is paid, and
//! each of them is enough for what is there.
//!
//! *Correction:* requests are deferred until the one before is answered.

use coyote::actor::{self, Actor, ActorRef, Context, States};

const DEPOSIT: u32 = 10;
const AMOUNT: u32 = 10;

/// To the server.
struct Withdraw {
    client: ActorRef,
    amount: u32,
}

/// To the client: it gets the money, or there is not enough.
struct Paid(u32);
struct Refused;

/// To the database.
struct ReadBalance {
    server: ActorRef,
    request: Withdraw,
}
struct WriteBalance(u32);

/// The answer of the database, with the request that needs it.
struct Balance {
    balance: u32,
    request: Withdraw,
}

struct Database {
    balance: u32,
}

impl Actor for Database {
    type State = ();

    fn states(states: &mut States<Database>) {
        states
            .start(())
            .on(|database: &mut Database, ctx, ReadBalance { server, request }| {
                ctx.send(&server, Balance { balance: database.balance, request });
            })
            .on(|database: &mut Database, _, WriteBalance(balance)| database.balance = balance);
    }
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum State {
    Ready,
    Reading,
}

struct Server {
    database: ActorRef,
    safety: ActorRef,
    /// The bug.
    takes_the_next: bool,
}

impl Actor for Server {
    type State = State;

    fn states(states: &mut States<Server>) {
        states.start(State::Ready).on(Server::withdraw).on(Server::pay);
        states.state(State::Reading).defer::<Withdraw>().goto_with(State::Ready, Server::pay);
    }
}

impl Server {
    fn withdraw(&mut self, ctx: &mut Context<Server>, request: Withdraw) {
        ctx.send(&self.database, ReadBalance { server: ctx.me(), request });
        if !self.takes_the_next {
            ctx.goto(State::Reading);
        }
    }

    fn pay(&mut self, ctx: &mut Context<Server>, Balance { balance, request }: Balance) {
        coyote::log!("{} asks for {} of {balance}", request.client.name(), request.amount);
        if balance < request.amount {
            return ctx.send(&request.client, Refused);
        }
        ctx.send(&self.database, WriteBalance(balance - request.amount));
        ctx.send(&self.safety, Paid(request.amount));
        ctx.send(&request.client, Paid(request.amount));
    }
}

struct Client {
    server: ActorRef,
}

impl Actor for Client {
    type State = ();

    fn states(states: &mut States<Client>) {
        states
            .start(())
            .entry(|client, ctx| {
                ctx.send(&client.server, Withdraw { client: ctx.me(), amount: AMOUNT });
            })
            .on(|_: &mut Client, ctx, _: Paid| ctx.halt())
            .on(|_: &mut Client, ctx, _: Refused| ctx.halt());
    }
}

/// The specification.
#[derive(Default)]
struct Safety {
    paid: u32,
}

impl Actor for Safety {
    type State = ();

    fn states(states: &mut States<Safety>) {
        states.start(()).on(|safety: &mut Safety, _, Paid(amount)| {
            safety.paid += amount;
            assert!(safety.paid <= DEPOSIT, "{} are paid of an account of {DEPOSIT}", safety.paid);
        });
    }
}

fn withdraw(takes_the_next: bool) {
    actor::log_events();
    let safety = actor::create("safety", Safety::default());
    let database = actor::create("database", Database { balance: DEPOSIT });
    let server = actor::create("server", Server { database, safety, takes_the_next });
    for number in 0..2 {
        actor::create(format!("client {number}"), Client { server: server.clone() });
    }
}

/// The server asks for the balance twice before it pays.
#[coyote::test]
fn bank() {
    withdraw(true);
}

/// The server answers one request after the other.
#[coyote::test]
fn bank_fixed() {
    withdraw(false);
}
