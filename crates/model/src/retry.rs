//! Calls that failed, made again.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher as _, Hasher as _};
use std::time::Duration;

use tokio::time::{Instant, sleep, timeout_at};

use crate::error::{ModelError, Stage};
use crate::message::Request;
use crate::model::{BoxFuture, Heard, Model, Part, Reply};

/// How often and how long a call is tried.
///
/// The wait before an attempt is twice the last one, up to the longest, and a random part of that
/// is left out: between none and half. So those who were turned away together do not come back
/// together. A provider that asks for another wait gets that, unless it is longer than the
/// longest: then the call ends at once with what the provider said.
///
/// ```
/// use tollgate_model::Policy;
///
/// let never = Policy { attempts: 1, ..Policy::default() };
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policy {
    /// How often in all, the first time included.
    pub attempts: u32,
    /// The wait before the second attempt.
    pub first_wait: Duration,
    /// The longest wait.
    pub longest_wait: Duration,
    /// How long all of it may take, attempts and waits.
    pub total: Duration,
}

impl Default for Policy {
    fn default() -> Self {
        Self {
            attempts: 5,
            first_wait: Duration::from_millis(500),
            longest_wait: Duration::from_mins(1),
            total: Duration::from_mins(30),
        }
    }
}

/// A model whose calls are made again when they failed for a reason that may pass.
#[derive(Debug)]
pub struct Retry<M> {
    model: M,
    policy: Policy,
}

impl<M: Model> Retry<M> {
    /// Wraps a model.
    pub fn new(model: M, policy: Policy) -> Self {
        Self { model, policy }
    }

    async fn persist(&self, request: &Request, heard: &Heard<'_>) -> Result<Reply, ModelError> {
        let begin = Instant::now();
        // What is too far away to be a time is never.
        let end = begin.checked_add(self.policy.total);
        let end = end.unwrap_or_else(|| begin + Duration::from_hours(24 * 365));
        let mut attempt = 1;
        loop {
            let result = timeout_at(end, self.model.respond(request, heard)).await;
            let error = match result {
                Ok(Ok(reply)) => return Ok(reply),
                Ok(Err(error)) => error,
                Err(_) => return Err(self.too_late()),
            };
            if !error.is_transient() || attempt >= self.policy.attempts {
                return Err(error);
            }
            let wait = match error.retry_after() {
                Some(wait) if wait > self.policy.longest_wait => return Err(error),
                Some(wait) => wait,
                None => self.wait_before(attempt + 1),
            };
            if Instant::now().checked_add(wait).is_none_or(|next| next >= end) {
                return Err(error);
            }
            attempt += 1;
            heard(Part::Again { attempt, why: &error, wait });
            sleep(wait).await;
        }
    }

    fn wait_before(&self, attempt: u32) -> Duration {
        let factor = 2_u32.saturating_pow(attempt.saturating_sub(2));
        let full = self.policy.first_wait.saturating_mul(factor).min(self.policy.longest_wait);
        full / 2 + (full / 2).mul_f64(random())
    }

    fn too_late(&self) -> ModelError {
        let (model, time) = (self.model.name().to_owned(), self.policy.total);
        ModelError::Deadline { model, stage: Stage::Whole, time }
    }
}

/// A number from 0 to below 1.
fn random() -> f64 {
    // Each of these has other keys, from random ones of the system.
    let bits = RandomState::new().build_hasher().finish() >> 32;
    f64::from(u32::try_from(bits).unwrap_or_default()) / (f64::from(u32::MAX) + 1.0)
}

impl<M: Model> Model for Retry<M> {
    fn name(&self) -> &str {
        self.model.name()
    }

    fn respond<'a>(
        &'a self,
        request: &'a Request,
        heard: &'a Heard<'a>,
    ) -> BoxFuture<'a, Result<Reply, ModelError>> {
        Box::pin(self.persist(request, heard))
    }
}
