//! What is no file: accounts, services, databases, clusters.

use super::{Class, Judge, Level, sentence};
use crate::effects::hosts::{Reach, reach};
use crate::effects::packages::nearly;
use crate::effects::{Effect, Kind, Target};

/// Services by which a machine is watched or protected.
const PROTECTS: &[&str] = &[
    "auditd",
    "rsyslog",
    "syslog",
    "syslog-ng",
    "systemd-journald",
    "journald",
    "ufw",
    "firewalld",
    "iptables",
    "nftables",
    "fail2ban",
    "apparmor",
    "selinux",
    "clamav",
    "clamd",
    "falco",
    "falcon-sensor",
    "falcond",
    "osqueryd",
    "wazuh",
    "ossec",
    "crowdstrike",
    "cron",
    "crond",
    "cronie",
    "anacron",
    "sshd",
    "ssh",
    "aide",
    "tripwire",
    "sysmon",
    "mdatp",
    "cbdaemon",
    "sentinelone",
    "littlesnitchd",
    "chronyd",
    "ntpd",
    "systemd-timesyncd",
    "snort",
    "suricata",
    "samhain",
];

/// True for the name of a service or process that watches or protects a machine.
pub(crate) fn is_protector(name: &str) -> bool {
    PROTECTS.contains(&name.trim_end_matches(".service"))
        || matches!(name, "systemd" | "init" | "launchd" | "tollgate")
}

impl Judge<'_> {
    pub(super) fn thing(&mut self, effect: &Effect, what: &str, name: &str) {
        let by = effect.by.as_str();
        if effect.destroys {
            let class = match what {
                "firewall" | "log" | "kernel" | "schedule" | "service" => Class::Tamper,
                _ => Class::Destroy,
            };
            let level = if effect.sure { Level::Deny } else { Level::Ask };
            let sentence = if what == "service" && is_protector(name) {
                sentence::stops_protection(by, name)
            } else {
                sentence::destroys(what, name, by)
            };
            return self.note(effect, class, level, sentence);
        }
        match what {
            "account" => {
                self.note(
                    effect,
                    Class::Startup,
                    Level::Deny,
                    sentence::changes_accounts(by, name),
                );
            }
            "kernel" => {
                self.note(effect, Class::Startup, Level::Deny, sentence::changes_kernel(by, name));
            }
            "permission" => {
                self.note(effect, Class::Startup, Level::Deny, sentence::grants(by, name));
            }
            "schedule" => self.note(effect, Class::Startup, Level::Deny, sentence::schedules(by)),
            "log" => self.note(
                effect,
                Class::Tamper,
                Level::Deny,
                sentence::changes_record(name, "records of what happened"),
            ),
            "firewall" => {
                self.note(effect, Class::Tamper, Level::Ask, sentence::opens_firewall(by));
            }
            "power" => self.note(effect, Class::Tamper, Level::Deny, sentence::powers_off(by)),
            "environment" => self.environment(effect, name),
            "network" => self.route(effect, name),
            "setting" => self.setting(effect, name),
            "service" => self.service(effect, name),
            // A build that may use the keys of the person is one that people start.
            "credentials" if by.starts_with("docker") || by.starts_with("podman") => {
                self.note(effect, Class::Secret, Level::Ask, sentence::lends_keys(by));
            }
            "credentials" => {
                self.note(effect, Class::Secret, Level::Deny, sentence::reads_store(by));
            }
            "package" => self.package(effect, name),
            _ => {}
        }
    }

    /// A dump of the environment is only told to the model, unless it is sent on.
    fn environment(&mut self, effect: &Effect, name: &str) {
        if effect.by != "env" && effect.kind == Kind::System && is_name(effect) {
            return self.note(effect, Class::Send, Level::Ask, sentence::sends_name(&effect.by));
        }
        // Printed, it stays here; sent, or made part of an address, it does not.
        let is_part = ["$(env", "$(printenv", "`env", "`printenv", "$(gh auth token"]
            .iter()
            .any(|start| self.situation.text.contains(start));
        let leaves = |other: &Effect| match &other.target {
            Target::Host(host) => match reach(host) {
                Reach::Local | Reach::Configured => false,
                _ if !other.sends && !is_part => false,
                // A token is for whom it is from.
                _ => name != "token" || !(host == "github.com" || host.ends_with(".github.com")),
            },
            _ => false,
        };
        if self.effects.list.iter().any(leaves) {
            self.note(effect, Class::Send, Level::Deny, sentence::sends_environment());
        }
    }

    /// Another machine on the way, and a repository that is pushed elsewhere.
    fn route(&mut self, effect: &Effect, name: &str) {
        if let Some(host) = name.strip_prefix("via ") {
            if !matches!(reach(host), Reach::Local | Reach::Private) {
                let sentence = sentence::goes_through(host, &effect.by);
                self.note(effect, Class::Send, Level::Ask, sentence);
            }
        } else if let Some(host) = name.strip_prefix("push ") {
            let pushes = |other: &Effect| other.sends && other.by.starts_with("git push");
            if self.effects.list.iter().any(pushes) {
                let sentence = sentence::pushes_elsewhere(host);
                self.note(effect, Class::Send, Level::Ask, sentence);
            }
        }
    }

    /// A package whose name is nearly that of another one.
    fn package(&mut self, effect: &Effect, name: &str) {
        let installs =
            ["install", "add", "i", "get", "require"].iter().any(|verb| effect.by.ends_with(verb));
        if let Some(meant) = nearly(name).filter(|_| installs) {
            let sentence = sentence::nearly_package(name, meant);
            self.note(effect, Class::Code, Level::Ask, sentence);
        }
    }

    fn setting(&mut self, effect: &Effect, name: &str) {
        if let Some(extension) = name.strip_prefix("editor extension ") {
            let sentence = sentence::adds_extension(extension);
            return self.note(effect, Class::Startup, Level::Ask, sentence);
        }
        let is_git = effect.by.starts_with("git") && !effect.by.starts_with("git remote");
        if is_git && !is_harmless_git_setting(name) {
            self.note(effect, Class::Startup, Level::Deny, sentence::sets_git(name));
        } else if is_package_source(&effect.by, name) {
            self.note(
                effect,
                Class::Startup,
                Level::Deny,
                sentence::sets_package_source(&effect.by, name),
            );
        }
    }

    fn service(&mut self, effect: &Effect, name: &str) {
        let bare = name.trim_end_matches(".service").rsplit(['/', '.']).next().unwrap_or(name);
        let stops = ["stop", "disable", "mask", "kill", "unload", "bootout", "remove"];
        let verb = effect.by.rsplit(' ').next().unwrap_or("");
        if stops.contains(&verb)
            && (is_protector(bare) || PROTECTS.iter().any(|known| name.contains(known)))
        {
            return self.note(
                effect,
                Class::Tamper,
                Level::Deny,
                sentence::stops_protection(&effect.by, name),
            );
        }
        let starts = ["enable", "load", "bootstrap", "link", "edit", "enable-linger", "submit"];
        if starts.contains(&verb) && name.contains('/') {
            self.note(
                effect,
                Class::Startup,
                Level::Deny,
                sentence::adds_service(&effect.by, name),
            );
        }
    }
}

