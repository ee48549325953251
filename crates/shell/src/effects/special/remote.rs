//! Copies to and from other machines.

use crate::effects::Kind;
use crate::effects::arg::Arg;
use crate::effects::row::{DELETE, FORCE, TREE};
use crate::effects::run::{Call, host_of};
use crate::effects::special::files;

/// `host:path`, `user@host:path`, `scheme://host/path`: a colon before any slash.
fn machine(arg: Arg<'_>) -> Option<String> {
    let text = arg.text();
    if text.contains("://") {
        return Some(host_of(&text).to_owned());
    }
    let (host, _) = text.split_once(':')?;
    (!host.is_empty() && !host.contains('/')).then(|| host_of(host).to_owned())
}

pub(crate) fn copy(call: &mut Call<'_, '_>) {
    transfer(call, call.has(TREE));
}

pub(crate) fn rsync(call: &mut Call<'_, '_>) {
    let operands = call.operands.clone();
    transfer(call, call.has(TREE | DELETE));
    let Some((&target, sources)) = operands.split_last() else { return };
    if call.has(DELETE) && !sources.is_empty() {
        match machine(target) {
            // What is deleted there is as good as deleted here.
            Some(_) => {
                if let Some((_, path)) = target.text().split_once(':') {
                    call.path_text(Kind::Delete, path.trim_start_matches("//"), true);
                }
            }
            None => call.path(Kind::Delete, target, true),
        }
    }
    if call.has(FORCE) {
        for &source in sources.iter().filter(|source| machine(**source).is_none()) {
            call.path(Kind::Delete, source, true);
        }
    }
}

fn transfer(call: &mut Call<'_, '_>, tree: bool) {
    let mut sources = std::mem::take(&mut call.operands);
    let Some(target) = sources.pop() else { return };
    for &source in &sources {
        match machine(source) {
            Some(host) => call.host(host),
            None => call.path(Kind::Read, source, tree),
        }
    }
    if let Some(host) = machine(target) {
        let sends = sources.iter().any(|source| machine(*source).is_none());
        call.connect(host, sends);
        return;
    }
    if sources.is_empty() {
        call.path(Kind::Read, target, tree);
        return;
    }
    // A source with a slash at its end is copied as what is in it.
    for &source in &sources {
        let contents = source.text().ends_with('/') && call.by == "rsync";
        if files::is_directory(target) && !contents {
            let name = files::base_name(source);
            let name = name.rsplit(':').next().unwrap_or(&name).to_owned();
            call.path_in(Kind::Write, target, &name, tree);
        } else {
            call.path(Kind::Write, target, tree);
        }
    }
}
