//! Triggers by the clock.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::Duration;

use chrono::{DateTime, Local, TimeZone, Utc};
use futures_util::future::BoxFuture;
use tokio::time::{Instant, MissedTickBehavior, interval_at, sleep};

use super::push::{Push, Sent};
use super::{Trigger, TriggerError};

/// Fires each time so much time has passed; for the first time after that. Times that were missed,
/// because the machine was busy or asleep, are not made up for.
#[derive(Debug, Clone)]
pub struct Every {
    name: String,
    period: Duration,
    message: String,
}

/// A trigger that fires each time so much time has passed.
pub fn every(period: Duration, message: impl Into<String>) -> Result<Every, TriggerError> {
    if period < Duration::from_millis(1) {
        return Err(TriggerError::Period(period));
    }
    Ok(Every { name: format!("every {}", in_words(period)), period, message: message.into() })
}

impl Every {
    /// The same under another name.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }
}

/// The largest unit in which it is a whole number.
fn in_words(period: Duration) -> String {
    let seconds = period.as_secs();
    match seconds {
        _ if period.subsec_nanos() > 0 => format!("{period:?}"),
        _ if seconds.is_multiple_of(3600) => format!("{}h", seconds / 3600),
        _ if seconds.is_multiple_of(60) => format!("{}m", seconds / 60),
        _ => format!("{seconds}s"),
    }
}

impl Trigger for Every {
    fn name(&self) -> &str {
        &self.name
    }

    fn run(&self, push: Push) -> BoxFuture<'_, Result<(), TriggerError>> {
        Box::pin(async move {
            let now = Instant::now();
            let Some(first) = now.checked_add(self.period) else {
                return Err(TriggerError::Period(self.period));
            };
            let mut ticks = interval_at(first, self.period);
            ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
            loop {
                ticks.tick().await;
                if push.send(self.message.clone()) == Sent::Closed {
                    return Ok(());
                }
            }
        })
    }
}

/// Which clock an expression is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Zone {
    /// Coordinated universal time: the same everywhere, and without summer time.
    #[default]
    Utc,
    /// The time zone of the machine, with its summer time.
    Local,
}

/// How often the clock is looked at. Clocks are set, and machines sleep.
const LOOK: Duration = Duration::from_secs(30);

/// Fires at the times of a cron expression. Of times that were missed because the clock was put
/// forward or the machine slept, one is made up for.
#[derive(Clone)]
pub struct Cron {
    name: String,
    times: croner::Cron,
    zone: Zone,
    message: String,
    clock: Clock,
}

type Clock = Arc<dyn Fn() -> DateTime<Utc> + Send + Sync>;

/// A trigger that fires at the times of a cron expression (minute, hour, day of the month, month,
/// day of the week; with a field for seconds in front, if there are six). Times are those of UTC,
/// unless [`Cron::zone`] says otherwise.
///
/// ```
/// use tollgate_agent::trigger::{Zone, cron};
///
/// let mornings = cron("30 8 * * MON-FRI", "what is new?")?.zone(Zone::Local);
/// assert!(cron("0 0 30 2 *", "never").is_err());
/// # Ok::<(), tollgate_agent::trigger::TriggerError>(())
/// ```
pub fn cron(expression: &str, message: impl Into<String>) -> Result<Cron, TriggerError> {
    let wrong = |why: String| TriggerError::Cron { expression: shown(expression), why };
    // Nobody writes longer ones, and the parser's time grows with them.
    if expression.len() > 256 {
        return Err(wrong("it has more than 256 bytes".to_owned()));
    }
    let times = croner::Cron::from_str(expression).map_err(|error| wrong(error.to_string()))?;
    let trigger = Cron {
        name: format!("cron {expression}"),
        times,
        zone: Zone::Utc,
        message: message.into(),
        clock: Arc::new(Utc::now),
    };
    trigger.next(Utc::now()).map_err(|why| wrong(format!("it never comes ({why})")))?;
    Ok(trigger)
}

fn shown(expression: &str) -> String {
    expression.chars().take(60).collect()
}

impl Cron {
    /// The same under another name.
    pub fn named(mut self, name: impl Into<String>) -> Self {
        self.name = name.into();
        self
    }

    /// The same by the clock of this zone.
    pub fn zone(mut self, zone: Zone) -> Self {
        self.zone = zone;
        self
    }

    /// The same by another clock than the machine's.
    pub fn clock(mut self, clock: impl Fn() -> DateTime<Utc> + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// The first time after this one.
    fn next(&self, after: DateTime<Utc>) -> Result<DateTime<Utc>, String> {
        match self.zone {
            Zone::Utc => self.next_in(&after),
            Zone::Local => self.next_in(&after.with_timezone(&Local)),
        }
    }

    fn next_in<Z: TimeZone>(&self, after: &DateTime<Z>) -> Result<DateTime<Utc>, String>
    where
        DateTime<Z>: croner::CronDateTime,
    {
        let next = self.times.find_next_occurrence(after, false);
        next.map(|next| next.with_timezone(&Utc)).map_err(|error| error.to_string())
    }
}

impl Trigger for Cron {
    fn name(&self) -> &str {
        &self.name
    }

    fn run(&self, push: Push) -> BoxFuture<'_, Result<(), TriggerError>> {
        Box::pin(async move {
            let failed = |why| TriggerError::Cron { expression: self.name.clone(), why };
            let mut seen = (self.clock)();
            loop {
                let now = (self.clock)();
                // Set back: what has been is not waited for until it has been again.
                seen = seen.min(now);
                let next = self.next(seen).map_err(failed)?;
                if next <= now {
                    seen = now;
                    if push.send(self.message.clone()) == Sent::Closed {
                        return Ok(());
                    }
                    continue;
                }
                let left = (next - now).to_std().unwrap_or(LOOK);
                sleep(left.min(LOOK)).await;
            }
        })
    }
}

impl fmt::Debug for Cron {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Cron")
            .field("name", &self.name)
            .field("zone", &self.zone)
            .field("message", &self.message)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn periods_have_names() {
        let name = |period| every(period, "").unwrap().name().to_owned();
        assert_eq!(name(Duration::from_millis(1500)), "every 1.5s");
        assert_eq!(name(Duration::from_secs(90)), "every 90s");
        assert_eq!(name(Duration::from_mins(90)), "every 90m");
        assert_eq!(name(Duration::from_hours(24)), "every 24h");
    }
}
