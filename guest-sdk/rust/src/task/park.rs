//! Where a worker waits until its task is woken.
//!
//! A wake-up is a post of the task's semaphore, and so is never lost: one that comes while the task is polled makes
//! the worker poll it once more. Several wake-ups have the effect of one, so the worker takes all of them at once. A
//! task that is not woken is blocked, for strategies and for detectors of deadlocks, and does not spin.
#![allow(unsafe_code)] // Wakers are made by hand, and each task has state that its own worker alone uses.

use super::alarm::Alarm;
use super::current::{self, Polling};
use super::section::Section;
use crate::sys;
use std::cell::UnsafeCell;
use std::fmt;
use std::mem::ManuallyDrop;
use std::panic::Location;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use std::sync::atomic::{AtomicU8, AtomicU32};
use std::task::{Context, Poll, RawWaker, RawWakerVTable, Waker};

/// See the module's documentation.
pub(super) struct Park {
    /// Its address identifies the semaphore. It is never read or written.
    place: AtomicU8,
    /// How many wakers there are, of which one is the task's own. Used in sections.
    wakers: AtomicU32,
    own: UnsafeCell<Own>,
}

/// State that only the task's own worker uses.
struct Own {
    /// The task woke itself since it was last polled.
    woken: bool,
    /// It said since then what it awaits.
    told: bool,
    said: Said,
    /// An object of this SDK keeps a waker, and will say what it is.
    quiet: bool,
    timers: Vec<Timer>,
    next_timer: u32,
}

/// What a task said last that it awaits, to reports.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Said {
    Nothing,
    /// Objects of this SDK, which say so in each poll in which they wait.
    Objects,
    /// Also something else, which may keep a waker over several polls without saying so again.
    Others,
}

/// A waker to be called at a point in virtual time.
struct Timer {
    number: u32,
    deadline_ns: i64,
    waker: Waker,
}

// SAFETY: `own` is used by the worker that polls the task, through `own`, and by no other.
unsafe impl Sync for Park {}
// SAFETY: as above; a task stays in its worker.
unsafe impl Send for Park {}

/// A counted reference to a task. Counting is no scheduling point, since its order has no effect.
pub(super) struct ParkRef(ManuallyDrop<Arc<Park>>);

impl ParkRef {
    pub(super) fn new() -> ParkRef {
        let own = UnsafeCell::new(Own {
            woken: false,
            told: false,
            said: Said::Nothing,
            quiet: false,
            timers: Vec::new(),
            next_timer: 0,
        });
        let park = Park { place: AtomicU8::new(0), wakers: AtomicU32::new(0), own };
        ParkRef(ManuallyDrop::new(Arc::new(park)))
    }
}

impl Clone for ParkRef {
    fn clone(&self) -> ParkRef {
        let _section = Section::enter();
        ParkRef(ManuallyDrop::new(Arc::clone(&self.0)))
    }
}

impl Drop for ParkRef {
    fn drop(&mut self) {
        let _section = Section::enter();
        // SAFETY: it is dropped once, here.
        unsafe { ManuallyDrop::drop(&mut self.0) };
    }
}

impl std::ops::Deref for ParkRef {
    type Target = Park;

    fn deref(&self) -> &Park {
        &self.0
    }
}

impl Park {
    fn address(&self) -> i32 {
        sys::address(&self.place)
    }

    /// Uses what nobody else can see, so this is no scheduling point.
    ///
    /// # Safety
    /// The caller is the task's worker, and `use_it` does not come back here.
    unsafe fn own<R>(&self, use_it: impl FnOnce(&mut Own) -> R) -> R {
        let _section = Section::enter();
        // SAFETY: by our contract nobody else uses it.
        use_it(unsafe { &mut *self.own.get() })
    }

    /// Lets the task be polled once more.
    pub(super) fn wake(&self) {
        if std::ptr::eq(polled(), self) {
            // Nobody else can tell when: the worker lets others run before it polls the task again.
            // SAFETY: the calling worker is the one that polls the task.
            unsafe { self.own(|own| own.woken = true) };
        } else {
            sys::semaphore_post(self.address());
        }
    }

