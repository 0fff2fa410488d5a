//! What a worker can be told to do, and how that is written: `Lock(0)`. The test that makes programs of these
//! reads this file too.

macro_rules! actions {
    ($($(#[$comment:meta])* $name:ident $(($($part:ident),*))?,)*) => {
        /// One call. Small numbers name objects of each class, cells and workers; other numbers are values
        /// from 1 to 99 and milliseconds.
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
        pub enum Action {
            $($(#[$comment])* $name $(($(actions!(@ $part)),*))?,)*
        }

        impl Action {
            /// The inverse of `Debug`.
            pub fn parse(text: &str) -> Option<Action> {
                let mut words = text.split(['(', ',', ' ', ')']).filter(|word| !word.is_empty());
                match words.next()? {
                    $(stringify!($name) => {
                        $($(let $part = words.next()?.parse().ok()?;)*)?
                        Some(Action::$name $(($($part),*))?)
                    })*
                    _ => None,
                }
            }
        }
    };
    (@ $part:ident) => { u8 };
}

actions! {
    Lock(mutex),
    /// 1 if it was free.
    TryLock(mutex),
    /// Does nothing without a guard, as all that needs one.
    Unlock(mutex),
    Read(lock),
    TryRead(lock),
    Write(lock),
    TryWrite(lock),
    ReadUnlock(lock),
    WriteUnlock(lock),
    Downgrade(lock),
    Wait(condvar, mutex),
    /// 1 if its time was up.
    WaitFor(condvar, mutex, ms),
    /// While a cell is 0.
    WaitWhile(condvar, mutex, cell),
    NotifyOne(condvar),
    NotifyAll(condvar),
    /// Barrier 0 is for two, barrier 1 for three. 1 for the leader.
    Arrive(barrier),
    /// 1 if it was this call that added 1 to a cell, twice.
    CallOnce(once, cell),
    IsCompleted(once),
    WaitOnce(once),
    /// 0 for nothing.
    Get(once),
    /// 1 if there was nothing.
    Set(once, value),
    GetOrInit(once, value),
    /// Its value is one more than a cell's, the first of them, which becomes that.
    Force(lazy),
    /// 1 if somebody can receive it.
    Send(channel, value),
    /// 2 if the channel is full.
    TrySend(channel, value),
    /// 0 if nobody can send.
    Recv(channel),
    /// 100 if there is nothing.
    TryRecv(channel),
    /// 100 if its time was up.
    RecvFor(channel, ms),
    DropSender(channel),
    DropReceiver(channel),
    Park,
    ParkFor(ms),
    /// From the first worker to the others, and back.
    Unpark(worker),
    /// For the first worker.
    Spawn(worker),
    Join(worker),
    IsFinished(worker),
    /// What the first worker spawns until `EndScope`, it spawns in a scope.
    Scope,
    EndScope,
    /// Sets a variable of the thread, whose destructor adds 1 to a cell.
    SetLocal(cell),
    Store(cell, value),
    Load(cell),
    Add(cell, value),
    Swap(cell, value),
    /// From the one value to the other. 1 if it was the first one.
    Exchange(cell, old, new),
    Yield,
    /// The worker does nothing more, and does not end.
    Stay,
}
