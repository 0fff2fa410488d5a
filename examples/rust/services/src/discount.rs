//! Orders that pass many stages, each of them a task that waits for the one before it: 280 tasks in an execution, as the tests
//! of the service in Coyote's paper have on average (TACAS 2023, section 5.1).
//!
//! An order that begins takes over the discount of the next order of the same customer, if that one is settled already.
//!
//! *Specification:* a discount is at most 100 %.
//!
//! *Bug:* nobody limits it. It shows only if each order begins after all stages of the next one: `two_orders` are too many
//! for a limit of 50 %, `four_orders` for one of 100 %. A strategy with a priority for each task has to draw all priorities
//! of an order's tasks above that of the first stage of the one before it. With priorities for chains (`pct-t`), the order of
//! two or four of them is enough.
//!
//! *Correction:* the discount is limited where it is taken over.

use coyote::sync::Mutex;
use coyote::task::{self, sync::oneshot};
use std::sync::Arc;
use std::time::Duration;

/// Clients and stages of all orders.
const TASKS: usize = 280;
/// Per cent, of each order.
const DISCOUNT: u32 = 30;

struct Shop {
    /// By order, its discount, once it is settled.
    settled: Mutex<Vec<Option<u32>>>,
    limit: u32,
    /// The correction.
    limited: bool,
}

impl Shop {
    /// The discount of an order that begins.
    fn begin(&self, order: usize) -> u32 {
        let next = self.settled.lock().get(order + 1).copied().flatten().unwrap_or(0);
        let discount = DISCOUNT + next;
        if self.limited { discount.min(self.limit) } else { discount }
    }

    fn settle(&self, order: usize, discount: u32) {
        assert!(
            discount <= self.limit,
            "order {order} has a discount of {discount} %, more than {} %",
            self.limit
        );
        self.settled.lock()[order] = Some(discount);
    }
}

/// Starts an order's stages, which wait, and returns what its client awaits when it begins.
fn stages(shop: &Arc<Shop>, order: usize, count: usize) -> (oneshot::Sender<u32>, task::JoinHandle<()>) {
    let (first, mut inbox) = oneshot::channel();
    for _ in 1..count {
        let (next, inbox_of_next) = oneshot::channel();
        let own = std::mem::replace(&mut inbox, inbox_of_next);
        task::spawn(async move {
            let discount = own.await.expect("the stage before it passes the order on");
            next.send(discount).expect("the next stage waits");
        });
    }
    let shop = shop.clone();
    let last = task::Builder::new().name(format!("last stage of order {order}")).spawn(async move {
        let discount = inbox.await.expect("the stage before it passes the order on");
        shop.settle(order, discount);
    });
    (first, last)
}

fn shop(orders: usize, limit: u32, limited: bool) {
    task::block_on(async {
        let settled = Mutex::new(vec![None; orders]);
        let shop = Arc::new(Shop { settled, limit, limited });
        let count = TASKS / orders - 1;
        let started: Vec<_> = (0..orders).map(|order| stages(&shop, order, count)).collect();
        // With `--timers ordered`, all stages wait by then.
        task::sleep(Duration::from_millis(1)).await;
        let client = |(order, (first, last)): (usize, (oneshot::Sender<u32>, task::JoinHandle<()>))| {
            let shop = shop.clone();
            task::Builder::new().name(format!("client of order {order}")).spawn(async move {
                first.send(shop.begin(order)).expect("the first stage waits");
                last.await.expect("nobody aborts it");
            })
        };
        let clients: Vec<_> = started.into_iter().enumerate().map(client).collect();
        for client in clients {
            client.await.expect("nobody aborts it");
        }
    });
}

/// Two orders of 139 stages: the second is settled before the first begins.
#[coyote::test]
fn two_orders() {
    shop(2, 50, false);
}

/// A discount is limited.
#[coyote::test]
fn two_orders_fixed() {
    shop(2, 50, true);
}

/// Four orders of 69 stages: each is settled before the one with the number below it begins.
#[coyote::test]
fn four_orders() {
    shop(4, 100, false);
}

/// A discount is limited.
#[coyote::test]
fn four_orders_fixed() {
    shop(4, 100, true);
}