    /// Whether reports do not know what the task awaits after a poll: it said nothing, and what it said before is over.
    fn awaits_unknown(&self) -> bool {
        // SAFETY: the caller is the task's worker.
        match unsafe { self.own(|own| (own.told, own.said)) } {
            (true, _) => false,
            (false, Said::Nothing | Said::Objects) => true,
            (false, Said::Others) => {
                let _section = Section::enter();
                self.wakers.load(Relaxed) == 1
            }
        }
    }

    /// Takes all wake-ups: several have the effect of one.
    fn take_wakes(&self) {
        let _section = Section::enter();
        while sys::semaphore_try_wait(self.address()) == 0 {}
    }
}

impl ParkRef {
    /// Polls a future in the calling worker, which is the task's, until it is ready or `cancelled` says so before a poll.
    pub(super) fn run<F: Future + ?Sized>(
        &self,
        future: Pin<&mut F>,
        cancelled: impl Fn() -> bool,
    ) -> Option<F::Output> {
        let value = self.poll(&waker(self), future, cancelled);
        // Nobody polls the task any more. What is left of its timers would keep it in memory: their wakers refer to it.
        // SAFETY: this worker is the task's. What is dropped is dropped afterwards.
        let _left: Vec<Timer> = unsafe { self.own(|own| std::mem::take(&mut own.timers)) };
        value
    }

    /// See [`ParkRef::run`].
    fn poll<F: Future + ?Sized>(
        &self,
        waker: &Waker,
        mut future: Pin<&mut F>,
        cancelled: impl Fn() -> bool,
    ) -> Option<F::Output> {
        let mut alarm: Option<Alarm> = None;
        loop {
            if cancelled() {
                return None;
            }
            // SAFETY: this worker is the task's.
            unsafe { self.own(|own| (own.woken, own.told) = (false, false)) };
            let polled = {
                let _polling = self.polling();
                let polled = future.as_mut().poll(&mut Context::from_waker(waker));
                if polled.is_pending() && self.awaits_unknown() {
                    // At least the future is known.
                    tell_of("", "", 0, 0);
                }
                polled
            };
            if let Poll::Ready(value) = polled {
                return Some(value);
            }
            // SAFETY: as above.
            if unsafe { self.own(|own| own.woken) } {
                self.give_way(&mut alarm);
            } else {
                alarm = None;
                self.wait();
            }
        }
    }

    /// Lets others run, and time pass up to the next timer of the task.
    fn give_way(&self, alarm: &mut Option<Alarm>) {
        let earliest = self.earliest();
        if alarm.as_ref().map(Alarm::due_ns) != earliest {
            *alarm = None;
            *alarm = earliest.map(Alarm::set);
        }
        sys::yield_now();
        if let Some(rung) = alarm.take_if(|alarm| alarm.has_rung()) {
            self.ring(rung.due_ns());
        }
    }

    /// When the next timer of the task is due.
    fn earliest(&self) -> Option<i64> {
        // SAFETY: this worker is the task's.
        unsafe { self.own(|own| own.timers.iter().map(|timer| timer.deadline_ns).min()) }
    }

    /// Blocks until the task is woken, or until a timer of the task is due.
    fn wait(&self) {
        let Some(earliest) = self.earliest() else {
            sys::semaphore_wait(self.address(), sys::FOREVER);
            return self.take_wakes();
        };
        let span = (earliest - sys::now()).max(0);
        if sys::semaphore_wait(self.address(), span) == 0 {
            return self.take_wakes();
        }
        self.ring(sys::now().max(earliest));
    }

    /// Calls the wakers of the timers that are due.
    fn ring(&self, now: i64) {
        // Wakers are called when nobody is in `own`.
        // SAFETY: this worker is the task's.
        let due: Vec<Timer> = unsafe {
            self.own(|own| {
                let due = |timer: &mut Timer| timer.deadline_ns <= now;
                own.timers.extract_if(.., due).collect()
            })
        };
        // What they wake is this task, which goes on anyway.
        let _polling = self.polling();
        due.into_iter().for_each(|timer| timer.waker.wake());
    }

