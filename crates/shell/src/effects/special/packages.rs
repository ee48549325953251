//! Package managers: what may not be removed, and where things go.

use crate::effects::arg::Arg;
use crate::effects::row::{A, ALL, B, C, D, DELETE, FORCE, GLOBAL, LIVE, LOOK, NONE};
use crate::effects::run::Call;
use crate::effects::{Kind, Thing};

/// Without these a machine does not start, or nobody can get into it.
const ESSENTIAL: &[&str] = &[
    "libc6",
    "libc-bin",
    "glibc",
    "musl",
    "systemd",
    "systemd-sysv",
    "init",
    "sysvinit",
    "coreutils",
    "sudo",
    "bash",
    "dash",
    "util-linux",
    "base-files",
    "base-passwd",
    "dpkg",
    "apt",
    "rpm",
    "dnf",
    "yum",
    "pacman",
    "apk-tools",
    "kernel",
    "kernel-core",
    "linux",
    "linux-lts",
    "linux-generic",
    "grub",
    "grub2",
    "grub-pc",
    "grub-common",
    "grub-efi-amd64",
    "login",
    "passwd",
    "mount",
    "filesystem",
    "busybox",
    "openssh-server",
    "libpam-modules",
    "udev",
    "initramfs-tools",
    "network-manager",
    "NetworkManager",
    "base",
    "setup",
    "shadow",
    "e2fsprogs",
    "python3-minimal",
    "gnome-shell",
    "ubuntu-desktop",
    "libssl3",
    "perl-base",
    "tar",
    "sed",
    "grep",
    "gzip",
    "findutils",
    "hostname",
    "diffutils",
    "ncurses-base",
    "debianutils",
    "alpine-base",
    "alpine-baselayout",
];

fn is_essential(name: &str) -> bool {
    // `libc6:amd64`, `systemd=249`.
    // `sys-libs/glibc`, with the category in front.
    let name = name
        .split_once('/')
        .filter(|(group, _)| group.contains('-'))
        .map_or(name, |(_, name)| name);
    let bare = name.split([':', '=', '/']).next().unwrap_or(name);
    ESSENTIAL.contains(&bare)
        || bare.starts_with("linux-image")
        || bare.starts_with("kernel-")
        || matches!(bare, "*" | "~" | ".*" | "?*" | "installed" | "@world" | "@system")
}

pub(crate) fn remove(call: &mut Call<'_, '_>) {
    let forced = call.has(FORCE);
    // A setting on the command line can call off what an option asks for.
    let real = |setting: &Arg<'_>| {
        let text = setting.text().to_ascii_lowercase();
        ["get::simulate", "get::dry-run", "get::just-print", "get::no-act"]
            .iter()
            .any(|name| text.contains(name))
    };
    if call.values_of(C).iter().any(real) {
        call.bits |= LIVE;
    }
    let names = std::mem::take(&mut call.operands);
    if names.is_empty() {
        call.thing(Thing::Package, "", forced);
    }
    for name in names {
        let destroys = forced || is_essential(&name.text()) || name.is_unknown();
        call.thing(Thing::Package, name.text(), destroys);
    }
}

/// Where everything there is comes in as a list, nothing stays.
pub(crate) fn uninstall(call: &mut Call<'_, '_>) {
    let fed = call.is_fed();
    for name in std::mem::take(&mut call.operands) {
        let destroys = fed && name.is_unknown();
        call.thing(Thing::Package, name.text(), destroys);
    }
}

/// An environment can be made again; the one that all others hang on cannot.
pub(crate) fn conda(call: &mut Call<'_, '_>) {
    let name = call.value_of(A).map(|name| name.text().into_owned());
    let whole = call.has(ALL) || call.by.ends_with("env remove");
    let base = name.as_deref().is_none_or(|name| name == "base" || name == "root");
    if whole {
        call.thing(Thing::Package, name.unwrap_or_default(), base);
        return;
    }
    for name in std::mem::take(&mut call.operands) {
        call.thing(Thing::Package, name.text(), false);
    }
}

/// Who may publish, and what others get.
pub(crate) fn published(call: &mut Call<'_, '_>) {
    let verb = call.operands.first().map_or("", |word| word.prefix());
    let gone = matches!(verb, "rm" | "remove" | "revoke" | "delete" | "destroy");
    if !matches!(verb, "ls" | "list" | "get") {
        call.thing(Thing::Cloud, "", gone);
    }
}

