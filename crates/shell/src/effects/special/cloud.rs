//! Providers: which of their many subcommands destroy.

use crate::effects::arg::Arg;
use crate::effects::row::{A, B, C, D, FORCE};
use crate::effects::run::Call;
use crate::effects::special::verbs::{self, destroys, looks};
use crate::effects::{Kind, Thing, sql};

pub(crate) fn aws(call: &mut Call<'_, '_>) {
    let operands = std::mem::take(&mut call.operands);
    call.host("amazonaws.com");
    let (Some(service), Some(verb)) = (operands.first(), operands.get(1)) else { return };
    call.by = format!("aws {} {}", service.text(), verb.text()).into();
    let rest = operands.get(2..).unwrap_or(&[]);
    let name = rest.first().map(|name| name.text().into_owned()).unwrap_or_default();
    if !service.is("s3") {
        let word = verb.text();
        if looks(&word) {
            return;
        }
        let secret = service.is("secretsmanager") || service.is("ssm");
        let thing = if secret { Thing::Secret } else { Thing::Cloud };
        let to_nothing = call.value_of(C).is_some_and(|count| count.is("0"));
        let gone = destroys(&word)
            || to_nothing
            || word.starts_with("schedule-key-deletion")
            || matches!(word.as_ref(), "release-address" | "close-account");
        call.thing(thing, name, gone);
        return;
    }
    match verb.prefix() {
        "ls" | "presign" => {}
        "rb" => {
            call.thing(Thing::Cloud, name, true);
        }
        "rm" => {
            // One object may be kept in versions; all of them are another matter.
            let many = call.has(A);
            call.thing(Thing::Cloud, name, many);
        }
        "mb" | "website" => call.thing(Thing::Cloud, name, false),
        _ => copy(call, rest, verb.is("mv")),
    }
}

/// `cp`, `mv`, `sync` between here and a bucket.
fn copy<'a>(call: &mut Call<'a, '_>, rest: &[Arg<'a>], moves: bool) {
    let tree = call.has(A) || call.by.ends_with("sync");
    let deletes = call.has(B);
    let there = |arg: &Arg<'_>| arg.prefix().contains("://");
    let Some((target, sources)) = rest.split_last() else { return };
    if there(target) && sources.iter().any(|source| !there(source)) {
        call.send(target.text());
    }
    for source in sources.iter().filter(|source| !there(source)) {
        call.path(if moves { Kind::Delete } else { Kind::Read }, *source, tree);
    }
    if there(target) {
        call.thing(Thing::Cloud, target.text(), deletes);
    } else {
        call.path(if deletes { Kind::Delete } else { Kind::Write }, *target, tree);
    }
}

pub(crate) fn provider(call: &mut Call<'_, '_>) {
    let text = call.value_of(C).map(Arg::text);
    let last = call.operands.last().copied();
    let queries = call.operands.iter().any(|word| word.is("query") || word.is("execute"));
    let texts = text.into_iter().chain(last.filter(|_| queries).map(Arg::text));
    let drops = texts.into_iter().any(|text| sql::destroys(&text));
    let replaces =
        call.value_of(D).is_some_and(|mode| mode.text().eq_ignore_ascii_case("complete"));
    let goes_down = matches!(
        call.operands.as_slice(),
        [first, ..] if call.by == "railway" && first.is("down")
    );
    if drops || replaces || goes_down || call.has(B) {
        let name = call.operands.first().map(|name| name.text().into_owned()).unwrap_or_default();
        call.host("provider");
        call.thing(if drops { Thing::Database } else { Thing::Cloud }, name, true);
        return;
    }
    verbs::cloud(call);
}

/// `ansible all -m file -a 'path=/srv state=absent'`: what goes there is as good as gone here.
pub(crate) fn ansible(call: &mut Call<'_, '_>) {
    let module = call.value_of(A).map(Arg::text).unwrap_or_default();
    let arguments = call.value_of(B).map(Arg::text).unwrap_or_default();
    let absent = arguments.split_whitespace().any(|word| word == "state=absent");
    if absent && module.rsplit('.').next() == Some("file") {
        let path = arguments.split_whitespace().find_map(|word| {
            let (name, path) = word.split_once('=')?;
            matches!(name, "path" | "dest" | "name").then_some(path)
        });
        call.path_text(Kind::Delete, path.unwrap_or("/"), true);
    }
    if matches!(module.rsplit('.').next(), Some("reboot" | "shutdown")) {
        call.thing(Thing::Power, "", true);
    }
}

pub(crate) fn bucket(call: &mut Call<'_, '_>) {
    let operands = std::mem::take(&mut call.operands);
    call.host("provider");
    let Some((verb, rest)) = operands.split_first() else { return };
    let name = rest.first().map(|name| name.text().into_owned()).unwrap_or_default();
    match verb.prefix() {
        "rm" | "rb" | "del" | "remove" | "delete" => {
            let many = call.has(A | FORCE) || verb.is("rb") || name.contains('*');
            call.thing(Thing::Cloud, name, many);
        }
        "cp" | "mv" | "sync" | "rsync" | "put" | "get" | "copy" | "mirror" => {
            copy(call, rest, verb.is("mv"));
        }
        "ls" | "du" | "cat" | "stat" | "info" => {}
        _ => call.thing(Thing::Cloud, name, false),
    }
}
