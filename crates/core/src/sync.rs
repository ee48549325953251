//! The synchronisation primitives of the engine, in one place so that a model checker can stand
//! in for them (`--cfg shuttle`, see `tests/model.rs`).

#[cfg(not(shuttle))]
pub(crate) use std::sync::{Mutex, MutexGuard, atomic};

#[cfg(shuttle)]
pub(crate) use shuttle::sync::{Mutex, MutexGuard, atomic};

use std::sync::Arc;
use std::sync::PoisonError;

/// Locks, and goes on with the data where another holder panicked: what is behind our locks is
/// valid after every single statement, so a panic elsewhere is no reason to fail here.
pub(crate) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// What [`Shared::peek`] gives.
#[cfg(not(shuttle))]
pub(crate) type Peek<T> = arc_swap::Guard<Arc<T>>;
#[cfg(shuttle)]
pub(crate) type Peek<T> = Arc<T>;

/// Makes a peek last as long as one likes.
pub(crate) fn keep<T>(peek: Peek<T>) -> Arc<T> {
    #[cfg(not(shuttle))]
    return arc_swap::Guard::into_inner(peek);
    #[cfg(shuttle)]
    return peek;
}

/// A value that many read and few replace. Readers never wait for a writer.
#[derive(Debug)]
pub(crate) struct Shared<T> {
    #[cfg(not(shuttle))]
    current: arc_swap::ArcSwap<T>,
    #[cfg(shuttle)]
    current: Mutex<Arc<T>>,
}

impl<T> Shared<T> {
    pub(crate) fn new(value: T) -> Self {
        #[cfg(not(shuttle))]
        return Self { current: arc_swap::ArcSwap::from_pointee(value) };
        #[cfg(shuttle)]
        return Self { current: Mutex::new(Arc::new(value)) };
    }

    pub(crate) fn get(&self) -> Arc<T> {
        #[cfg(not(shuttle))]
        return self.current.load_full();
        #[cfg(shuttle)]
        return Arc::clone(&lock(&self.current));
    }

    /// As [`get`](Self::get), for a moment: no reference is counted, so that readers do not meet at
    /// the counter. [`keep`] makes it last.
    pub(crate) fn peek(&self) -> Peek<T> {
        #[cfg(not(shuttle))]
        return self.current.load();
        #[cfg(shuttle)]
        return self.get();
    }

    pub(crate) fn replace(&self, value: T) {
        #[cfg(not(shuttle))]
        self.current.store(Arc::new(value));
        #[cfg(shuttle)]
        {
            *lock(&self.current) = Arc::new(value);
        }
    }
}
