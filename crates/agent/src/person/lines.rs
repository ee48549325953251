//! The lines that a person types, and who gets them.
//!
//! There is one reader, whoever waits for a line. A line goes to the question that is open when it arrives, and else to
//! the conversation. What had arrived before a question was shown is no answer to it: it is kept for the conversation.
//! Nobody reads ahead: what nobody waits for stays where it is, for the program that comes after this one.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, BufRead, Read};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak, mpsc};

use tokio::net::unix::pipe::Receiver;
use tokio::sync::Notify;

/// The longest line. A person types less; what is longer is cut into several, none of which is an answer.
const LONGEST: usize = 64 * 1024;

/// The most lines that are kept for the conversation; those after them are dropped.
const KEPT: usize = 10_000;

/// A line, or the end of the input.
type Item = Option<String>;

pub(super) struct Lines {
    state: Mutex<State>,
    source: Source,
    arrived: Notify,
}

#[derive(Default)]
struct State {
    /// Whether a question is open.
    is_asked: bool,
    answers: VecDeque<Item>,
    prompts: VecDeque<Item>,
    /// The beginning of a line.
    begun: Vec<u8>,
    /// Nothing more will come.
    is_over: bool,
}

enum Source {
    /// A terminal that reports when a line is there, and never waits for one.
    Terminal(File),
    /// Anything else: a thread waits for it, one line at a time, and nobody waits for the thread.
    Stream(Mutex<Stream>),
}

enum Stream {
    Unread(Box<dyn BufRead + Send>),
    /// Who reads, and whether a line was asked for that has not come yet.
    Read {
        wanted: mpsc::Sender<()>,
        is_awaited: bool,
    },
    Over,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl State {
    fn put(&mut self, item: Item) {
        if self.is_asked {
            self.answers.push_back(item);
        } else if self.prompts.len() < KEPT {
            self.prompts.push_back(item);
        }
    }

    /// What belonged to a question that is closed belongs to the conversation.
    fn close(&mut self) {
        self.is_asked = false;
        for item in std::mem::take(&mut self.answers) {
            self.put(item);
        }
    }

    /// Takes what is there from a terminal. An error of the kind `WouldBlock` where nothing is.
    fn take(&mut self, read: impl Fn(&mut [u8]) -> io::Result<usize>) -> io::Result<Taken> {
        let mut bytes = [0; 4096];
        let count = loop {
            match read(&mut bytes) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                other => break other?,
            }
        };
        if count == 0 {
            let begun = std::mem::take(&mut self.begun);
            self.put((!begun.is_empty()).then(|| String::from_utf8_lossy(&begun).into_owned()));
            return Ok(Taken::End);
        }
        for byte in bytes.iter().take(count) {
            if *byte != b'\n' {
                self.begun.push(*byte);
            }
            if *byte == b'\n' || self.begun.len() == LONGEST {
                let line = std::mem::take(&mut self.begun);
                self.put(Some(String::from_utf8_lossy(&line).into_owned()));
            }
        }
        Ok(Taken::Some)
    }
}

#[derive(PartialEq, Eq)]
enum Taken {
    Some,
    End,
}

impl Lines {
    /// Lines of a terminal, which must have been opened so that reading it does not wait.
    pub(super) fn of_terminal(terminal: File) -> Arc<Self> {
        Self::of(Source::Terminal(terminal))
    }

    pub(super) fn of_stream(stream: impl BufRead + Send + 'static) -> Arc<Self> {
        Self::of(Source::Stream(Mutex::new(Stream::Unread(Box::new(stream)))))
    }

    fn of(source: Source) -> Arc<Self> {
        Arc::new(Self { state: Mutex::default(), source, arrived: Notify::new() })
    }

    /// Opens a question. What has arrived by now does not answer it.
    pub(super) fn ask(self: &Arc<Self>) -> Asked {
        let mut state = lock(&self.state);
        state.close();
        if let Source::Terminal(terminal) = &self.source {
            let read = |bytes: &mut [u8]| (&*terminal).read(bytes);
            while let Ok(Taken::Some) = state.take(read) {}
            // The beginning of a line was typed before, too.
            let begun = std::mem::take(&mut state.begun);
            if !begun.is_empty() {
                state.put(Some(String::from_utf8_lossy(&begun).into_owned()));
            }
        }
        state.is_asked = true;
        drop(state);
        Asked { lines: Arc::clone(self) }
    }

    /// The next line that answers nothing.
    pub(super) async fn prompt(self: &Arc<Self>) -> Item {
        self.next(|state| &mut state.prompts).await
    }

    /// The next line of a queue. Nothing is lost where this is given up.
    async fn next(self: &Arc<Self>, queue: fn(&mut State) -> &mut VecDeque<Item>) -> Item {
        loop {
            let mut arrived = std::pin::pin!(self.arrived.notified());
            arrived.as_mut().enable();
            {
                let mut state = lock(&self.state);
                if let Some(item) = queue(&mut state).pop_front() {
                    return item;
                }
                if state.is_over {
                    return None;
                }
            }
            tokio::select! {
                () = arrived => {}
                () = self.more() => {}
            }
        }
    }

    /// Waits until more has arrived, for whomever.
    async fn more(self: &Arc<Self>) {
        match &self.source {
            Source::Terminal(terminal) => {
                if self.more_of(terminal).await.is_err() {
                    lock(&self.state).is_over = true;
                }
                self.arrived.notify_waiters();
            }
            Source::Stream(stream) => {
                self.want(stream);
                // Who reads tells when it has come.
                std::future::pending::<()>().await;
            }
        }
    }

