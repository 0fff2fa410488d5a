//! A shared reference whose counting is no scheduling point, since its order has no effect.

use super::section::Section;
use std::ops::Deref;
use std::sync::Arc;

/// A counted reference: see the module's documentation.
pub(crate) struct Counted<T>(Option<Arc<T>>);

impl<T> Counted<T> {
    pub(crate) fn new(value: T) -> Counted<T> {
        let _section = Section::enter();
        Counted(Some(Arc::new(value)))
    }

    pub(crate) fn is(&self, other: &Counted<T>) -> bool {
        std::ptr::eq(&raw const **self, &raw const **other)
    }
}

impl<T> Clone for Counted<T> {
    fn clone(&self) -> Counted<T> {
        let _section = Section::enter();
        Counted(self.0.clone())
    }
}

impl<T> Deref for Counted<T> {
    type Target = T;

    fn deref(&self) -> &T {
        self.0.as_deref().expect("it is taken when it is dropped")
    }
}

impl<T> Drop for Counted<T> {
    fn drop(&mut self) {
        let section = Section::enter();
        let Some(counted) = self.0.take() else { return };
        if Arc::strong_count(&counted) == 1 {
            // Nobody can get another one. What it holds may do anything when it is dropped, and is dropped where it lies,
            // since the host knows objects by their addresses.
            drop(section);
        }
        drop(counted);
    }
}
