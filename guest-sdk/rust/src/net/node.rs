//! Nodes that are started: a function is the program of the node, whose workers end together if the node crashes
//! (`--faults crash.node`), and which then runs again.
//!
//! The host ends the workers, and posts a semaphore at which another worker waits: the *power supply* of the node, which
//! does not belong to it. That worker takes the node's sockets and connections away, and starts the program again, by
//! choice at once or after [`Config::outage`](super::Config::outage).
#![allow(unsafe_code)] // One import, with the address of a text.

use super::link::Wires;
use super::{Inbox, Node};
use crate::sync::Semaphore;
use crate::task::section::Section;
use crate::task::sync::queue::wake_all;
use crate::thread::{self, Builder, JoinHandle};
use crate::{fault, nondet, sys};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

/// A node that was started: see [`Node::start`]. Dropping it lets the node run.
pub struct Running {
    supply: JoinHandle<()>,
}

impl Running {
    /// Waits until the node's program has returned, be it after a crash.
    pub fn join(self) {
        self.supply.join();
    }
}

impl fmt::Debug for Running {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("Running").finish_non_exhaustive()
    }
}

/// What the power supply and the program share.
struct Life {
    /// Posted when the program has returned, and by the host when the node has crashed.
    over: Semaphore,
    returned: AtomicBool,
}

impl<M: Clone + Send + 'static> Node<M> {
    /// Starts the program of the node, in a worker of its own. The workers and tasks that it starts belong to the node.
    ///
    /// With `--faults crash.node`, the node may crash before each of its operations on the network, and before and after
    /// its syncs of files. All its workers end then, wherever they are: nothing is dropped, as in a loss of power. What
    /// they have sent still arrives; what was sent to them is lost, and their connections are reset. Of files that they
    /// wrote, what was synced is kept. Afterwards `program` is called again, by choice at once or after
    /// [`Config::outage`](super::Config::outage).
    ///
    /// Nodes are in one memory, so nothing is reset there: let `program` keep the node's state in variables of its own, not
    /// in statics, nor in what it captures, which a machine would have lost. Nodes must share nothing but the network.
    ///
    /// When `program` returns, the node is done, and does not crash any more. A program that serves for ever is no
    /// deadlock at the end of the test.
    pub fn start(&self, program: impl Fn(&Node<M>) + Send + Sync + 'static) -> Running {
        let node = self.clone();
        let wires = {
            let _section = Section::enter();
            Arc::clone(&node.network.wires)
        };
        wires.nodes_start();
        let program = Arc::new(program);
        let supply = Builder::new().name(format!("power of {}", self.name));
        Running { supply: supply.spawn(move || supply_power(&node, &wires, &program)) }
    }

    /// Takes from the node what it had when it crashed.
    fn crashed(&self, wires: &Wires) {
        let inbox = self.inbox();
        let ends = inbox.step(|inbox| inbox.crash(self.number, wires));
        for end in ends {
            wake_all(end.crash());
        }
    }
}

impl<M> Inbox<M> {
    /// The node crashes: nothing is bound any more. Returns its ends of connections, which are to be told.
    fn crash(&mut self, node: u32, wires: &Wires) -> Vec<super::stream::End> {
        self.crashes += 1;
        let mut sockets = std::mem::take(&mut self.sockets);
        for (port, mailbox) in &mut sockets {
            let late = mailbox.late(node, wires);
            self.late.extend(late.into_iter().map(|letter| (*port, letter)));
        }
        // Nothing is dropped of what a dead machine had.
        std::mem::forget((sockets, std::mem::take(&mut self.listeners)));
        std::mem::take(&mut self.ends)
    }
}

/// Runs the program of a node until it returns.
fn supply_power<M, P>(node: &Node<M>, wires: &Wires, program: &Arc<P>)
where
    M: Clone + Send + 'static,
    P: Fn(&Node<M>) + Send + Sync + 'static,
{
    let life = Arc::new(Life { over: Semaphore::new(0), returned: AtomicBool::new(false) });
    loop {
        let (own, program, own_life) = (node.clone(), Arc::clone(program), Arc::clone(&life));
        let worker = Builder::new().name(node.name).spawn(move || {
            enter(&own_life.over, own.name);
            program(&own);
            fault::choose("!crash.node", 1);
            // SAFETY: there is no text.
            unsafe { sys::node(0, 0, 0) };
            own_life.returned.store(true, Ordering::Release);
            own_life.over.release();
        });
        // It may end without having returned.
        drop(worker);
        life.over.acquire();
        if life.returned.load(Ordering::Acquire) {
            return;
        }
        node.crashed(wires);
        if nondet::bool() {
            thread::sleep(wires.outage());
        }
    }
}

/// The calling worker is the first one of a node.
fn enter(over: &Semaphore, name: &str) {
    // SAFETY: the text is initialised, being a string.
    sys::with_text(name, |text, length| unsafe { sys::node(over.address(), text, length) });
}
