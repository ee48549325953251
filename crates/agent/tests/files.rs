//! Files that really change.
// A test fails by panicking.
#![allow(clippy::unwrap_used, clippy::panic, clippy::indexing_slicing)]

use std::fs;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use tempfile::{TempDir, tempdir};
use tokio::sync::mpsc;
use tokio::time::timeout;
use tollgate_agent::trigger::{Fired, Options, Problem, Receiver, Triggers, files};

const LONG: Duration = Duration::from_secs(30);
const QUIET: Duration = Duration::from_millis(50);

struct Scene {
    place: TempDir,
    receiver: Receiver,
    problems: mpsc::Receiver<Problem>,
    _triggers: Triggers,
}

impl Scene {
    /// Watches these, below a directory of its own.
    fn new(place: TempDir, watched: &[&str]) -> Self {
        let paths = watched.iter().map(|path| place.path().join(path));
        let paths: Vec<String> = paths.map(|path| path.to_str().unwrap().to_owned()).collect();
        let trigger = files(paths, QUIET, "changed:\n{paths}").unwrap().named("files");
        let options = Options { backoff: Duration::from_millis(10), ..Options::default() };
        let (triggers, receiver, problems) = Triggers::start(vec![Arc::new(trigger)], options);
        Self { place, receiver, problems, _triggers: triggers }
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        self.place.path().join(name)
    }

    /// Does something until it is noticed: nobody knows when the watch begins.
    async fn noticed(&mut self, mut act: impl FnMut(&Path)) -> Fired {
        let noticed = async {
            loop {
                act(self.place.path());
                if let Ok(fired) = timeout(4 * QUIET, self.receiver.recv()).await {
                    return fired.unwrap();
                }
            }
        };
        timeout(LONG, noticed).await.unwrap()
    }

    /// The next message that names this path.
    async fn next_with(&mut self, name: &str) -> Fired {
        let path = self.path(name).to_str().unwrap().to_owned();
        let next = async {
            loop {
                let fired = self.receiver.recv().await.unwrap();
                if fired.message.lines().any(|line| line == path) {
                    return fired;
                }
            }
        };
        timeout(LONG, next).await.unwrap()
    }
}

#[tokio::test]
async fn changes_of_what_is_watched_are_told_of_and_no_others() {
    let place = tempdir().unwrap();
    fs::create_dir_all(place.path().join("src/deep")).unwrap();
    fs::write(place.path().join("one.txt"), "").unwrap();
    let mut scene = Scene::new(place, &["src/**/*.rs", "one.txt"]);
    let fired = scene
        .noticed(|place| {
            fs::write(place.join("src/deep/a.rs"), "x").unwrap();
            fs::write(place.join("src/deep/a.py"), "x").unwrap();
            fs::write(place.join("two.txt"), "x").unwrap();
        })
        .await;
    let path = scene.path("src/deep/a.rs");
    assert_eq!(fired.message, format!("changed:\n{}", path.display()));
    assert_eq!((fired.trigger.as_str(), fired.missed), ("files", 0));

    // A file that is replaced, as programs do that save it.
    fs::write(scene.path("new"), "y").unwrap();
    fs::rename(scene.path("new"), scene.path("one.txt")).unwrap();
    scene.next_with("one.txt").await;
    // A directory that was not there before.
    fs::create_dir(scene.path("src/later")).unwrap();
    scene.noticed(|place| fs::write(place.join("src/later/b.rs"), "x").unwrap()).await;
    fs::remove_file(scene.path("src/deep/a.rs")).unwrap();
    scene.next_with("src/deep/a.rs").await;
}

#[tokio::test]
async fn changes_that_follow_each_other_are_one() {
    let place = tempdir().unwrap();
    let mut scene = Scene::new(place, &[""]);
    scene.noticed(|place| fs::write(place.join("first"), "x").unwrap()).await;
    let start = Instant::now();
    for n in 0..90 {
        fs::write(scene.path(&format!("{n:03}")), "x").unwrap();
    }
    let last = scene.path("089").to_str().unwrap().to_owned();
    let messages = async {
        for count in 1.. {
            let message = scene.receiver.recv().await.unwrap().message;
            if message.lines().any(|line| line == last) {
                return count;
            }
        }
        0
    };
    let messages = timeout(LONG, messages).await.unwrap();
    // There was quiet before each of them; on a slow machine that may be more than once.
    assert!(QUIET * messages <= start.elapsed() + QUIET, "{messages} in {:?}", start.elapsed());
}

#[tokio::test]
async fn a_directory_that_goes_is_told_of_and_watched_again_when_it_is_back() {
    let place = tempdir().unwrap();
    fs::create_dir(place.path().join("d")).unwrap();
    let mut scene = Scene::new(place, &["d/*.txt"]);
    scene.noticed(|place| fs::write(place.join("d/a.txt"), "x").unwrap()).await;
    fs::remove_dir_all(scene.path("d")).unwrap();
    let problem = timeout(LONG, scene.problems.recv()).await.unwrap().unwrap();
    assert!(problem.error.to_string().ends_with("cannot be watched: it is gone"), "{problem:?}");
    fs::create_dir(scene.path("d")).unwrap();
    let path = scene.path("d/b.txt").to_str().unwrap().to_owned();
    while !scene
        .noticed(|place| fs::write(place.join("d/b.txt"), "x").unwrap())
        .await
        .message
        .contains(&path)
    {}
}

#[tokio::test]
async fn what_is_not_there_is_told_of_and_tried_again() {
    let place = tempdir().unwrap();
    let mut scene = Scene::new(place, &["later/*.txt"]);
    let problem = timeout(LONG, scene.problems.recv()).await.unwrap().unwrap();
    assert_eq!(problem.trigger, "files");
    assert!(problem.error.to_string().contains("later/*.txt` cannot be watched"), "{problem:?}");
    assert!(problem.restarts_in.is_some());
    fs::create_dir(scene.path("later")).unwrap();
    scene.noticed(|place| fs::write(place.join("later/a.txt"), "x").unwrap()).await;
}

#[test]
fn nothing_to_watch_is_refused() {
    assert!(files([""; 0], QUIET, "x").is_err());
    assert!(files([""], QUIET, "x").is_err());
    assert!(files(["a/[z"], QUIET, "x").is_err());
}