    /// The calling worker polls this task as long as the result exists.
    fn polling(&self) -> Polling {
        Polling::begin(Arc::as_ptr(&self.0).expose_provenance())
    }
}

impl Drop for Park {
    fn drop(&mut self) {
        // Nobody can wait there, or post: a part of the step that drops it.
        let _section = Section::enter();
        sys::semaphore_destroy(self.address());
    }
}

/// The task that the calling worker polls; null if it polls none.
fn polled() -> *const Park {
    std::ptr::with_exposed_provenance(current::get())
}

/// A timer of a task. Keeps the task in memory, so that none of a later task is taken for it.
pub(crate) struct TimerId {
    park: ParkRef,
    number: u32,
}

impl TimerId {
    /// Whether it is one of this task.
    fn is_of(&self, park: *const Park) -> bool {
        std::ptr::eq(Arc::as_ptr(&self.park.0), park)
    }
}

impl fmt::Debug for TimerId {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.debug_struct("TimerId").field("number", &self.number).finish_non_exhaustive()
    }
}

/// Sets a timer of the calling task, which calls the waker at a point in virtual time.
#[track_caller]
pub(crate) fn set_timer(deadline_ns: i64, waker: &Waker) -> TimerId {
    let park = polled();
    assert!(
        !park.is_null(),
        "a timer of coyote::task is awaited outside of its tasks: run the future by coyote::task::block_on"
    );
    let waker = keep(waker);
    let set = |own: &mut Own| {
        own.next_timer += 1;
        own.timers.push(Timer { number: own.next_timer, deadline_ns, waker });
        own.next_timer
    };
    // SAFETY: it is not null, so it is the task that the calling worker polls, and lives until the poll ends.
    let number = unsafe { (*park).own(set) };
    // SAFETY: as above. The pointer is that of `ParkRef::polling`, which wakers have as well.
    let park = (*unsafe { borrowed(park.cast()) }).clone();
    TimerId { park, number }
}

/// Replaces the waker of a timer of the calling task. Returns whether the timer is still set.
pub(super) fn renew_timer(id: &TimerId, waker: &Waker) -> bool {
    let park = polled();
    if !id.is_of(park) {
        return false;
    }
    let mut waker = keep(waker);
    let renew = |own: &mut Own| {
        let timer = own.timers.iter_mut().find(|timer| timer.number == id.number);
        timer.map(|timer| std::mem::swap(&mut timer.waker, &mut waker)).is_some()
    };
    // SAFETY: as in `set_timer`. The waker that is not used any more is dropped afterwards.
    unsafe { (*park).own(renew) }
}

/// Removes a timer of the calling task. A timer of another task stays, and wakes that task once without effect, unless
/// it ends before.
pub(crate) fn drop_timer(id: TimerId) {
    let park = polled();
    if id.is_of(park) {
        let is = |timer: &mut Timer| timer.number == id.number;
        // SAFETY: as in `set_timer`. What is dropped is dropped afterwards.
        let _dropped: Vec<Timer> = unsafe { (*park).own(|own| own.timers.extract_if(.., is).collect()) };
    }
}

/// Clones a waker for an object of this SDK, which itself reports what is awaited.
pub(crate) fn keep(waker: &Waker) -> Waker {
    let park = polled();
    if park.is_null() {
        return waker.clone();
    }
    // SAFETY: as in `set_timer`, twice.
    let told = unsafe { (*park).own(|own| std::mem::replace(&mut own.quiet, true)) };
    let kept = waker.clone();
    // SAFETY: as above.
    unsafe { (*park).own(|own| own.quiet = told) };
    kept
}

/// Tells reports that the calling task awaits an object, and where.
pub(crate) fn tell(what: &'static str, made: &'static Location<'static>, object: i32) {
    tell_of(what, made.file(), made.line(), object);
}

