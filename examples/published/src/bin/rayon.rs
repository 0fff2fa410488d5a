//! A parallel sum on a pool of two threads. Broken: the sum is a load and a store.

use rayon::prelude::*;
use std::sync::atomic::{AtomicU32, Ordering::SeqCst};

fn main() {
    let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
    let sum = AtomicU32::new(0);
    let add = |n: &u32| match published::broken() {
        false => drop(sum.fetch_add(*n, SeqCst)),
        true => sum.store(sum.load(SeqCst) + n, SeqCst),
    };
    pool.install(|| [1, 2, 3, 4].par_iter().for_each(add));
    assert_eq!(sum.into_inner(), 10, "an addend is lost");
}
