//! Disks.

use crate::effects::arg::Arg;
use crate::effects::row::{A, ALL, C, LOOK, TARGET};
use crate::effects::run::Call;
use crate::effects::{Kind, Thing};

fn is_device(arg: Arg<'_>) -> bool {
    arg.prefix().starts_with("/dev/") || arg.is_unknown()
}

pub(crate) fn format(call: &mut Call<'_, '_>) {
    let ext = call.by == "mke2fs" || call.by.starts_with("mkfs.ext");
    let dry = ext && call.command.argv.iter().any(|word| word.known() == Some("-n"));
    if call.has(LOOK) || dry {
        return;
    }
    for target in std::mem::take(&mut call.operands) {
        let text = target.text();
        if is_device(target) || text.contains(['/', '.']) {
            // A file of one's own can be made again.
            call.thing(Thing::Filesystem, text, is_device(target));
            call.path(Kind::Write, target, false);
        }
    }
}

/// Where the system and people have their files.
fn is_vital(path: &str) -> bool {
    let path = if path == "/" { path } else { path.trim_end_matches('/') };
    let tops = [
        "/", "~", "/home", "/root", "/etc", "/usr", "/var", "/boot", "/opt", "/srv", "/bin",
        "/sbin", "/lib", "/lib64", "/Users", "/nix",
    ];
    let below = ["/etc/", "/usr/", "/bin/", "/sbin/", "/lib/", "/boot/"];
    let home = path.strip_prefix("/home/").is_some_and(|name| !name.contains('/'));
    tops.contains(&path) || home || below.iter().any(|start| path.starts_with(start))
}

/// What is mounted over a place hides what is there.
pub(crate) fn mount(call: &mut Call<'_, '_>) {
    let words = std::mem::take(&mut call.operands);
    if call.has(A) {
        call.thing(Thing::Filesystem, "", false);
    }
    let Some(target) = call.value_of(TARGET).or(words.last().copied()) else { return };
    if call.has(LOOK) {
        return;
    }
    let text = target.text();
    let options = call.value_of(C).map(Arg::text).unwrap_or_default();
    let has = |name: &str| options.split(',').any(|option| option == name);
    // A mount that is there already changes how it can be used: only reading stops all else.
    let over = if has("remount") { has("ro") } else { words.len() > 1 };
    call.thing(Thing::Filesystem, text.as_ref(), over && is_vital(&text));
}

pub(crate) fn unmount(call: &mut Call<'_, '_>) {
    let targets = std::mem::take(&mut call.operands);
    if targets.is_empty() {
        let all = call.has(ALL);
        call.thing(Thing::Filesystem, "", all);
    }
    for target in targets {
        let text = target.text();
        let destroys = is_vital(&text);
        call.thing(Thing::Filesystem, text, destroys);
    }
}

/// `hdiutil detach /`.
pub(crate) fn image(call: &mut Call<'_, '_>) {
    let words = std::mem::take(&mut call.operands);
    let Some((verb, rest)) = words.split_first() else { return };
    let name = rest.last().map(|name| name.text().into_owned()).unwrap_or_default();
    match verb.prefix() {
        "detach" | "eject" | "unmount" => {
            let destroys = is_vital(&name);
            call.thing(Thing::Filesystem, name, destroys);
        }
        "attach" | "mount" => call.thing(Thing::Filesystem, name, false),
        _ => {}
    }
}

/// What the machine starts from is written anew.
pub(crate) fn boot(call: &mut Call<'_, '_>) {
    if !call.by.starts_with("grub") {
        return;
    }
    for device in std::mem::take(&mut call.operands) {
        if is_device(device) {
            call.thing(Thing::Device, device.text(), true);
        }
    }
}

pub(crate) fn parted(call: &mut Call<'_, '_>) {
    let operands = std::mem::take(&mut call.operands);
    let Some((&device, words)) = operands.split_first() else { return };
    let changes = |word: &Arg<'_>| {
        matches!(
            word.prefix(),
            "mklabel"
                | "mktable"
                | "mkpart"
                | "rm"
                | "resizepart"
                | "rescue"
                | "mkpartfs"
                | "move"
                | "resize"
                | "set"
                | "toggle"
                | "name"
                | "disk_set"
        )
    };
    if words.iter().any(changes) {
        let text = device.text();
        let strict = words.iter().any(|word| !matches!(word.prefix(), "set" | "name" | "toggle"));
        call.thing(Thing::Device, text, strict);
        call.path(Kind::Write, device, false);
    }
}

pub(crate) fn drive(call: &mut Call<'_, '_>) {
    let erases = |word: &str| {
        word.contains("secure-erase")
            || word.contains("security-erase")
            || word.contains("trim-sector")
            || word.contains("write-sector")
            || word.contains("make-bad-sector")
            || matches!(
                word,
                "format" | "sanitize" | "delete-ns" | "write-zeroes" | "dsm" | "--format"
            )
    };
    let destroys =
        call.by == "sg_format" || call.command.argv.iter().any(|word| erases(word.prefix()));
    for device in std::mem::take(&mut call.operands) {
        if is_device(device) {
            if destroys {
                call.thing(Thing::Device, device.text(), true);
                call.path(Kind::Write, device, false);
            } else {
                call.path(Kind::Read, device, false);
            }
        }
    }
}
