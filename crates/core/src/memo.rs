//! What hooks of one dispatch work out of its payload, so that each thing is worked out once.

use std::any::Any;
use std::sync::Arc;

use smallvec::SmallVec;

use crate::sync::{Mutex, lock};

/// What hooks have worked out of the payload of a dispatch as it is now: its text for a command,
/// its form in another language. A rewrite of the payload empties it.
///
/// ```
/// use tollgate_core::memo::Memo;
///
/// struct Words(usize);
///
/// let memo = Memo::default();
/// let first = memo.get_or_make(|| Words("a b c".split(' ').count()));
/// let again = memo.get_or_make(|| -> Words { unreachable!("it is there") });
/// assert_eq!((first.0, again.0), (3, 3));
/// ```
#[derive(Default)]
pub struct Memo {
    made: Mutex<SmallVec<[Arc<dyn Any + Send + Sync>; 2]>>,
}

impl Memo {
    /// The one value of type `T`, made if it is not there yet. No lock is held while it is made, so
    /// two hooks that run at once may both make it; one of them stays.
    pub fn get_or_make<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        if let Some(made) = self.get() {
            return made;
        }
        let value = Arc::new(make());
        lock(&self.made).push(Arc::<T>::clone(&value));
        value
    }

    /// The value of type `T`, if it was made.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let made = lock(&self.made);
        let value = made.iter().find(|value| (***value).is::<T>())?;
        Arc::clone(value).downcast().ok()
    }
}

impl std::fmt::Debug for Memo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Memo({} values)", lock(&self.made).len())
    }
}
