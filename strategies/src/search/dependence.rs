//! Which steps commute: the table of [`Effect`], over whole footprints.

use crate::system::{Access, Class, Effect};

/// How a step relates to a later one of another process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// They commute.
    Independent,
    /// They do not, and the second can also be executed without the first.
    Reversible,
    /// The second takes a lock that the first released. It waited for the release, but the event that took
    /// the lock before is in a race with it.
    Handover,
    /// The first changed what the second takes, whether the second waited for that or not; the event that
    /// took it before is also in a race with the second.
    Changed,
    /// The second could not be executed without the first.
    Forced,
}

/// Whether two steps do not commute.
pub fn dependent(a: &[Access], b: &[Access]) -> bool {
    a.iter().any(|a| b.iter().any(|b| overlap(a, b) && conflict(a.effect, b.effect)))
}

/// How `first` relates to `second`, which was executed later.
pub fn order(first: &[Access], second: &[Access]) -> Order {
    let mut order = Order::Independent;
    for a in first {
        for b in second {
            if overlap(a, b) && conflict(a.effect, b.effect) {
                match (a.effect, b.effect) {
                    (Effect::Enable, Effect::Await) => return Order::Forced,
                    (Effect::Write, Effect::Acquire | Effect::Share) => order = Order::Changed,
                    // Another unit may have been available.
                    (Effect::Release, Effect::Acquire | Effect::Share) if a.class.is_counted() => {
                        order = Order::Changed;
                    }
                    (Effect::Read, Effect::Share) => order = Order::Changed,
                    _ if order == Order::Changed => {}
                    (Effect::Release | Effect::Unshare, Effect::Acquire) => order = Order::Handover,
                    (Effect::Release, Effect::Share) => order = Order::Handover,
                    // The lock was taken at that time: only a Release between them enables the second.
                    (Effect::Read, Effect::Acquire) => order = Order::Handover,
                    _ if order == Order::Independent => order = Order::Reversible,
                    _ => {}
                }
            }
        }
    }
    // `first` also took the lock itself: their order can be reversed.
    if order == Order::Handover && takes(first, second) { Order::Reversible } else { order }
}

/// Appends those of other accesses that a footprint lacks, which begins at `start` and ends with the list.
pub fn add_missing(touched: &mut Vec<Access>, start: usize, others: &[Access]) {
    let known = touched.len();
    for access in others {
        if !touched[start..known].contains(access) {
            touched.push(*access);
        }
    }
}

/// Whether `first` took, or changed, a lock that `second` waits for.
pub fn takes(first: &[Access], second: &[Access]) -> bool {
    use Effect::{Acquire, Share, TryAcquire, TryShare, Write};
    let excludes = |a: Effect, b: Effect| match b {
        Acquire => matches!(a, Acquire | TryAcquire | Share | TryShare | Write),
        Share => matches!(a, Acquire | TryAcquire | Write),
        _ => false,
    };
    first.iter().any(|a| second.iter().any(|b| excludes(a.effect, b.effect) && overlap(a, b)))
}

/// One bit or more for each object: footprints without a common bit are independent.
pub fn signature(footprint: &[Access]) -> u64 {
    let mut bits = 0;
    for access in footprint {
        let last = access.object.wrapping_add(u64::from(access.size.max(1)) - 1);
        // Memory in granules of 8 bytes. A range of 64 of them has every bit.
        let shift = if access.class == Class::Memory { 3 } else { 0 };
        let (first, last) = (access.object >> shift, last >> shift);
        if last.wrapping_sub(first) >= 64 {
            return u64::MAX;
        }
        (first..=last).for_each(|granule| bits |= bit(access.class, granule));
    }
    bits
}

fn bit(class: Class, number: u64) -> u64 {
    1 << ((number ^ (class as u64) << 32).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 58)
}

/// Whether two accesses are of the same object.
pub fn overlap(a: &Access, b: &Access) -> bool {
    a.class == b.class
        && (a.object.wrapping_sub(b.object) < u64::from(b.size)
            || b.object.wrapping_sub(a.object) < u64::from(a.size))
}