    async fn more_of(&self, terminal: &File) -> io::Result<()> {
        // A handle of its own: the conversation and a question may wait at once. That it is called a pipe is all that
        // this type has to do with one: it waits for any handle that the system reports on.
        let handle = Receiver::from_file_unchecked(terminal.try_clone()?)?;
        loop {
            handle.readable().await?;
            // Between its arrival and this a question may have been closed, or opened.
            let taken = lock(&self.state).take(|bytes| handle.try_read(bytes));
            match taken {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                taken => return taken.map(|_| ()),
            }
        }
    }

    /// Has a line read, unless one is being read.
    fn want(self: &Arc<Self>, stream: &Mutex<Stream>) {
        let mut stream = lock(stream);
        if let Stream::Unread(_) = &*stream {
            let (wanted, requests) = mpsc::channel();
            let unread =
                std::mem::replace(&mut *stream, Stream::Read { wanted, is_awaited: false });
            if let Stream::Unread(input) = unread {
                let lines = Arc::downgrade(self);
                let thread = std::thread::Builder::new().name("person".to_owned());
                // Without it nobody can be asked, which is seen as soon as a line is wanted.
                drop(thread.spawn(move || read_stream(input, &requests, &lines)));
            }
        }
        let is_over = match &mut *stream {
            Stream::Read { wanted, is_awaited } if !*is_awaited => {
                *is_awaited = true;
                wanted.send(()).is_err()
            }
            Stream::Read { .. } => false,
            Stream::Unread(_) | Stream::Over => true,
        };
        drop(stream);
        if is_over {
            lock(&self.state).is_over = true;
            self.arrived.notify_waiters();
        }
    }

    /// A line of a stream has come, or its end.
    fn deliver(&self, item: Item) {
        if let Source::Stream(stream) = &self.source {
            match &mut *lock(stream) {
                Stream::Read { is_awaited, .. } if item.is_some() => *is_awaited = false,
                stream => *stream = Stream::Over,
            }
        }
        let mut state = lock(&self.state);
        state.is_over |= item.is_none();
        if item.is_some() {
            state.put(item);
        }
        drop(state);
        self.arrived.notify_waiters();
    }
}

/// Reads a line for each request.
fn read_stream(
    mut input: Box<dyn BufRead + Send>,
    requests: &mpsc::Receiver<()>,
    lines: &Weak<Lines>,
) {
    while requests.recv().is_ok() {
        let mut line = Vec::new();
        let most = u64::try_from(LONGEST).unwrap_or(u64::MAX);
        let read = input.by_ref().take(most).read_until(b'\n', &mut line);
        let item = match read {
            Ok(0) | Err(_) => None,
            Ok(_) => Some(String::from_utf8_lossy(&line).into_owned()),
        };
        let is_end = item.is_none();
        let Some(lines) = lines.upgrade() else { return };
        lines.deliver(item);
        if is_end {
            return;
        }
    }
}

/// A question that is open until this is dropped.
pub(super) struct Asked {
    lines: Arc<Lines>,
}

impl Asked {
    /// The next answer.
    pub(super) async fn answer(&self) -> Item {
        self.lines.next(|state| &mut state.answers).await
    }
}

impl Drop for Asked {
    fn drop(&mut self) {
        lock(&self.lines.state).close();
        self.lines.arrived.notify_waiters();
    }
}

#[cfg(test)]
mod tests {
    // A test fails by panicking.
    #![allow(clippy::unwrap_used)]

    use std::time::Duration;

    use super::*;

    /// A stream whose lines come when they are sent.
    struct Sent(mpsc::Receiver<&'static str>, &'static [u8]);

    impl Read for Sent {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            if self.1.is_empty() {
                self.1 = self.0.recv().unwrap_or_default().as_bytes();
            }
            self.1.read(into)
        }
    }

    fn sent() -> (mpsc::Sender<&'static str>, Arc<Lines>) {
        let (sender, receiver) = mpsc::channel();
        (sender, Lines::of_stream(io::BufReader::with_capacity(1, Sent(receiver, &[]))))
    }

    fn text(item: Item) -> String {
        item.unwrap().trim_end().to_owned()
    }

    #[tokio::test]
    async fn a_line_goes_to_the_open_question_and_else_to_the_conversation() {
        let (sender, lines) = sent();
        let idle = tokio::spawn({
            let lines = Arc::clone(&lines);
            async move { lines.prompt().await }
        });
        tokio::task::yield_now().await;
        let asked = lines.ask();
        sender.send("yes\n").unwrap();
        assert_eq!(text(asked.answer().await), "yes");
        drop(asked);
        sender.send("do it\n").unwrap();
        assert_eq!(text(idle.await.unwrap()), "do it");
    }

    #[tokio::test]
    async fn what_answers_a_question_that_was_given_up_answers_no_other() {
        let (sender, lines) = sent();
        let asked = lines.ask();
        let given_up = tokio::time::timeout(Duration::from_millis(1), asked.answer()).await;
        assert!(given_up.is_err());
        drop(asked);
        sender.send("yes\n").unwrap();
        // It has arrived when the conversation could have it.
        while lock(&lines.state).prompts.is_empty() {
            tokio::task::yield_now().await;
        }
        let asked = lines.ask();
        sender.send("no\n").unwrap();
        assert_eq!(text(asked.answer().await), "no");
        drop(asked);
        assert_eq!(text(lines.prompt().await), "yes");
        drop(sender);
        assert_eq!(lines.prompt().await, None);
        assert_eq!(lines.ask().answer().await, None);
    }
}
