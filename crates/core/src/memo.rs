//! What hooks of one dispatch work out of its payload, so that each thing is worked out once.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use smallvec::SmallVec;

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
    // Held for a few instructions that call nothing: there is nothing in it for a model checker.
    made: Mutex<Made>,
}

type Made = SmallVec<[Arc<dyn Any + Send + Sync>; 2]>;

impl Memo {
    /// The one value of type `T`, made if it is not there yet. No lock is held while it is made, so
    /// two hooks that run at once may both make it; one of them stays.
    pub fn get_or_make<T: Any + Send + Sync>(&self, make: impl FnOnce() -> T) -> Arc<T> {
        if let Some(made) = self.get() {
            return made;
        }
        let value = Arc::new(make());
        self.lock().push(Arc::<T>::clone(&value));
        value
    }

    /// The value of type `T`, if it was made.
    pub fn get<T: Any + Send + Sync>(&self) -> Option<Arc<T>> {
        let made = self.lock();
        let value = made.iter().find(|value| (***value).is::<T>())?;
        Arc::clone(value).downcast().ok()
    }

    fn lock(&self) -> MutexGuard<'_, Made> {
        self.made.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for Memo {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Memo({} values)", self.lock().len())
    }
}
