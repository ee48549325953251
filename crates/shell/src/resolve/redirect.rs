//! Redirections: what they open, where input comes from, and what ends up in files.

use super::files::input_of;
use super::typed::{is_own_input, is_terminal};
use super::walk::Walker;
use super::{Access, Input, Redirection};
use crate::syntax::{Redirect, RedirectKind};
use crate::value::Value;

impl Walker {
    /// What the redirections open, and where input then comes from.
    pub(super) fn redirections(
        &mut self,
        redirects: &[Redirect],
        input: &Input,
    ) -> (Vec<Redirection>, Input) {
        let mut opened = Vec::new();
        let mut input = input.clone();
        for redirect in redirects {
            let target = self.one_value(&redirect.target);
            let is_input = redirect.descriptor.as_deref().is_none_or(|fd| fd == "0");
            let accesses: &[Access] = match redirect.kind {
                RedirectKind::Read => &[Access::Read],
                RedirectKind::Write | RedirectKind::Both => &[Access::Write],
                RedirectKind::Append | RedirectKind::BothAppend => &[Access::Append],
                RedirectKind::ReadWrite => &[Access::Read, Access::Append],
                RedirectKind::DuplicateIn => {
                    if is_input && target.known() != Some("0") {
                        let path = format!("/dev/fd/{}", target.known().unwrap_or("?"));
                        input = match self.state.file(&path) {
                            Some(text) => Input::Text(text.clone()),
                            None => Input::Pipe,
                        };
                    }
                    &[]
                }
                RedirectKind::DuplicateOut => {
                    // `0>&3`: what the descriptor is open to is read.
                    if redirect.descriptor.as_deref() == Some("0") {
                        input = Input::Pipe;
                    }
                    let number = |text: &str| text.chars().all(|c| c.is_ascii_digit() || c == '-');
                    if target.known().is_some_and(number) { &[] } else { &[Access::Write] }
                }
                RedirectKind::HereString => {
                    let mut text = target.clone();
                    text.push_str("\n");
                    if is_input {
                        input = Input::Text(text);
                    }
                    continue;
                }
                RedirectKind::HereDocument => {
                    if is_input {
                        input = Input::Text(target);
                    }
                    continue;
                }
            };
            // Another machine says what comes in.
            if target.prefix().starts_with("/dev/tcp/") || target.prefix().starts_with("/dev/udp/")
            {
                input = Input::Pipe;
            } else if redirect.kind == RedirectKind::Read && is_input {
                input = match target.known().and_then(|path| self.state.file(path)) {
                    Some(text) => Input::Text(text.clone()),
                    None if target.known().is_some_and(is_terminal) => Input::Inherited,
                    // What was the input stays it.
                    None if target.known().is_some_and(is_own_input) => input,
                    // What the agent wrote itself is as good as what it says here.
                    None => {
                        target.known().and_then(|path| input_of(self, path)).unwrap_or(Input::File)
                    }
                };
            }
            if let Some((last, others)) = accesses.split_last() {
                for access in others {
                    opened.push(Redirection { access: *access, target: target.clone() });
                }
                opened.push(Redirection { access: *last, target });
            }
        }
        (opened, input)
    }

    /// What `exec 3< file` opens can be read from its descriptor later on.
    pub(super) fn keep_descriptors(&mut self, redirects: &[Redirect]) {
        for redirect in redirects {
            let descriptor = redirect.descriptor.as_deref().unwrap_or("0");
            let path = format!("/dev/fd/{descriptor}");
            let target = self.one_value(&redirect.target);
            let content = match redirect.kind {
                RedirectKind::HereString | RedirectKind::HereDocument => target,
                RedirectKind::Read | RedirectKind::ReadWrite => {
                    let file = target.known().and_then(|path| self.state.file(path)).cloned();
                    file.unwrap_or_else(Value::unknown)
                }
                _ => continue,
            };
            // What the shell itself reads from here on is a script.
            if descriptor == "0" {
                self.code(&content, &Input::Inherited);
            }
            self.state.keep_file(&path, content);
        }
    }

    /// Remembers what was printed into a file.
    pub(super) fn keep_output(
        &mut self,
        redirects: &[Redirect],
        opened: &[Redirection],
        output: &Value,
    ) {
        if !redirects.iter().any(takes_output) {
            return;
        }
        for redirection in opened {
            if redirection.access == Access::Read {
                continue;
            }
            let Some(path) = redirection.target.known() else { continue };
            let mut content = match redirection.access {
                Access::Append => self.state.file(path).cloned().unwrap_or_else(Value::unknown),
                _ => Value::default(),
            };
            content.append(output);
            self.state.keep_file(path, content);
        }
    }
}

/// Whether it takes what a command prints.
pub(super) fn takes_output(redirect: &Redirect) -> bool {
    let first = redirect.descriptor.as_deref().is_none_or(|fd| fd == "1");
    match redirect.kind {
        RedirectKind::Write | RedirectKind::Append => first,
        RedirectKind::Both | RedirectKind::BothAppend => true,
        _ => false,
    }
}
