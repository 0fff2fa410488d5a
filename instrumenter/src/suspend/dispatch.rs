//! Finding the item that holds the site at which a function resumes.
//!
//! ```wat
//! ;; one item                 ;; several: a jump table, or a search by halves
//! local.get $resume           local.get $resume
//! br_if $item                 if
//!                               local.get $resume  i32.const 3  i32.sub
//!                               br_table $item1 $item2 $item2 $item3
//!                             end
//! ```

use super::body::Item;
use super::code::{Code, Label};
use wasm_encoder::BlockType;

/// Branches to the label of the item that holds site `$resume`, or falls through if it is 0.
pub(super) fn dispatch(code: &mut Code, resume: u32, items: &[Item], labels: &[Label]) {
    code.put().local_get(resume);
    if let [label] = labels {
        let depth = code.depth(*label);
        code.put().br_if(depth);
        return;
    }
    code.put().if_(BlockType::Empty);
    code.opened();
    select(code, resume, items, labels);
    code.close();
}

/// As `dispatch`, if `$resume` is known to be one of the items' sites.
fn select(code: &mut Code, resume: u32, items: &[Item], labels: &[Label]) {
    let (first, last) = (items[0].first, items[items.len() - 1].last);
    if let [label] = labels {
        let depth = code.depth(*label);
        code.put().br(depth);
    } else if is_dense(items) {
        let targets: Vec<u32> = items
            .iter()
            .zip(labels)
            .flat_map(|(item, label)| (item.first..=item.last).map(|_| code.depth(*label)))
            .collect();
        let default = *targets.last().expect("items have sites");
        debug_assert_eq!(targets.len() as u32, last - first + 1, "items cover their sites without gaps");
        code.put().local_get(resume).i32_const(first as i32).i32_sub().br_table(targets, default);
    } else {
        let half = items.len() / 2;
        code.put().local_get(resume).i32_const(items[half].first as i32).i32_lt_u().if_(BlockType::Empty);
        code.opened();
        select(code, resume, &items[..half], &labels[..half]);
        code.put().else_();
        select(code, resume, &items[half..], &labels[half..]);
        code.close();
    }
}

/// Whether a jump table is about as small as a search: without this bound nested constructs would
/// take tables of quadratic size.
fn is_dense(items: &[Item]) -> bool {
    let sites = items[items.len() - 1].last - items[0].first + 1;
    sites as usize <= 4 * items.len() + 8
}