/// A part of a poll of the calling task, such as that of a `select`, which may end with futures that it had begun to await.
pub(super) struct Part {
    /// The task said before in the same poll what it awaits.
    told: bool,
}

impl Part {
    pub(super) fn begin() -> Part {
        let park = polled();
        // SAFETY: as in `set_timer`.
        Part { told: !park.is_null() && unsafe { (*park).own(|own| own.told) } }
    }

    /// Ends what was awaited in this part, for reports. If the task said something before, they keep both.
    pub(super) fn give_up(self) {
        let park = polled();
        if !self.told && !park.is_null() {
            // SAFETY: as in `set_timer`.
            unsafe { (*park).own(|own| (own.told, own.said) = (false, Said::Nothing)) };
        }
    }
}

fn tell_of(what: &'static str, file: &'static str, line: u32, object: i32) {
    let park = polled();
    if park.is_null() {
        return;
    }
    // SAFETY: as in `set_timer`.
    let park = unsafe { &*park };
    // SAFETY: the calling worker polls this task.
    let (quiet, more) = unsafe { park.own(|own| (own.quiet, own.told)) };
    if quiet {
        return;
    }
    let say_it = |own: &mut Own| {
        let others = what.is_empty() || own.told && own.said == Said::Others;
        (own.told, own.said) = (true, if others { Said::Others } else { Said::Objects });
    };
    // SAFETY: as above.
    unsafe { park.own(say_it) };
    say(park.address(), what, (file, line), object, more);
}

/// Tells reports what is awaited at a semaphore, and where that was created; `more`: in addition to earlier calls.
pub(crate) fn say(semaphore: i32, what: &str, (file, line): (&str, u32), object: i32, more: bool) {
    sys::with_text(what, |what, length| {
        sys::with_text(file, |file, file_length| {
            let more = i32::from(more);
            // SAFETY: addresses and lengths of two `str`.
            unsafe { sys::awaits(semaphore, what, length, file, file_length, line as i32, object, more) };
        });
    });
}

/// Wakers of a task are a [`ParkRef`] as a pointer.
const WAKER: RawWakerVTable = RawWakerVTable::new(clone, wake, wake_by_ref, forget);

fn waker(park: &ParkRef) -> Waker {
    // SAFETY: the functions below treat the pointer as what `raw` made.
    unsafe { Waker::from_raw(raw(park.clone())) }
}

fn raw(park: ParkRef) -> RawWaker {
    {
        let _section = Section::enter();
        park.wakers.fetch_add(1, Relaxed);
    }
    let pointer = Arc::as_ptr(&park.0);
    std::mem::forget(park);
    RawWaker::new(pointer.cast(), &WAKER)
}

/// # Safety
/// `pointer` is that of a waker, whose count is not taken away by dropping the result.
unsafe fn borrowed(pointer: *const ()) -> ManuallyDrop<ParkRef> {
    // SAFETY: it was made by `Arc::as_ptr` of a count that was forgotten.
    let park = unsafe { Arc::from_raw(pointer.cast::<Park>()) };
    ManuallyDrop::new(ParkRef(ManuallyDrop::new(park)))
}

unsafe fn clone(pointer: *const ()) -> RawWaker {
    // The object that keeps the waker is what the task awaits, if nothing else is reported.
    tell_of("", "", 0, 0);
    // SAFETY: the pointer of a waker.
    let park = unsafe { borrowed(pointer) };
    raw(ParkRef::clone(&park))
}

unsafe fn wake(pointer: *const ()) {
    // SAFETY: the pointer of a waker, which is consumed.
    unsafe {
        wake_by_ref(pointer);
        forget(pointer);
    }
}

unsafe fn wake_by_ref(pointer: *const ()) {
    // SAFETY: the pointer of a waker.
    unsafe { borrowed(pointer) }.wake();
}

unsafe fn forget(pointer: *const ()) {
    let _section = Section::enter();
    // SAFETY: the pointer of a waker, whose count ends here.
    let park = ManuallyDrop::into_inner(unsafe { borrowed(pointer) });
    park.wakers.fetch_sub(1, Relaxed);
}
