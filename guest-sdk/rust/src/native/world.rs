//! The state of a test: workers, objects and waits, all under one lock, so that a deadlock is certain.
//!
//! A wait is a condition on a place that is checked again whenever something changes there. A worker that waits, and
//! knows that the condition is false, is *idle*. If all workers are idle, time leaps to the first deadline. Without a
//! deadline, the test has ended, or is in a deadlock if its own function waits as well and nothing happens for a while.

use std::any::Any;
use std::cell::RefCell;
use std::collections::{BTreeMap, HashMap, HashSet};
use std::panic::resume_unwind;
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread::ThreadId;
use std::time::{Duration, Instant};

/// The place of a wait: an object, a worker's end, a section, or the end of all workers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Place {
    Object(i32),
    End(i32),
    /// That no other worker is in a section.
    Section,
    /// This worker's predicate, which it evaluates again and again.
    Poll(i32),
    /// The end of all workers.
    All,
}

/// The panic payload that unwinds a worker of a test that has ended.
pub struct Over;

/// Why a test failed, if nothing was printed yet.
pub struct Told(pub String);

/// A sync object of any class: each class uses some of the fields.
#[derive(Default)]
pub struct Object {
    /// The worker that holds it exclusively.
    pub owner: Option<i32>,
    /// The workers that hold it for reading, and how often.
    pub readers: HashMap<i32, u32>,
    /// Permits of a semaphore.
    pub permits: i32,
    /// Of a barrier: its size, how many have arrived, and how often all have arrived.
    pub barrier: (u32, u32, u64),
    /// Tickets of those that wait for a notification, in their order.
    pub queue: Vec<u64>,
}

/// The state that all workers of a test share.
pub struct World {
    pub objects: HashMap<i32, Object>,
    /// Objects by their addresses; where a number's is.
    numbers: HashMap<usize, i32>,
    pub addresses: HashMap<i32, usize>,
    /// The thread that is in a section, and the depth of the section.
    pub section: Option<(ThreadId, u32)>,
    pub monitors: BTreeMap<(String, i32), i32>,
    /// Workers that have ended.
    pub ended: HashSet<i32>,
    /// The number of workers so far.
    pub workers: i32,
    pub tickets: u64,
    random: u64,
    /// Workers that have not ended, without the test's own function once it has.
    pub live: usize,
    /// Whether the test's own function has ended.
    pub returned: bool,
    /// Which test of this process it is.
    pub test: u64,
    /// Whether the test has ended, so that all workers leave.
    pub over: bool,
    /// Whether an assumption did not hold: the test has no verdict.
    pub assumed_away: bool,
    /// Why it failed.
    pub failure: Option<Box<dyn Any + Send>>,
    idle: HashMap<u64, (Place, Option<i64>)>,
    /// Workers whose last predicate was false, and since when no worker has done anything else.
    polling: (HashSet<i32>, Option<Instant>),
    changed: HashMap<Place, Arc<Condvar>>,
    start: Instant,
    leapt_ns: i64,
}

static WORLD: Mutex<Option<World>> = Mutex::new(None);

/// The world, locked.
pub struct Locked(MutexGuard<'static, Option<World>>);

impl std::ops::Deref for Locked {
    type Target = World;

    fn deref(&self) -> &World {
        self.0.as_ref().expect("`lock` makes it")
    }
}

impl std::ops::DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut World {
        self.0.as_mut().expect("`lock` makes it")
    }
}

pub fn lock() -> Locked {
    let mut world = WORLD.lock().unwrap_or_else(PoisonError::into_inner);
    world.get_or_insert_with(World::new);
    Locked(world)
}

impl World {
    fn new() -> World {
        use std::hash::{BuildHasher, Hasher};
        // The standard library's source of random numbers.
        let random = std::collections::hash_map::RandomState::new().build_hasher().finish();
        World {
            objects: HashMap::new(),
            numbers: HashMap::new(),
            addresses: HashMap::new(),
            section: None,
            monitors: BTreeMap::new(),
            ended: HashSet::new(),
            workers: 1,
            tickets: 0,
            random: random | 1,
            live: 1,
            returned: false,
            test: 0,
            over: false,
            assumed_away: false,
            failure: None,
            idle: HashMap::new(),
            polling: (HashSet::new(), None),
            changed: HashMap::new(),
            start: Instant::now(),
            leapt_ns: 0,
        }
    }

