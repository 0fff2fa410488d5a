//! Check-then-act on a bank account: every access is locked, and the program is wrong.
//!
//! `withdraw` looks at the balance under the lock, releases it, and takes the money under the lock
//! again. In between another withdrawal may have taken it. There is no data race here, so no race
//! detector sees this.
//!
//! Expected: `overdraft` fails its assertion; `overdraft_fixed`, which keeps the lock, passes.

use coyote::sync::Mutex;
use coyote::thread::scope;

struct Account {
    balance: Mutex<i64>,
}

impl Account {
    fn withdraw(&self, amount: i64) -> bool {
        let enough = *self.balance.lock() >= amount;
        if enough {
            *self.balance.lock() -= amount;
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
}

fn withdraw_twice(withdraw: fn(&Account, i64) -> bool) {
    let account = Account { balance: Mutex::new(100) };
    let account = &account;
    scope(|scope| {
        scope.spawn(|| withdraw(account, 60));
        scope.spawn(|| withdraw(account, 60));
    });
    let balance = *account.balance.lock();
    assert!(balance >= 0, "the account is overdrawn: its balance is {balance}");
}

/// Two withdrawals of 60 from 100.
#[coyote::test]
fn overdraft() {
    withdraw_twice(Account::withdraw);
}

/// The same with check and withdrawal under one lock.
#[coyote::test]
fn overdraft_fixed() {
    withdraw_twice(Account::withdraw_fixed);
}
