//! Messages as lines, over a program's standard input and output.

use std::fmt;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};

use rmcp::RoleClient;
use rmcp::model::{ServerJsonRpcMessage, ServerNotification};
use rmcp::service::{RxJsonRpcMessage, TxJsonRpcMessage};
use rmcp::transport::Transport;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader};
use tokio::net::unix::pipe::{Receiver, Sender};
use tokio::sync::Mutex;
use tollgate_exec::Service;

/// How many bytes of no messages are skipped between two messages. Programs print greetings and
/// logs where they should not; one that prints more than this does nothing else.
const NOISE: usize = 1024 * 1024;

/// How many messages may wait for the program to read them. A program that asks and asks, and
/// never reads what it is answered, would fill our memory.
const UNREAD: usize = 256;

/// What a connection ended of, where it was our decision.
#[derive(Debug, Clone, Default)]
pub(crate) struct Verdict(Arc<OnceLock<String>>);

impl Verdict {
    /// The first one counts: what follows is a consequence.
    pub(crate) fn pass(&self, why: String) {
        let _ = self.0.set(why);
    }

    pub(crate) fn why(&self) -> Option<&str> {
        self.0.get().map(String::as_str)
    }
}

/// Why there are no more messages.
enum End {
    /// The program closed its output.
    Closed,
    /// It is not listened to any longer.
    Ours(String),
}

/// The lines of a program, as messages.
pub(crate) struct Lines {
    input: Arc<Mutex<Option<Sender>>>,
    output: BufReader<Receiver>,
    line: Vec<u8>,
    noise: usize,
    longest: usize,
    unread: Arc<AtomicUsize>,
    verdict: Verdict,
    service: Arc<Service>,
}

impl Lines {
    pub(crate) fn new(
        input: Sender,
        output: Receiver,
        longest: usize,
        verdict: Verdict,
        service: Arc<Service>,
    ) -> Self {
        Self {
            input: Arc::new(Mutex::new(Some(input))),
            output: BufReader::new(output),
            line: Vec::new(),
            noise: 0,
            longest,
            unread: Arc::default(),
            verdict,
            service,
        }
    }

    /// Reads on to the end of the line. Can be dropped and called again at any time: what was
    /// read is kept.
    async fn read_line(&mut self) -> Result<(), End> {
        loop {
            let bytes = self.output.fill_buf().await.map_err(|_| End::Closed)?;
            if bytes.is_empty() {
                return Err(End::Closed);
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let taken = end.map_or(bytes.len(), |end| end + 1);
            if self.line.len() + taken > self.longest {
                return Err(End::Ours(format!(
                    "it sent a message of more than {} bytes, which is the limit",
                    self.longest
                )));
            }
            self.line.extend(bytes.iter().take(taken));
            self.output.consume(taken);
            if end.is_some() {
                return Ok(());
            }
        }
    }

    async fn next(&mut self) -> Result<ServerJsonRpcMessage, End> {
        loop {
            if self.unread.load(Ordering::Relaxed) > UNREAD {
                return Err(End::Ours("it does not read what it is sent".to_owned()));
            }
            self.read_line().await?;
            let message = message(&self.line);
            let size = self.line.len();
            // A long message once is no reason to keep room for it.
            self.line.clear();
            self.line.shrink_to(64 * 1024);
            if let Some(message) = message {
                self.noise = 0;
                if is_of_interest(&message) {
                    return Ok(message);
                }
            } else {
                self.noise += size;
                if self.noise > NOISE {
                    let why = "it prints what is no message, on and on".to_owned();
                    return Err(End::Ours(why));
                }
            }
        }
    }
}

/// By way of a value: where numbers keep their text, a message that is one of several kinds cannot
/// be read from text directly.
pub(crate) fn message(text: &[u8]) -> Option<ServerJsonRpcMessage> {
    serde_json::from_value(serde_json::from_slice(text).ok()?).ok()
}

/// Whether anybody here does something with it. A flood of progress and logs ends here.
fn is_of_interest(message: &ServerJsonRpcMessage) -> bool {
    let ServerJsonRpcMessage::Notification(notification) = message else { return true };
    !matches!(
        notification.notification,
        ServerNotification::ProgressNotification(_)
            | ServerNotification::LoggingMessageNotification(_)
            | ServerNotification::ResourceUpdatedNotification(_)
            | ServerNotification::ResourceListChangedNotification(_)
            | ServerNotification::PromptListChangedNotification(_)
            | ServerNotification::CustomNotification(_)
    )
}

impl Transport<RoleClient> for Lines {
    type Error = io::Error;

    fn send(
        &mut self,
        message: TxJsonRpcMessage<RoleClient>,
    ) -> impl Future<Output = io::Result<()>> + Send + 'static {
        let waiting = Waiting::new(&self.unread);
        let input = self.input.clone();
        async move {
            let _waiting = waiting;
            let mut line = serde_json::to_vec(&message)?;
            line.push(b'\n');
            let mut input = input.lock().await;
            let Some(input) = input.as_mut() else {
                return Err(io::Error::new(io::ErrorKind::NotConnected, "its input is closed"));
            };
            input.write_all(&line).await?;
            input.flush().await
        }
    }

    async fn receive(&mut self) -> Option<RxJsonRpcMessage<RoleClient>> {
        match self.next().await {
            Ok(message) => Some(message),
            Err(End::Closed) => None,
            Err(End::Ours(why)) => {
                self.verdict.pass(why);
                // What waits to be written to it would be waited for.
                self.service.kill();
                None
            }
        }
    }

    async fn close(&mut self) -> io::Result<()> {
        // Whoever writes at the moment ends with the connection, and the input with that.
        if let Ok(mut input) = self.input.try_lock() {
            input.take();
        }
        Ok(())
    }
}

impl fmt::Debug for Lines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Lines").field("longest", &self.longest).finish_non_exhaustive()
    }
}

/// One more message that the program has not read.
struct Waiting(Arc<AtomicUsize>);

impl Waiting {
    fn new(count: &Arc<AtomicUsize>) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count.clone())
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