    /// A new test, in which the caller is worker 0. Addresses keep their numbers: statics have theirs for ever.
    pub fn restart(&mut self) {
        let old = std::mem::replace(self, World::new());
        (self.numbers, self.addresses, self.test) = (old.numbers, old.addresses, old.test + 1);
    }

    /// The number by which an address is known.
    pub fn number(&mut self, address: usize) -> i32 {
        let next = i32::try_from(self.numbers.len() + 1).expect("fewer objects than that");
        let number = *self.numbers.entry(address).or_insert(next);
        self.addresses.insert(number, address);
        number
    }

    pub fn object(&mut self, number: i32) -> &mut Object {
        self.objects.entry(number).or_default()
    }

    pub fn now_ns(&self) -> i64 {
        i64::try_from(self.start.elapsed().as_nanos()).unwrap_or(i64::MAX).saturating_add(self.leapt_ns)
    }

    /// A number below `bound`, by the xorshift of Marsaglia (2003).
    pub fn random(&mut self, bound: u64) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random % bound.max(1)
    }

    /// Makes the workers that wait at this place check their conditions again.
    pub fn change(&mut self, place: Place) {
        self.idle.retain(|_, (at, _)| *at != place);
        // An evaluation is a section, too.
        if place != Place::Section {
            self.polling.1 = None;
        }
        if let Some(changed) = self.changed.get(&place) {
            changed.notify_all();
        }
    }

    /// Ends the test: all workers that wait leave.
    pub fn end(&mut self) {
        self.over = true;
        self.idle.clear();
        self.changed.values().for_each(|changed| changed.notify_all());
    }

    /// Makes the test fail, unless it has ended.
    pub fn fail(&mut self, why: Box<dyn Any + Send>) {
        if !self.over {
            self.failure = Some(why);
        }
        self.end();
    }

    /// Records that a worker's predicate was evaluated. Ends a test in which all workers have waited for a while, some of
    /// them until a predicate holds.
    pub fn polled(&mut self, worker: i32, holds: bool) {
        let (polling, since) = &mut self.polling;
        if holds {
            polling.remove(&worker);
            *since = None;
            return;
        }
        polling.insert(worker);
        let others = || self.idle.values().filter(|(place, _)| !matches!(place, Place::Poll(_)));
        let any_timed = others().any(|(_, deadline)| deadline.is_some());
        if any_timed || others().count() + polling.len() < self.live {
            *since = None;
        } else if since.get_or_insert_with(Instant::now).elapsed() > PATIENCE {
            match self.returned {
                true => self.end(),
                false => self.fail(Box::new(Told(DEADLOCK.into()))),
            }
        }
    }

    fn does_anybody_poll(&self) -> bool {
        self.idle.values().any(|(place, _)| matches!(place, Place::Poll(_)))
    }

    fn is_everybody_idle(&self) -> bool {
        !self.over && self.idle.len() >= self.live
    }

    /// If all workers are idle, lets time leap to the first deadline, or ends a test whose function has returned.
    fn settle(&mut self) {
        if !self.is_everybody_idle() {
            return;
        }
        let of_others = self.idle.values().filter(|(place, _)| !matches!(place, Place::Poll(_)));
        if let Some(deadline_ns) = of_others.filter_map(|(_, deadline)| *deadline).min() {
            self.leapt_ns += (deadline_ns - self.now_ns()).max(0);
            let due = |waits: &(Place, Option<i64>)| waits.1 == Some(deadline_ns);
            let places: Vec<Place> = self.idle.values().filter(|w| due(w)).map(|(at, _)| *at).collect();
            places.into_iter().for_each(|place| self.change(place));
        } else if self.returned && !self.does_anybody_poll() {
            self.end();
        }
    }

    /// Records the end of a worker, and makes waiting workers check whether all are idle now.
    pub fn leave(&mut self) {
        self.live -= 1;
        self.polling.1 = None;
        self.idle.clear();
        self.changed.values().for_each(|changed| changed.notify_all());
    }
}

/// A thread's part in a test.
struct Part {
    test: u64,
    number: i32,
    /// Whether the program started the thread by other means, so that only the thread itself reports its end.
    is_foreign: bool,
}

thread_local! {
    static PART: RefCell<Option<Part>> = const { RefCell::new(None) };
}

impl Drop for Part {
    fn drop(&mut self) {
        if self.is_foreign {
            let mut world = lock();
            if world.test == self.test {
                world.leave();
            }
        }
    }
}

