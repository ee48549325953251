//! MCP servers as tools.
//!
//! A [`Server`] is a program that is started for it, or a place on the web, that offers tools over
//! the Model Context Protocol. Whoever wrote it is not trusted to have done well. A server that
//! crashes, hangs, floods or lies costs the call that met it, never the agent:
//!
//! - Every call has a deadline. A server that does not even answer a ping afterwards is ended, with
//!   all processes it started, and started again at the next call. One that fails time and again
//!   is waited for longer and longer.
//! - What a server sends has bounds: one message, the list of its tools, what the model gets of an
//!   answer. What it prints that is no message is skipped, up to a bound.
//! - A server asks for nothing: requests to use the model, to ask the person or to see directories
//!   are refused.
//! - A program gets the environment variables that it needs to run and those that its
//!   configuration names, and no others. What the configuration takes from variables is kept out
//!   of errors.
//!
//! Tools keep their names, and the server's name is the configuration's. This crate knows nothing
//! of hooks: whoever calls asks first.
//!
//! A program runs under a keeper ([`tollgate_exec::Service`]), so it and all it started end with the
//! connection, also when this process is killed by `SIGKILL`.
//!
//! Files and the network are not kept from a program: it runs as the person does.
//!
//! ```
//! use tollgate_mcp::{McpError, Server, ServerConfig};
//!
//! # tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap().block_on(async {
//! let config = ServerConfig::stdio("files", "sh", ["-c", "echo no database >&2; exit 3"]);
//! let error = Server::connect(config).await.unwrap_err();
//! assert_eq!(
//!     error.to_string(),
//!     "the MCP server `files` could not be started: it ended with exit status 3 before it \
//!      answered; it wrote: no database",
//! );
//! # });
//! ```

mod config;
mod connection;
mod error;
mod file;
mod handler;
mod http;
mod listing;
mod process;
mod reply;
mod server;
mod stdio;
mod tail;
mod text;

pub use config::{Limits, ServerConfig, Tools, Transport};
pub use error::McpError;
pub use file::{FileError, from_json};
pub use listing::ToolInfo;
pub use server::Server;
pub use text::{Text, TextError};