/// Managers whose options say whether something comes or goes.
pub(crate) fn erase(call: &mut Call<'_, '_>) {
    if call.has(LOOK) {
        return;
    }
    if call.has(DELETE) {
        remove(call);
        return;
    }
    let names = std::mem::take(&mut call.operands);
    if names.is_empty() {
        call.thing(Thing::Package, "", false);
    }
    for name in names {
        call.thing(Thing::Package, name.text(), false);
    }
    call.host("registry");
}

/// A compiler, and a client of object stores.
pub(crate) fn swift(call: &mut Call<'_, '_>) {
    if call.operands.first().is_some_and(|verb| verb.is("delete")) {
        call.thing(Thing::Cloud, "", true);
    }
    call.program("swift");
}

/// `apt install name-` removes it.
pub(crate) fn install(call: &mut Call<'_, '_>) {
    let names = std::mem::take(&mut call.operands);
    if names.is_empty() {
        call.thing(Thing::Package, "", false);
    }
    for name in names {
        let text = name.text();
        let destroys = text.strip_suffix('-').is_some_and(is_essential);
        if text.starts_with(['/', '.']) {
            call.path(Kind::Read, name, false);
        }
        call.thing(Thing::Package, text, destroys);
    }
    call.host("registry");
}

pub(crate) fn dpkg(call: &mut Call<'_, '_>) {
    if call.has(DELETE) {
        remove(call);
    } else if call.has(A) {
        for file in std::mem::take(&mut call.operands) {
            call.path(Kind::Read, file, false);
            call.thing(Thing::Package, file.text(), false);
        }
    }
}

pub(crate) fn rpm(call: &mut Call<'_, '_>) {
    if call.has(LOOK) {
        return;
    }
    if call.has(DELETE) {
        remove(call);
        return;
    }
    for file in std::mem::take(&mut call.operands) {
        if file.prefix().contains("://") {
            call.host(crate::effects::run::host_of(&file.text()));
        } else {
            call.path(Kind::Read, file, false);
        }
        call.thing(Thing::Package, file.text(), false);
    }
}

pub(crate) fn pacman(call: &mut Call<'_, '_>) {
    if call.has(LOOK) {
        return;
    }
    if call.has(DELETE) {
        // Twice means no dependency is looked at at all.
        let twice = |word: &str| word.matches('d').count() > 1 && word.starts_with("-R");
        let forced = call.has(C) && call.command.argv.iter().any(|word| twice(word.prefix()));
        if forced
            || call.command.argv.iter().filter(|word| word.known() == Some("--nodeps")).count() > 1
        {
            call.bits |= FORCE;
        }
        remove(call);
        return;
    }
    if call.has(A) && call.has(D) && call.has(NONE) {
        call.path_text(Kind::Delete, "/var/cache/pacman/pkg", true);
        return;
    }
    if call.has(A | B) {
        install(call);
    }
}

pub(crate) fn node(call: &mut Call<'_, '_>) {
    let names = std::mem::take(&mut call.operands);
    for name in names {
        call.thing(Thing::Package, name.text(), false);
    }
    if !call.has(GLOBAL) {
        call.path_text(Kind::Write, "node_modules", true);
        call.path_text(Kind::Write, "package.json", false);
    }
    call.host("registry.npmjs.org");
}

/// `yarn` alone installs, `yarn name` runs a script.
pub(crate) fn node_other(call: &mut Call<'_, '_>) {
    let bare = call.operands.is_empty();
    if bare && call.by == "yarn" {
        node(call);
    } else if !bare {
        call.program(call.by.clone());
    }
}

pub(crate) fn node_config(call: &mut Call<'_, '_>) {
    let verb = call.operands.first().map(|verb| verb.prefix());
    if matches!(verb, Some("set" | "delete" | "edit")) || call.name == "set" {
        let name = call.operands.get(1).map(|name| name.text().into_owned());
        call.thing(Thing::Setting, name.unwrap_or_default(), false);
    }
}

/// A directory becomes a package that others can get.
pub(crate) fn publish(call: &mut Call<'_, '_>) {
    for directory in std::mem::take(&mut call.operands) {
        call.path(Kind::Read, directory, true);
    }
    call.send("registry");
}

pub(crate) fn cargo_clean(call: &mut Call<'_, '_>) {
    match call.value_of(A) {
        Some(directory) => call.path(Kind::Delete, directory, true),
        None => call.path_text(Kind::Delete, "target", true),
    }
}
