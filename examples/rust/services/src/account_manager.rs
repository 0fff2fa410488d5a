//! A service that creates, updates and deletes accounts in a database that other instances of the service use as well, after Coyote's
//! samples AccountManager and AccountManager.ETags.
//!
//! *Specification:* of two requests to create an account, one creates it and the other hears that it exists; and so with
//! requests to delete it. No request fails. An update to a newer version is not undone by one to an older version.
//!
//! *Bug:* the service looks at the row first, and then acts as if nothing had changed since. The second `insert` finds a row that
//! exists, the second `delete` finds none, and the older version is written over the newer one.
//!
//! *Correction:* the answer of the database counts, not what was seen before. An update is written only if the row
//! still has the version (ETag) that was read, else it is read again.

use crate::database::{DatabaseError, Table};
use coyote::task;
use std::sync::Arc;

#[derive(Clone, Debug, PartialEq)]
struct Account {
    address: &'static str,
    /// Of the address, as clients number it.
    version: u32,
}

/// An instance of the service.
struct AccountManager {
    accounts: Table<Account>,
    /// The bug.
    trusts_its_look: bool,
}

impl AccountManager {
    fn new(trusts_its_look: bool) -> Arc<AccountManager> {
        Arc::new(AccountManager { accounts: Table::new("accounts"), trusts_its_look })
    }

    /// Whether there was no such account.
    async fn create(&self, name: &str, account: Account) -> Result<bool, DatabaseError> {
        if self.accounts.exists(name).await {
            return Ok(false);
        }
        match self.accounts.insert(name, account).await {
            Err(DatabaseError::AlreadyExists(_)) if !self.trusts_its_look => Ok(false),
            result => result.map(|()| true),
        }
    }

    /// Whether there was such an account.
    async fn delete(&self, name: &str) -> Result<bool, DatabaseError> {
        if !self.accounts.exists(name).await {
            return Ok(false);
        }
        match self.accounts.delete(name).await {
            Err(DatabaseError::NotFound(_)) if !self.trusts_its_look => Ok(false),
            result => result.map(|()| true),
        }
    }

    /// Whether there was an older version.
    async fn update(&self, name: &str, account: Account) -> Result<bool, DatabaseError> {
        loop {
            let (former, tag) = self.accounts.get(name).await?;
            if former.version >= account.version {
                return Ok(false);
            }
            let tag = (!self.trusts_its_look).then_some(tag);
            match self.accounts.replace(name, account.clone(), tag).await {
                Err(DatabaseError::Changed(_)) => {}
                result => return result.map(|()| true),
            }
        }
    }
}

const HARBOUR: Account = Account { address: "Harbour Road", version: 1 };
const STATION: Account = Account { address: "Station Road", version: 2 };
const MARKET: Account = Account { address: "Market Square", version: 3 };

/// The answers to two requests that come at the same time.
async fn answers<F>(request: &str, first: F, second: F) -> [bool; 2]
where
    F: Future<Output = Result<bool, DatabaseError>> + Send + 'static,
{
    let start = |name: &str, future: F| {
        let request = request.to_string();
        task::Builder::new().name(format!("{name} {request}")).spawn(async move {
            future.await.unwrap_or_else(|error| panic!("the request to {request} the account fails: {error}"))
        })
    };
    let (first, second) = (start("first", first), start("second", second));
    [first.await.expect("nobody aborts it"), second.await.expect("nobody aborts it")]
}

fn create_twice(trusts_its_look: bool) {
    task::block_on(async {
        let manager = AccountManager::new(trusts_its_look);
        let create = || {
            let manager = manager.clone();
            async move { manager.create("ann", HARBOUR).await }
        };
        let [first, second] = answers("create", create(), create()).await;
        assert!(first ^ second, "the account is created by {} requests", first as u32 + second as u32);
    });
}

fn delete_twice(trusts_its_look: bool) {
    task::block_on(async {
        let manager = AccountManager::new(trusts_its_look);
        manager.create("ann", HARBOUR).await.expect("there is none");
        let delete = || {
            let manager = manager.clone();
            async move { manager.delete("ann").await }
        };
        let [first, second] = answers("delete", delete(), delete()).await;
        assert!(first ^ second, "the account is deleted by {} requests", first as u32 + second as u32);
    });
}

fn update_twice(trusts_its_look: bool) {
    task::block_on(async {
        let manager = AccountManager::new(trusts_its_look);
        manager.create("ann", HARBOUR).await.expect("there is none");
        let update = |account: Account| {
            let manager = manager.clone();
            async move { manager.update("ann", account).await }
        };
        let [_, newest] = answers("update", update(STATION), update(MARKET)).await;
        assert!(newest, "version 3 is refused");
        let (account, _) = manager.accounts.get("ann").await.expect("nobody deletes it");
        let version = account.version;
        assert!(
            version == 3,
            "the update to version 3 is acknowledged, and overwritten by version {version}"
        );
    });
}

/// Both requests see no account, and the second one's `insert` fails.
#[coyote::test]
fn account_created_twice() {
    create_twice(true);
}

/// Who cannot insert the row answers that the account exists.
#[coyote::test]
fn account_created_twice_fixed() {
    create_twice(false);
}

/// Both requests see the account, and the second one's `delete` fails.
#[coyote::test]
fn account_deleted_twice() {
    delete_twice(true);
}

/// Who cannot delete the row answers that there is no account.
#[coyote::test]
fn account_deleted_twice_fixed() {
    delete_twice(false);
}

/// Both updates see version 1, and version 2 is written last.
#[coyote::test]
fn account_update_lost() {
    update_twice(true);
}

/// Version 2 is not written over what it has not seen.
#[coyote::test]
fn account_update_lost_fixed() {
    update_twice(false);
}
