//! A service for images of pets: uploads go to a store of blobs, a row of the database says which blob an image is in, and
//! a worker makes thumbnails. After Coyote's sample PetImages.
//!
//! *Specification:* an image whose upload is acknowledged can be read, and its thumbnail is its own.
//!
//! *Bug:* the blob has the name of the image. Two uploads of one name write to the same blob before the database decides which of
//! them has created the image.
//! - `pets_blob_deleted`: the database fails for one of them, which deletes "its" blob again: that of the other one.
//! - `pets_wrong_thumbnail`: the one that is refused has written over the blob of the other one.
//!
//! *Correction:* each upload has a blob with a name of its own, which others know only from the row.

use crate::database::{DatabaseError, Table};
use coyote::task::{self, sync::mpsc};
use std::sync::Arc;

/// What can be seen in an image: stands for its bytes.
type Content = &'static str;

#[derive(Clone, Copy, Debug, PartialEq)]
enum Upload {
    Created,
    Conflict,
    Unavailable,
}

struct Stores {
    /// From the name of an image to that of its blob.
    images: Table<String>,
    blobs: Table<Content>,
    thumbnails: Table<Content>,
}

impl Stores {
    async fn read(&self, image: &str) -> Result<Content, DatabaseError> {
        let (blob, _) = self.images.get(image).await?;
        Ok(self.blobs.get(&blob).await?.0)
    }
}

struct PetImages {
    stores: Arc<Stores>,
    /// Names of images that need a thumbnail.
    jobs: mpsc::Sender<String>,
    /// The bug.
    shares_blobs: bool,
}

impl PetImages {
    /// `number` is another one for each upload.
    async fn upload(&self, number: u32, image: &str, content: Content) -> Upload {
        let Stores { images, blobs, .. } = &*self.stores;
        if images.exists(image).await {
            return Upload::Conflict;
        }
        let blob = if self.shares_blobs { image.to_string() } else { format!("{image}-{number}") };
        blobs.put(&blob, content).await;
        match images.insert(image, blob.clone()).await {
            Ok(()) => {
                self.jobs.send(image.into()).await.expect("the worker works");
                Upload::Created
            }
            Err(DatabaseError::AlreadyExists(_)) => Upload::Conflict,
            Err(_) => {
                let _deleted_already = blobs.delete(&blob).await;
                Upload::Unavailable
            }
        }
    }
}

async fn make_thumbnails(stores: Arc<Stores>, mut jobs: mpsc::Receiver<String>) {
    while let Some(image) = jobs.recv().await {
        if let Ok(content) = stores.read(&image).await {
            stores.thumbnails.put(&image, content).await;
        }
    }
}

/// Uploads two images of one name at the same time, and returns which one is acknowledged, with all that is stored.
async fn upload_two(shares_blobs: bool, database_fails: bool) -> (Option<Content>, Arc<Stores>) {
    let stores = Arc::new(Stores {
        images: Table::new("images"),
        blobs: Table::new("blobs"),
        thumbnails: Table::new("thumbnails"),
    });
    stores.images.may_fail(database_fails);
    let (jobs, jobs_to_do) = mpsc::channel(2);
    let worker = make_thumbnails(stores.clone(), jobs_to_do);
    let worker = task::Builder::new().name("thumbnails").spawn(worker);
    let service = Arc::new(PetImages { stores: stores.clone(), jobs, shares_blobs });
    let upload = |number, content| {
        let service = service.clone();
        let request = async move { service.upload(number, "tom", content).await };
        task::Builder::new().name(format!("upload of the {content}")).spawn(request)
    };
    let (cat, dog) = (upload(1, "cat"), upload(2, "dog"));
    let cat = cat.await.expect("nobody aborts it");
    let dog = dog.await.expect("nobody aborts it");
    // The worker ends with the last upload.
    drop(service);
    worker.await.expect("nobody aborts it");
    assert!(cat != Upload::Created || dog != Upload::Created, "both uploads have created the image");
    let created = (cat == Upload::Created).then_some("cat").or((dog == Upload::Created).then_some("dog"));
    (created, stores)
}

fn read_what_was_uploaded(shares_blobs: bool) {
    task::block_on(async {
        let (created, stores) = upload_two(shares_blobs, true).await;
        if created.is_some() {
            let read = stores.read("tom").await;
            read.unwrap_or_else(|error| panic!("the image was acknowledged, and cannot be read: {error}"));
        }
    });
}

fn compare_thumbnail(shares_blobs: bool) {
    task::block_on(async {
        let (created, stores) = upload_two(shares_blobs, false).await;
        let created = created.expect("one of them creates the image");
        let (thumbnail, _) = stores.thumbnails.get("tom").await.expect("the worker has made it");
        assert!(thumbnail == created, "the image is of a {created}, its thumbnail is of a {thumbnail}");
    });
}

/// An upload that fails deletes the blob of the other one.
#[coyote::test]
fn pets_blob_deleted() {
    read_what_was_uploaded(true);
}

/// An upload that fails deletes its own blob.
#[coyote::test]
fn pets_blob_deleted_fixed() {
    read_what_was_uploaded(false);
}

/// An upload that is refused leaves its content in the blob of the other one.
#[coyote::test]
fn pets_wrong_thumbnail() {
    compare_thumbnail(true);
}

/// An upload that is refused leaves its content where nobody finds it.
#[coyote::test]
fn pets_wrong_thumbnail_fixed() {
    compare_thumbnail(false);
}
