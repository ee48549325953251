//! What is left when triggers were stopped: nothing.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::tempdir;
use tollgate_agent::trigger::{
    Options, Secret, Trigger, Triggers, WebhookConfig, cron, every, files, webhook,
};

const LONG: Duration = Duration::from_secs(30);

/// The threads of this process that watch files.
fn watchers() -> usize {
    let tasks = fs::read_dir("/proc/self/task").unwrap();
    let name = |task: fs::DirEntry| fs::read_to_string(task.path().join("comm"));
    tasks.filter_map(|task| name(task.ok()?).ok()).filter(|name| name.contains("notify")).count()
}

async fn until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + LONG;
    while !holds() {
        assert!(Instant::now() < deadline, "{what}: never");
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}

#[tokio::test]
async fn stopped_triggers_leave_neither_threads_nor_ports() {
    let place = tempdir().unwrap();
    let hook = webhook(WebhookConfig::new(Secret::Given("correct horse battery".into()))).unwrap();
    let address = hook.address();
    let watched = files([place.path().to_str().unwrap()], Duration::from_millis(10), "x").unwrap();
    let triggers: Vec<Arc<dyn Trigger>> = vec![
        Arc::new(hook),
        Arc::new(watched),
        Arc::new(every(Duration::from_millis(1), "x").unwrap()),
        Arc::new(cron("* * * * *", "x").unwrap()),
    ];
    for stops in [true, false] {
        let (running, receiver, _problems) = Triggers::start(triggers.clone(), Options::default());
        until("files are watched", || watchers() == 1).await;
        until("the port is open", || TcpStream::connect(address).is_ok()).await;
        // One that is connected and says nothing ends as well.
        let _idle = TcpStream::connect(address).unwrap();
        if stops {
            running.stop().await;
            assert!(TcpStream::connect(address).is_err());
        } else {
            // When nobody listens any more, they end by themselves.
            drop(receiver);
            until("the port is closed", || TcpStream::connect(address).is_err()).await;
        }
        until("nothing is watched", || watchers() == 0).await;
        assert!(triggers.iter().all(|trigger| Arc::strong_count(trigger) >= 1));
    }
}