/// The calling worker's number.
pub fn number() -> i32 {
    let known = PART.with_borrow(|part| part.as_ref().map(|part| part.number));
    known.unwrap_or_else(|| {
        is_of(&mut lock());
        number()
    })
}

/// Whether the calling thread belongs to the test. A thread that was started by other means joins the test here.
pub fn is_of(world: &mut World) -> bool {
    PART.with_borrow_mut(|part| {
        let part = part.get_or_insert_with(|| {
            world.live += 1;
            world.workers += 1;
            Part { test: world.test, number: world.workers - 1, is_foreign: true }
        });
        part.test == world.test
    })
}

/// Makes the calling thread this worker of the present test.
pub fn becomes(number: i32, test: u64) {
    PART.set(Some(Part { test, number, is_foreign: false }));
}

const DEADLOCK: &str = "deadlock: every worker waits for another one";

/// How long all workers must be idle before this is a deadlock: there may be threads that are not known yet.
const PATIENCE: Duration = Duration::from_secs(3);

/// Waits until `ready` has a value, and calls it again whenever something changes at the place; `None` when
/// the time is up. Leaves the caller's section meanwhile, as the tool does.
///
/// Unwinds if the test has ended, unless the thread unwinds already: then it waits, for the values that it drops.
pub fn wait<R>(
    mut world: Locked,
    place: Place,
    deadline_ns: Option<i64>,
    mut ready: impl FnMut(&mut World) -> Option<R>,
) -> Option<R> {
    let is_stale = !is_of(&mut world);
    let me = std::thread::current().id();
    let left = world.section.take_if(|(holder, _)| *holder == me);
    if left.is_some() {
        world.change(Place::Section);
    }
    world.tickets += 1;
    let ticket = world.tickets;
    let result = loop {
        if (world.over || is_stale) && !std::thread::panicking() {
            drop(world);
            resume_unwind(Box::new(Over));
        }
        if let Some(value) = ready(&mut world) {
            break Some(value);
        }
        let remaining_ns = deadline_ns.map(|deadline| deadline - world.now_ns());
        if remaining_ns.is_some_and(|ns| ns <= 0) {
            break None;
        }
        world.idle.insert(ticket, (place, deadline_ns));
        world.settle();
        if !world.idle.contains_key(&ticket) {
            continue;
        }
        let changed = Arc::clone(world.changed.entry(place).or_default());
        let is_last = world.is_everybody_idle();
        let span = remaining_ns.map(|ns| Duration::from_nanos(ns as u64)).or(is_last.then_some(PATIENCE));
        let (locked, is_up) = wait_for(&changed, world.0, span);
        world = Locked(locked);
        let is_deadlock = is_up && is_last && world.idle.contains_key(&ticket) && world.is_everybody_idle();
        // Whoever polls may find that its predicate holds: see `World::polled`.
        if is_deadlock && !world.does_anybody_poll() {
            world.fail(Box::new(Told(DEADLOCK.into())));
        }
        world.idle.remove(&ticket);
    };
    if let Some(section) = left {
        let mut world = enter_section(world);
        world.section = Some(section);
    }
    result
}

/// Waits for a notification. The second result is whether the time was up.
fn wait_for(
    changed: &Condvar,
    world: MutexGuard<'static, Option<World>>,
    span: Option<Duration>,
) -> (MutexGuard<'static, Option<World>>, bool) {
    let Some(span) = span else {
        return (changed.wait(world).unwrap_or_else(PoisonError::into_inner), false);
    };
    let (world, up) = changed.wait_timeout(world, span).unwrap_or_else(PoisonError::into_inner);
    (world, up.timed_out())
}

/// Waits until no other thread is in a section. The caller is not idle meanwhile: the other thread continues or leaves.
pub fn enter_section(mut world: Locked) -> Locked {
    let me = std::thread::current().id();
    while world.section.is_some_and(|(holder, _)| holder != me) {
        let changed = Arc::clone(world.changed.entry(Place::Section).or_default());
        world = Locked(changed.wait(world.0).unwrap_or_else(PoisonError::into_inner));
    }
    let depth = world.section.map_or(0, |(_, depth)| depth);
    world.section = Some((me, depth + 1));
    world
}

/// Undoes one [`enter_section`].
pub fn leave_section() {
    let mut world = lock();
    let left = world.section.map(|(holder, depth)| (holder, depth - 1)).filter(|(_, depth)| *depth > 0);
    world.section = left;
    if left.is_none() {
        world.change(Place::Section);
    }
}
