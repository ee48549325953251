//! Servers on loopback, and a network that leads public addresses to them.

#![allow(dead_code, unreachable_pub)] // each test uses what it needs of it

use std::collections::{HashMap, VecDeque};
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::net::{IpAddr, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, mpsc};
use std::thread;
use std::time::Duration;

use tollgate_fetch::{Allowlist, Client, Limits, Network};

/// Far more than any of these takes, also on a busy machine.
pub const LONG: Duration = Duration::from_secs(30);

/// What a server got.
#[derive(Debug, Clone, Default)]
pub struct Got {
    pub line: String,
    pub headers: Vec<(String, String)>,
    pub body: String,
}

impl Got {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(own, _)| own == name).map(|(_, value)| value.as_str())
    }

    pub fn read(stream: &mut impl io::Read) -> io::Result<Self> {
        let mut reader = BufReader::new(stream);
        let mut got = Self::default();
        reader.read_line(&mut got.line)?;
        got.line.truncate(got.line.trim_end().len());
        loop {
            let mut line = String::new();
            reader.read_line(&mut line)?;
            let Some((name, value)) = line.trim_end().split_once(": ") else { break };
            got.headers.push((name.to_ascii_lowercase(), value.to_owned()));
        }
        if let Some(length) = got.header("content-length") {
            let mut body = vec![0; length.parse().unwrap()];
            reader.read_exact(&mut body)?;
            got.body = String::from_utf8(body).unwrap();
        }
        Ok(got)
    }
}

/// A server that answers each request as it is told to.
pub struct Server {
    pub address: SocketAddr,
    got: Arc<Mutex<Vec<Got>>>,
    is_over: Arc<AtomicBool>,
}

impl Server {
    /// One that is given each request and what to write to.
    pub fn new(
        answer: impl Fn(&Got, &mut TcpStream) -> io::Result<()> + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let (got, is_over) = (Arc::new(Mutex::new(Vec::new())), Arc::new(AtomicBool::new(false)));
        let (log, stop, answer) = (got.clone(), is_over.clone(), Arc::new(answer));
        thread::spawn(move || {
            for stream in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    break;
                }
                let (log, answer) = (log.clone(), answer.clone());
                thread::spawn(move || {
                    let mut stream = stream.unwrap();
                    let Ok(got) = Got::read(&mut stream) else { return };
                    log.lock().unwrap().push(got.clone());
                    // The client may be gone; that is its right.
                    let _ = answer(&got, &mut stream);
                });
            }
        });
        Self { address, got, is_over }
    }

    /// One that always answers the same and then ends the connection.
    pub fn says(text: impl Into<Vec<u8>>) -> Self {
        let text = text.into();
        Self::new(move |_, stream| stream.write_all(&text))
    }

    /// One that has a text for each path.
    pub fn with(paths: &[(&str, &str)]) -> Self {
        let own = |(path, text): &(&str, &str)| ((*path).to_owned(), (*text).to_owned());
        let paths: HashMap<String, String> = paths.iter().map(own).collect();
        Self::new(move |got, stream| {
            let path = got.line.split(' ').nth(1).unwrap_or_default();
            let none = "HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\n\r\n".to_owned();
            stream.write_all(paths.get(path).unwrap_or(&none).as_bytes())
        })
    }

    pub fn port(&self) -> u16 {
        self.address.port()
    }

    pub fn url(&self, path: &str) -> String {
        format!("http://{}{path}", self.address)
    }

    pub fn got(&self) -> Vec<Got> {
        self.got.lock().unwrap().clone()
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.is_over.store(true, Ordering::SeqCst);
        let _ = TcpStream::connect(self.address);
    }
}

pub fn ok(body: &str) -> String {
    format!("HTTP/1.1 200 OK\r\ncontent-length: {}\r\n\r\n{body}", body.len())
}

pub fn redirect(status: u16, to: &str) -> String {
    format!("HTTP/1.1 {status} Go\r\nlocation: {to}\r\ncontent-length: 0\r\n\r\n")
}

