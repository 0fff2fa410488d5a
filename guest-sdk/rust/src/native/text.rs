//! Passes texts to imports, which take numbers only.

use std::cell::RefCell;

thread_local! {
    static TEXTS: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

/// Calls an import with a number for the text, and its length.
pub fn with<R>(text: &str, call: impl FnOnce(i32, i32) -> R) -> R {
    let number = TEXTS.with_borrow_mut(|texts| {
        texts.push(text.to_string());
        texts.len() - 1
    });
    // Also where the import does not return.
    let _given = Given(number);
    call(number as i32, text.len() as i32)
}

struct Given(usize);

impl Drop for Given {
    fn drop(&mut self) {
        TEXTS.with_borrow_mut(|texts| texts.truncate(self.0));
    }
}

/// The text of a number.
pub fn take(number: i32) -> String {
    TEXTS.with_borrow_mut(|texts| std::mem::take(&mut texts[number as usize]))
}
