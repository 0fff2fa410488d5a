//! A gallery that keeps accounts in a database and images in a store of blobs, after Coyote's sample ImageGallery.
//!
//! *Specification:* no request answers with an internal error; and when an account is deleted, none of its images stays.
//!
//! *Bugs:* the account is looked up first, and may be deleted before it is used.
//! - `gallery_update_fails`: the row cannot be replaced, and the error of the database becomes an internal error.
//! - `gallery_orphan`: the image is stored after the images of the account were deleted, and nobody can ever delete it.
//!
//! *Correction:* a row that is not there any more is an account that is not found. Who has stored an image looks at the
//! account again: if it is gone, the image may be an orphan and is deleted; if it is there, who deletes the account later
//! deletes the image too.

use crate::database::{DatabaseError, Table};
use coyote::task::{self, JoinHandle};
use std::sync::Arc;

/// What clients get.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Status {
    Ok,
    NotFound,
    InternalError,
}

impl From<DatabaseError> for Status {
    fn from(_: DatabaseError) -> Status {
        Status::InternalError
    }
}

struct Gallery {
    accounts: Table<&'static str>,
    images: Table<Vec<u8>>,
    /// The bug.
    looks_once: bool,
}

impl Gallery {
    fn new(looks_once: bool) -> Arc<Gallery> {
        Arc::new(Gallery { accounts: Table::new("accounts"), images: Table::new("images"), looks_once })
    }

    async fn update_account(&self, name: &str, email: &'static str) -> Result<Status, Status> {
        if !self.accounts.exists(name).await {
            return Ok(Status::NotFound);
        }
        match self.accounts.replace(name, email, None).await {
            Err(DatabaseError::NotFound(_)) if !self.looks_once => Ok(Status::NotFound),
            result => Ok(result.map(|()| Status::Ok)?),
        }
    }

    /// First the account, so that no new images come, and then all of its images.
    async fn delete_account(&self, name: &str) -> Result<Status, Status> {
        match self.accounts.delete(name).await {
            Err(DatabaseError::NotFound(_)) => Ok(Status::NotFound),
            result => {
                result?;
                self.images.delete_all(&format!("{name}/")).await;
                Ok(Status::Ok)
            }
        }
    }

    async fn store_image(&self, name: &str, image: &str) -> Result<Status, Status> {
        if !self.accounts.exists(name).await {
            return Ok(Status::NotFound);
        }
        let blob = format!("{name}/{image}");
        self.images.put(&blob, image.into()).await;
        if self.looks_once || self.accounts.exists(name).await {
            return Ok(Status::Ok);
        }
        match self.images.delete(&blob).await {
            // Who deleted the account was faster.
            Ok(()) | Err(DatabaseError::NotFound(_)) => Ok(Status::NotFound),
            Err(error) => Err(error.into()),
        }
    }
}

/// A request as a task of its own.
fn request<F>(name: &'static str, answer: F) -> JoinHandle<Status>
where
    F: Future<Output = Result<Status, Status>> + Send + 'static,
{
    task::Builder::new().name(name).spawn(async move {
        let status = answer.await.unwrap_or_else(|status| status);
        assert!(status != Status::InternalError, "the answer to `{name}` is an internal error");
        status
    })
}

fn update_and_delete(looks_once: bool) {
    task::block_on(async {
        let gallery = Gallery::new(looks_once);
        gallery.accounts.insert("ann", "ann@old").await.expect("there is none");
        let (updates, deletes) = (gallery.clone(), gallery.clone());
        let update = request("update", async move { updates.update_account("ann", "ann@new").await });
        let delete = request("delete", async move { deletes.delete_account("ann").await });
        update.await.expect("nobody aborts it");
        assert_eq!(delete.await, Ok(Status::Ok), "the account is not deleted");
    });
}

fn store_and_delete(looks_once: bool) {
    task::block_on(async {
        let gallery = Gallery::new(looks_once);
        gallery.accounts.insert("ann", "ann@old").await.expect("there is none");
        let (stores, deletes) = (gallery.clone(), gallery.clone());
        let store = request("store", async move { stores.store_image("ann", "cat").await });
        let delete = request("delete", async move { deletes.delete_account("ann").await });
        store.await.expect("nobody aborts it");
        assert_eq!(delete.await, Ok(Status::Ok), "the account is not deleted");
        let orphans = gallery.images.keys().await;
        assert!(orphans.is_empty(), "the account is deleted, but not its images {orphans:?}");
    });
}

/// The account is deleted between the look at it and its update.
#[coyote::test]
fn gallery_update_fails() {
    update_and_delete(true);
}

/// A row that is gone is an account that is not found.
#[coyote::test]
fn gallery_update_fails_fixed() {
    update_and_delete(false);
}

/// The account is deleted between the look at it and the store of an image.
#[coyote::test]
fn gallery_orphan() {
    store_and_delete(true);
}

/// Who has stored an image looks at the account again.
#[coyote::test]
fn gallery_orphan_fixed() {
    store_and_delete(false);
}