/// True if it is about a host's name that is computed.
fn is_name(effect: &Effect) -> bool {
    matches!(&effect.target, Target::Thing { name, .. } if name == "name")
}

/// True for settings of git that only change how it looks, counts or stores.
fn is_harmless_git_setting(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    let (section, key) = name.split_once('.').unwrap_or((name.as_str(), ""));
    let last = key.rsplit('.').next().unwrap_or(key);
    match section {
        "user" | "author" | "committer" | "color" | "advice" | "push" | "pull" | "fetch"
        | "rebase" | "merge" | "diff" | "branch" | "commit" | "tag" | "log" | "status"
        | "blame" | "stash" | "help" | "init" | "feature" | "gc" | "pack" | "index" | "rerere"
        | "format" | "column" | "safe" | "protocol" | "http" | "checkout" | "clone"
        | "submodule" | "transfer" | "receive" | "lfs" | "maintenance" | "versionsort" | "grep"
        | "apply" | "am" | "bundle" | "extensions" | "uploadpack" | "remote" | "url"
        | "worktree" | "sequence" | "gui" | "gitlab" | "github" | "hub" | "sendemail" | "svn"
        | "filter" => {
            let runs = [
                "external",
                "textconv",
                "command",
                "cmd",
                "driver",
                "tool",
                "program",
                "templatedir",
                "clean",
                "smudge",
                "process",
                "editor",
                "proxy",
                "sslverify",
                "insteadof",
                "pushinsteadof",
                "sshcommand",
                "uploadpack",
                "receivepack",
                "vcs",
                "gpgsign.program",
                "packobjectshook",
                "helper",
                "customtransfer",
                "sslcert",
                "sslkey",
                "sslcainfo",
                "cookiefile",
                "extraheader",
                "update",
                "fsckobjects",
            ];
            !runs.contains(&last)
                && !last.ends_with("proxy")
                && (section != "filter" || name.starts_with("filter.lfs."))
                || section == "http" && last == "extraheader"
                || section == "submodule" && last == "update"
                || name.starts_with("filter.lfs.")
                || (section == "merge" || section == "diff") && key == "tool"
        }
        "core" => matches!(
            key,
            "autocrlf"
                | "eol"
                | "filemode"
                | "ignorecase"
                | "longpaths"
                | "quotepath"
                | "safecrlf"
                | "symlinks"
                | "whitespace"
                | "abbrev"
                | "bare"
                | "compression"
                | "preloadindex"
                | "precomposeunicode"
                | "untrackedcache"
                | "sparsecheckout"
                | "commentchar"
                | "packedgitlimit"
                | "bigfilethreshold"
                | "logallrefupdates"
                | "repositoryformatversion"
                | "editor"
                | "pager"
                | "excludesfile"
                | "fscache"
                | "multipackindex"
                | "commitgraph"
                | "trustctime"
                | "checkstat"
                | "deltabasecachelimit"
                | "packedgitwindowsize"
                | "looseCompression"
                | "splitindex"
                | "sparsecheckoutcone"
                | "worktree"
                | "attributesfile"
                | "hidedotfiles"
        ),
        "credential" => matches!(key, "usehttppath" | "username"),
        "gpg" => matches!(key, "format"),
        _ => false,
    }
}

/// True if a setting of a package manager decides where packages come from, or what runs them.
fn is_package_source(by: &str, name: &str) -> bool {
    let manager = by.split(' ').next().unwrap_or(by);
    let name = name.to_ascii_lowercase();
    matches!(
        manager,
        "npm" | "pnpm" | "yarn" | "pip" | "pip3" | "cargo" | "bundle" | "gem" | "conda" | "poetry"
    ) && [
        "registry",
        "index-url",
        "extra-index-url",
        "index_url",
        "script-shell",
        "proxy",
        "trusted-host",
        "find-links",
        "shell",
        "node-options",
        "strict-ssl",
        "mirror",
        "sources",
        "channels",
        "source",
    ]
    .iter()
    .any(|word| name.contains(word))
}