/// A network of this test: names with the answers they give one after the other (the last one
/// for ever), and addresses with the servers that are really there.
#[derive(Clone, Default)]
pub struct TestNetwork {
    names: Arc<Mutex<HashMap<String, VecDeque<Vec<IpAddr>>>>>,
    routes: HashMap<IpAddr, SocketAddr>,
    pub resolved: Arc<Mutex<Vec<String>>>,
    pub connected: Arc<Mutex<Vec<SocketAddr>>>,
}

impl TestNetwork {
    pub fn name(self, name: &str, answers: &[&[&str]]) -> Self {
        let answer = |answer: &&[&str]| answer.iter().map(|text| text.parse().unwrap()).collect();
        let answers = answers.iter().map(answer).collect();
        self.names.lock().unwrap().insert(name.to_owned(), answers);
        self
    }

    pub fn route(self, address: &str, server: &Server) -> Self {
        self.lead(address, server.address)
    }

    pub fn lead(mut self, address: &str, to: SocketAddr) -> Self {
        self.routes.insert(address.parse().unwrap(), to);
        self
    }

    pub fn connected(&self) -> Vec<SocketAddr> {
        self.connected.lock().unwrap().clone()
    }

    pub fn resolved(&self) -> Vec<String> {
        self.resolved.lock().unwrap().clone()
    }
}

impl Network for TestNetwork {
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        self.resolved.lock().unwrap().push(host.to_owned());
        let mut names = self.names.lock().unwrap();
        let answers = names.get_mut(host).ok_or_else(|| io::Error::other("no such name"))?;
        if answers.len() > 1 { Ok(answers.pop_front().unwrap()) } else { Ok(answers[0].clone()) }
    }

    fn connect(&self, address: SocketAddr, time: Duration) -> io::Result<TcpStream> {
        self.connected.lock().unwrap().push(address);
        match self.routes.get(&address.ip()) {
            Some(server) => TcpStream::connect_timeout(server, time),
            None => Err(io::ErrorKind::ConnectionRefused.into()),
        }
    }
}

/// A resolver that hangs until it is let go, and tells when it does.
pub struct Hangs {
    entered: mpsc::Sender<()>,
    until: Mutex<mpsc::Receiver<()>>,
    network: TestNetwork,
}

impl Hangs {
    /// One that is let go when the sender is dropped.
    pub fn new(network: TestNetwork) -> (Self, mpsc::Receiver<()>, mpsc::Sender<()>) {
        let (entered, has_entered) = mpsc::channel();
        let (hold, until) = mpsc::channel();
        (Self { entered, until: Mutex::new(until), network }, has_entered, hold)
    }
}

impl Network for Hangs {
    fn resolve(&self, host: &str) -> io::Result<Vec<IpAddr>> {
        // Nobody need listen.
        let _ = self.entered.send(());
        let _ = self.until.lock().unwrap().recv();
        self.network.resolve(host)
    }

    fn connect(&self, address: SocketAddr, time: Duration) -> io::Result<TcpStream> {
        self.network.connect(address, time)
    }
}

/// Entries as config.toml has them: `a.org`, `*.a.org`, `*`, each with or without a port.
pub fn list(entries: &[&str]) -> Allowlist<String> {
    let entries = entries.iter().map(|entry| (*entry).to_owned());
    Allowlist::new(entries, |entry, host, port| {
        let (name, own) = match entry.rsplit_once(':') {
            Some((name, own)) if !own.ends_with(']') => (name, Some(own.parse().unwrap())),
            _ => (entry.as_str(), None),
        };
        let is_meant = match name.strip_prefix('*') {
            Some(below) => host.len() > below.len() && host.ends_with(below),
            None => name == host,
        };
        is_meant && own.is_none_or(|own: u16| own == port)
    })
}

pub fn client(entries: &[&str]) -> Client {
    Client::new(Limits::default(), list(entries))
}
