//! Stores of the cloud in memory: a table of rows with keys. Blobs are rows whose keys are their names.
//!
//! A request is on its way for a while, in which any other may overtake it. What it does then is done at once.

use coyote::nondet;
use coyote::sync::Mutex;
use coyote::task;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// Why a request fails.
#[derive(Clone, Debug, PartialEq)]
pub enum DatabaseError {
    AlreadyExists(String),
    NotFound(String),
    /// The row has changed since the caller has read it.
    Changed(String),
    /// The database has failed, and changed nothing.
    Unavailable,
}

impl fmt::Display for DatabaseError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            DatabaseError::AlreadyExists(key) => write!(f, "the row `{key}` already exists"),
            DatabaseError::NotFound(key) => write!(f, "there is no row `{key}`"),
            DatabaseError::Changed(key) => write!(f, "the row `{key}` has changed since it was read"),
            DatabaseError::Unavailable => write!(f, "the database is unavailable"),
        }
    }
}

/// A version of a row: each change gives it another one.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ETag(u32);

struct Rows<T> {
    rows: BTreeMap<String, (T, ETag)>,
    changes: u32,
}

impl<T> Rows<T> {
    fn next(&mut self) -> ETag {
        self.changes += 1;
        ETag(self.changes)
    }
}

pub struct Table<T> {
    name: &'static str,
    rows: Mutex<Rows<T>>,
    may_fail: AtomicBool,
}

impl<T: Clone> Table<T> {
    pub fn new(name: &'static str) -> Table<T> {
        Table {
            name,
            rows: Mutex::new(Rows { rows: BTreeMap::new(), changes: 0 }),
            may_fail: AtomicBool::new(false),
        }
    }

    /// Whether the next insertions may fail, until one does.
    pub fn may_fail(&self, may_fail: bool) {
        self.may_fail.store(may_fail, Relaxed);
    }

    /// What is done at once comes after this line of the log.
    async fn request(&self, operation: &str, key: &str) {
        task::yield_now().await;
        coyote::log!("{}: {operation} `{key}`", self.name);
    }

    /// The row and its version.
    pub async fn get(&self, key: &str) -> Result<(T, ETag), DatabaseError> {
        self.request("get", key).await;
        self.rows.lock().rows.get(key).cloned().ok_or_else(|| DatabaseError::NotFound(key.into()))
    }

    pub async fn exists(&self, key: &str) -> bool {
        self.get(key).await.is_ok()
    }

    /// Adds a row that must not be there.
    pub async fn insert(&self, key: &str, row: T) -> Result<(), DatabaseError> {
        self.request("insert", key).await;
        let mut rows = self.rows.lock();
        if self.may_fail.load(Relaxed) && nondet::bool() {
            self.may_fail(false);
            return Err(DatabaseError::Unavailable);
        }
        let tag = rows.next();
        match rows.rows.entry(key.into()) {
            Entry::Occupied(_) => Err(DatabaseError::AlreadyExists(key.into())),
            Entry::Vacant(entry) => {
                entry.insert((row, tag));
                Ok(())
            }
        }
    }

    /// Changes a row that must be there, in this version if one is given.
    pub async fn replace(&self, key: &str, row: T, version: Option<ETag>) -> Result<(), DatabaseError> {
        self.request("replace", key).await;
        let mut rows = self.rows.lock();
        let tag = rows.next();
        let former = rows.rows.get_mut(key).ok_or_else(|| DatabaseError::NotFound(key.into()))?;
        if version.is_some_and(|version| version != former.1) {
            return Err(DatabaseError::Changed(key.into()));
        }
        *former = (row, tag);
        Ok(())
    }

    /// Adds a row or changes it.
    pub async fn put(&self, key: &str, row: T) {
        self.request("put", key).await;
        let mut rows = self.rows.lock();
        let tag = rows.next();
        rows.rows.insert(key.into(), (row, tag));
    }

    pub async fn delete(&self, key: &str) -> Result<(), DatabaseError> {
        self.request("delete", key).await;
        let deleted = self.rows.lock().rows.remove(key);
        deleted.map(drop).ok_or_else(|| DatabaseError::NotFound(key.into()))
    }

    /// Deletes all rows whose keys begin like this.
    pub async fn delete_all(&self, prefix: &str) {
        self.request("delete all", prefix).await;
        self.rows.lock().rows.retain(|key, _| !key.starts_with(prefix));
    }

    /// The keys of all rows.
    pub async fn keys(&self) -> Vec<String> {
        self.request("list", "").await;
        self.rows.lock().rows.keys().cloned().collect()
    }
}
