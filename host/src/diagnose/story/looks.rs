//! Looks that come too early: a worker looks at something, another worker changes it, and only then the first one begins to
//! wait, for ever. So most wake-ups get lost.

use super::moment::{Act, Moment, SharedAccess};
use super::recorder::RawAccess;
use coyote_strategies::{OpKind, WorkerId};

/// The maximum number of accesses of a worker before its wait that are considered.
const ACCESSES_MAX: usize = 16;

/// See the module's documentation.
pub struct Look {
    pub worker: WorkerId,
    /// Where it looks, and where another worker changes what it saw: places in the list of moments.
    pub look: usize,
    pub change: usize,
    pub access: RawAccess,
}

/// The last such look of a worker between its last two waits, in the guest's own lines.
pub fn look(moments: &[Moment], worker: WorkerId) -> Option<Look> {
    let kinds = [OpKind::Wait, OpKind::FutexWait];
    let waits = |moment: &Moment| {
        moment.worker == worker && matches!(moment.act, Act::Object { kind, .. } if kinds.contains(&kind))
    };
    let last = moments.iter().rposition(waits)?;
    let since = moments[..last].iter().rposition(waits).map_or(0, |before| before + 1);
    let own = (since..last).rev().filter(|at| moments[*at].worker == worker);
    let accesses = own.flat_map(|at| moments[at].accesses.iter().rev().map(move |access| (at, access)));
    let is_look = |access: &SharedAccess| {
        let (raw, is_lock) = (&access.raw, access.word.is_some());
        access.direct && access.is_contended && !is_lock && raw.reads && !raw.writes
    };
    let mut looks = accesses.filter(|(_, access)| is_look(access)).take(ACCESSES_MAX);
    looks.find_map(|(look, access)| {
        let others = |at: &usize| moments[*at].worker != worker;
        let changes = |access: &SharedAccess| access.raw.writes && access.raw.before != access.raw.after;
        let change =
            (look + 1..last).filter(others).find(|at| touched(&moments[*at], access).any(changes))?;
        let again = moments[change..]
            .iter()
            .any(|moment| moment.worker == worker && touched(moment, access).next().is_some());
        (!again).then(|| Look { worker, look, change, access: access.raw.clone() })
    })
}

/// The accesses of a moment that overlap with another access.
fn touched<'a>(moment: &'a Moment, of: &'a SharedAccess) -> impl Iterator<Item = &'a SharedAccess> {
    let end = |access: &SharedAccess| access.raw.address + u64::from(access.raw.bytes);
    moment.accesses.iter().filter(move |access| access.raw.address < end(of) && of.raw.address < end(access))
}
