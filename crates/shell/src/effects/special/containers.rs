//! Containers: what of this machine they can reach.

use crate::effects::arg::Arg;
use crate::effects::row::A;
use crate::effects::run::Call;
use crate::effects::{Kind, Thing};

/// A directory of this machine that a container gets is one that it may write.
pub(crate) fn run(call: &mut Call<'_, '_>) {
    for mount in call.values_of(A) {
        let text = mount.text();
        if let Some(source) = text
            .split(',')
            .find_map(|part| part.strip_prefix("source=").or_else(|| part.strip_prefix("src=")))
        {
            if text.contains("type=bind") {
                let kind = if text.contains("readonly") || text.contains(",ro") {
                    Kind::Read
                } else {
                    Kind::Write
                };
                call.maybe(|call| call.path_text(kind, source, true));
            }
            continue;
        }
        let mut fields = text.split(':');
        let source = fields.next().unwrap_or("");
        let read_only = fields.nth(1).is_some_and(|mode| mode.split(',').any(|word| word == "ro"));
        if source.starts_with(['/', '.', '~', '$']) {
            let kind = if read_only { Kind::Read } else { Kind::Write };
            if source.contains("$?") {
                call.maybe(|call| {
                    call.pattern_in(kind, Arg::new(&crate::value::Value::unknown()), "", true);
                });
            } else {
                call.maybe(|call| call.path_text(kind, source, true));
            }
        }
    }
    let image = call.operands.first().map(|image| image.text().into_owned()).unwrap_or_default();
    call.thing(Thing::Container, image, false);
}

pub(crate) fn build(call: &mut Call<'_, '_>) {
    if let Some(&context) = call.operands.last() {
        if context.prefix().contains("://") {
            call.host(crate::effects::run::host_of(&context.text()));
        } else {
            call.path(Kind::Read, context, true);
        }
    }
    call.thing(Thing::Container, "", false);
    call.host("registry");
}

/// `cp container:path here` and back.
pub(crate) fn cp(call: &mut Call<'_, '_>) {
    let operands = std::mem::take(&mut call.operands);
    let [source, target] = operands.as_slice() else { return };
    let inside = |arg: &Arg<'_>| {
        let text = arg.text();
        text.split_once(':').is_some_and(|(name, _)| !name.is_empty() && !name.contains('/'))
    };
    if inside(source) {
        if !inside(target) {
            call.path(Kind::Write, *target, true);
        }
    } else {
        call.path(Kind::Read, *source, true);
    }
    if inside(target) {
        call.thing(Thing::Container, target.text(), false);
    }
}

/// Scaled to nothing, a service is gone for those who use it.
pub(crate) fn scale(call: &mut Call<'_, '_>) {
    let nothing = call.value_of(A).is_some_and(|count| count.is("0"));
    let name = call.operands.first().map(|name| name.text().into_owned()).unwrap_or_default();
    call.thing(Thing::Cluster, name, nothing);
    call.host("cluster");
}

/// Without its finalizers a thing goes before what hangs on it was put away.
pub(crate) fn patch(call: &mut Call<'_, '_>) {
    let text = call.value_of(A).map(Arg::text).unwrap_or_default();
    let bare: String = text.chars().filter(|letter| !letter.is_whitespace()).collect();
    if bare.contains("finalizers\":null") || bare.contains("finalizers\":[]") {
        call.thing(Thing::Cluster, "finalizers", true);
    }
}

pub(crate) fn ceph(call: &mut Call<'_, '_>) {
    let words = std::mem::take(&mut call.operands);
    let gone = |word: &Arg<'_>| {
        matches!(
            word.prefix(),
            "delete" | "rm" | "remove" | "purge" | "destroy" | "zap" | "purge-snaps"
        )
    };
    let looks = |word: &Arg<'_>| {
        matches!(
            word.prefix(),
            "status" | "-s" | "health" | "ls" | "tree" | "df" | "stat" | "info" | "get"
        )
    };
    let destroys = words.iter().any(gone);
    if destroys || !words.iter().any(looks) {
        let name = words.last().map(|word| word.text().into_owned()).unwrap_or_default();
        call.thing(Thing::Cluster, name, destroys);
    }
}
