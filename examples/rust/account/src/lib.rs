//! Check-then-act on a bank account: every access is locked, and the program is wrong.
//!
//! `withdraw` looks at the balance under the lock, releases it, and takes the money under the lock
//! again. In between another withdrawal may have taken it. There is no data race here, so no race
//! detector sees this.
//!
//! Expected: `overdraft` fails its assertion; `overdraft_fixed`, which keeps the lock, passes.

use coyote::sync::Mutex;
use coyote::thread::scope;

/// Rounds of each worker. With one alone, the first worker has mostly ended before the second starts.
const ROUNDS: u32 = 5;

struct Account {
    balance: Mutex<i64>,
}

impl Account {
    fn withdraw(&self, amount: i64) -> bool {
        let enough = *self.balance.lock() >= amount;
        if enough {
            self.change(-amount);
        }
        enough
    }

    fn withdraw_fixed(&self, amount: i64) -> bool {
        let mut balance = self.balance.lock();
        let enough = *balance >= amount;
        if enough {
            *balance -= amount;
        }
        enough
    }

    fn change(&self, amount: i64) {
        let mut balance = self.balance.lock();
        *balance += amount;
        assert!(*balance >= 0, "the account is overdrawn: its balance is {balance:?}");
    }
}

/// Two workers withdraw 60 from 100, and bring it back.
fn run(withdraw: fn(&Account, i64) -> bool) {
    let account = Account { balance: Mutex::new(100) };
    let account = &account;
    let worker = move || {
        for _ in 0..ROUNDS {
            if withdraw(account, 60) {
                account.change(60);
            }
        }
    };
    scope(|scope| {
        scope.spawn(worker);
        scope.spawn(worker);
    });
    assert_eq!(*account.balance.lock(), 100);
}

/// Looks and takes under the lock, but lets go of it in between.
#[coyote::test]
fn overdraft() {
    run(Account::withdraw);
}

/// Looks and takes under one lock.
#[coyote::test]
fn overdraft_fixed() {
    run(Account::withdraw_fixed);
}
