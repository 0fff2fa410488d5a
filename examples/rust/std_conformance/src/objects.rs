//! What workers share. Channels are made for each program.

use std::sync::atomic::{AtomicU8, Ordering::SeqCst};
use std::sync::{Barrier, Condvar, LazyLock, Mutex, Once, OnceLock, RwLock};

pub static MUTEXES: [Mutex<()>; 2] = [const { Mutex::new(()) }; 2];
pub static LOCKS: [RwLock<()>; 2] = [const { RwLock::new(()) }; 2];
pub static CONDVARS: [Condvar; 2] = [const { Condvar::new() }; 2];
pub static BARRIERS: [Barrier; 2] = [Barrier::new(2), Barrier::new(3)];
pub static ONCES: [Once; 2] = [const { Once::new() }; 2];
pub static ONCE_LOCKS: [OnceLock<u8>; 2] = [const { OnceLock::new() }; 2];
pub static LAZY_LOCKS: [LazyLock<u8>; 2] = [const { LazyLock::new(|| CELLS[0].fetch_add(1, SeqCst) + 1) }; 2];
pub static CELLS: [AtomicU8; 4] = [const { AtomicU8::new(0) }; 4];