fn conflict(a: Effect, b: Effect) -> bool {
    use Effect::{Await, Read, Share, TryShare, Unshare};
    let shares = |e| matches!(e, Share | TryShare | Unshare);
    let commute = matches!((a, b), (Read, Read) | (Await, Await)) || shares(a) && shares(b);
    !commute
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory(effect: Effect, object: u64, size: u32) -> Vec<Access> {
        vec![Access { class: Class::Memory, effect, object, size }]
    }

    fn mutex(effect: Effect) -> Vec<Access> {
        vec![Access::new(Class::Mutex, effect, 3)]
    }

    #[test]
    fn memory_conflicts_by_bytes_and_writes() {
        let write = memory(Effect::Write, 8, 4);
        for (other, expected) in [
            (memory(Effect::Read, 11, 1), true),
            (memory(Effect::Read, 12, 4), false),
            (memory(Effect::Write, 4, 4), false),
            (memory(Effect::Write, 4, 8), true),
            (memory(Effect::Write, 0, 1000), true),
            (vec![Access::new(Class::Futex, Effect::Write, 8)], false),
        ] {
            assert_eq!(dependent(&write, &other), expected, "{other:?}");
            assert_eq!(dependent(&other, &write), expected, "{other:?}");
            assert!(!expected || signature(&write) & signature(&other) != 0, "{other:?}");
        }
        let read = memory(Effect::Read, 8, 4);
        assert!(!dependent(&read, &read));
        assert_eq!(order(&read, &write), Order::Reversible);
    }

    #[test]
    fn locks_and_waits_force_an_order() {
        use Effect::*;
        assert_eq!(order(&mutex(Release), &mutex(Acquire)), Order::Handover);
        assert_eq!(order(&mutex(Release), &mutex(TryAcquire)), Order::Reversible);
        assert_eq!(order(&mutex(Acquire), &mutex(Acquire)), Order::Reversible);
        assert_eq!(order(&mutex(Read), &mutex(Release)), Order::Reversible);
        assert_eq!(order(&mutex(Read), &mutex(Acquire)), Order::Handover);
        assert_eq!(order(&[mutex(TryAcquire), mutex(Read)].concat(), &mutex(Acquire)), Order::Reversible);
        assert!(takes(&mutex(TryAcquire), &mutex(Acquire)));
        assert!(!takes(&mutex(Acquire), &mutex(TryAcquire)));
        let step = |effect| {
            [vec![Access::new(Class::Wake, effect, 1)], memory(Write, 0, 4), mutex(Acquire)].concat()
        };
        assert_eq!(order(&step(Enable), &step(Await)), Order::Forced);
        assert_eq!(order(&step(Await), &step(Await)), Order::Reversible);
    }

    /// The order may also be decided by an event that took a unit or a share and released it.
    #[test]
    fn units_and_shares_are_in_races_with_who_took_one_before() {
        use Effect::*;
        let of = |class, effect| vec![Access::new(class, effect, 3)];
        let rwlock = |effect| of(Class::Rwlock, effect);
        assert_eq!(order(&rwlock(Read), &rwlock(Share)), Order::Changed);
        assert_eq!(order(&rwlock(Unshare), &rwlock(Acquire)), Order::Handover);
        let semaphore = |effect| of(Class::Semaphore, effect);
        assert_eq!(order(&semaphore(Release), &semaphore(Acquire)), Order::Changed);
        for (share, acquire) in [(Share, true), (TryShare, true), (Unshare, false)] {
            assert_eq!(takes(&rwlock(share), &rwlock(Acquire)), acquire, "{share:?}");
            assert!(!takes(&rwlock(share), &rwlock(Share)), "{share:?}");
        }
    }

    #[test]
    fn signatures_never_hide_an_overlap() {
        for size in [1, 8, 100, 600] {
            for object in 0..40 {
                for class in [Class::Memory, Class::Size, Class::Table] {
                    let access = |object, size| vec![Access { class, effect: Effect::Write, object, size }];
                    let (a, b) = (access(20, 30), access(object, size));
                    assert!(!dependent(&a, &b) || signature(&a) & signature(&b) != 0, "{object} {size}");
                }
            }
        }
    }
}
