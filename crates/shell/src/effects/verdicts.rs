//! Single commands that mean one thing, told by some of their words.
//!
//! The table says what the options of a tool mean. These rows say what a handful of words together
//! come to, whatever else stands between them.

use super::Thing;
use super::hosts::{Reach, reach};
use super::run::{Call, host_of};
use crate::names::base;
use crate::value::Value;

/// A row: programs, words that all have to be there, and what that does.
struct Row {
    programs: &'static [&'static str],
    /// A word in full; `~word` anywhere in a word.
    words: &'static [&'static str],
    thing: Thing,
    destroys: bool,
}

const fn row(
    programs: &'static [&'static str],
    words: &'static [&'static str],
    thing: Thing,
    destroys: bool,
) -> Row {
    Row { programs, words, thing, destroys }
}

const KUBE: &[&str] = &["kubectl", "oc"];
const NODE: &[&str] = &["npm", "pnpm", "yarn"];

static ROWS: &[Row] = &[
    row(KUBE, &["create", "clusterrolebinding"], Thing::Permission, false),
    row(KUBE, &["create", "rolebinding"], Thing::Permission, false),
    row(KUBE, &["create", "clusterrole"], Thing::Permission, false),
    row(KUBE, &["add-cluster-role-to-user"], Thing::Permission, false),
    row(KUBE, &["adm", "policy"], Thing::Permission, false),
    row(&["gh"], &["api", "~/collaborators/"], Thing::Permission, false),
    row(&["gh"], &["api", "~/memberships/"], Thing::Permission, false),
    row(&["gh"], &["api", "~/hooks"], Thing::Permission, false),
    row(&["gh"], &["ssh-key", "add"], Thing::Permission, false),
    row(&["gh"], &["gpg-key", "add"], Thing::Permission, false),
    row(&["gh"], &["repo", "deploy-key", "add"], Thing::Permission, false),
    row(&["aws"], &["iam", "~attach-"], Thing::Permission, false),
    row(&["aws"], &["iam", "~create-"], Thing::Permission, false),
    row(&["aws"], &["iam", "~put-"], Thing::Permission, false),
    row(&["aws"], &["iam", "~add-"], Thing::Permission, false),
    row(&["aws"], &["iam", "~update-"], Thing::Permission, false),
    row(&["aws"], &["sts", "assume-role"], Thing::Credentials, false),
    row(&["aws"], &["secretsmanager", "get-secret-value"], Thing::Credentials, false),
    row(&["gcloud"], &["~add-iam-policy-binding"], Thing::Permission, false),
    row(&["gcloud"], &["~set-iam-policy"], Thing::Permission, false),
    row(&["gcloud"], &["iam", "service-accounts", "keys", "create"], Thing::Credentials, false),
    row(&["gcloud"], &["secrets", "versions", "access"], Thing::Credentials, false),
    row(&["az"], &["role", "assignment", "create"], Thing::Permission, false),
    row(&["az"], &["ad", "~reset"], Thing::Permission, false),
    row(&["setcap"], &[], Thing::Permission, false),
    row(&["setfacl"], &["~/etc/"], Thing::Permission, false),
    row(&["visudo", "vipw", "vigr"], &["-f"], Thing::Account, false),
    row(&["vipw", "vigr"], &[], Thing::Account, false),
    row(&["dseditgroup", "dscl"], &["~-create"], Thing::Account, false),
    row(&["pw"], &["useradd"], Thing::Account, false),
    row(&["sysadminctl"], &["~-addUser"], Thing::Account, false),
    row(&["getent"], &["shadow"], Thing::Credentials, false),
    row(&["getent"], &["gshadow"], Thing::Credentials, false),
    row(
        &["unshadow", "lazagne", "laZagne", "mimipenguin", "john", "hashcat"],
        &[],
        Thing::Credentials,
        false,
    ),
    row(&["python", "python2", "python3"], &["~laZagne"], Thing::Credentials, false),
    row(&["python", "python2", "python3"], &["~mimipenguin"], Thing::Credentials, false),
    row(&["security"], &["dump-keychain"], Thing::Credentials, false),
    row(&["security"], &["find-generic-password"], Thing::Credentials, false),
    row(&["security"], &["find-internet-password"], Thing::Credentials, false),
    row(&["security"], &["export"], Thing::Credentials, false),
    row(&["security"], &["add-trusted-cert"], Thing::Permission, false),
    row(&["secret-tool"], &["lookup"], Thing::Credentials, false),
    row(&["secret-tool"], &["search"], Thing::Credentials, false),
    row(&["kwallet-query"], &["-r"], Thing::Credentials, false),
    row(&["gpg", "gpg2"], &["--export-secret-keys"], Thing::Credentials, false),
    row(&["gpg", "gpg2"], &["--export-secret-subkeys"], Thing::Credentials, false),
    row(&["pass", "gopass"], &["show"], Thing::Credentials, false),
    row(&["keyctl"], &["print"], Thing::Credentials, false),
    row(&["log"], &["erase"], Thing::Log, true),
    row(&["wevtutil"], &["cl"], Thing::Log, true),
    row(&["trash", "trash-cli"], &["empty"], Thing::Filesystem, true),
    row(&["gio"], &["trash", "--empty"], Thing::Filesystem, true),
    row(NODE, &["deprecate"], Thing::Cloud, true),
    row(&["rabbitmqctl"], &["~delete_"], Thing::Database, true),
    row(&["qm", "pct"], &["disk", "--delete"], Thing::Device, true),
    row(&["7z", "7za", "7zr"], &["d", "*"], Thing::Filesystem, true),
    row(&["update-ca-certificates", "update-ca-trust"], &[], Thing::Permission, false),
    row(&["spctl"], &["~disable"], Thing::Firewall, true),
    row(&["csrutil"], &["disable"], Thing::Firewall, true),
    row(&["setenforce"], &["0"], Thing::Firewall, true),
    row(&["setenforce"], &["Permissive"], Thing::Firewall, true),
    row(&["auditctl"], &["-D"], Thing::Log, true),
    row(&["auditctl"], &["-e", "0"], Thing::Log, true),
    row(&["systemctl"], &["--user", "enable"], Thing::Schedule, false),
    row(&["aws"], &["cloudtrail", "~stop-"], Thing::Log, true),
    row(&["aws"], &["cloudtrail", "~delete-"], Thing::Log, true),
    row(&["aws"], &["guardduty", "~delete-"], Thing::Log, true),
    row(&["gcloud"], &["logging", "~delete"], Thing::Log, true),
    row(&["docker", "podman", "buildah"], &["build", "~--ssh"], Thing::Credentials, false),
    row(&["loginctl"], &["enable-linger"], Thing::Schedule, false),
    row(&["systemd-run"], &["~--on-"], Thing::Schedule, false),
];

/// Notes what the words of a command come to.
pub(super) fn look(call: &mut Call<'_, '_>, name: &str, words: &[Value]) {
    let texts = || words.iter().map(Value::prefix);
    if words
        .iter()
        .filter_map(Value::known)
        .any(|word| matches!(word, "--help" | "-h" | "--dry-run"))
    {
        return;
    }
    for row in ROWS.iter().filter(|row| row.programs.contains(&name)) {
        let is_there = |wanted: &&str| match wanted.strip_prefix('~') {
            Some(part) => texts().any(|word| word.contains(part)),
            None => texts().any(|word| word == *wanted),
        };
        if row.words.iter().all(is_there) {
            for word in row.words.iter().filter(|word| !word.starts_with(['~', '-', '*'])) {
                call.say(word);
            }
            return call.thing(row.thing, "", row.destroys);
        }
    }
    match name {
        "chmod" | "gchmod" | "install" if texts().any(sets_user) => {
            call.say("+s");
            call.thing(Thing::Permission, "set-user-ID", false);
        }
        "code" | "codium" | "cursor" | "code-server" | "code-insiders" => {
            if let Some(at) =
                words.iter().position(|word| word.prefix().starts_with("--install-extension"))
            {
                let extension = words.get(at + 1).map(Value::to_string).unwrap_or_default();
                call.thing(Thing::Setting, format!("editor extension {extension}"), false);
            }
        }
        "pip" | "pip3" | "poetry" | "gem" | "bundle" | "conda" | "cargo" | "uv" | "go" => {
            let mut operands = texts().filter(|word| !word.starts_with('-') && !word.is_empty());
            let (first, second, third) = (operands.next(), operands.next(), operands.next());
            match (first, second, third) {
                (Some("config"), Some("set"), Some(key))
                | (Some("config" | "env"), Some(key), Some(_)) => {
                    call.say("config");
                    call.thing(Thing::Setting, key, false);
                }
                _ => {}
            }
        }
        "kill" | "pkill" | "killall" | "skill" => kills(call, words),
        "service" | "rc-service" => {
            let stops = texts().any(|word| matches!(word, "stop" | "disable"));
            if let (true, Some(service)) =
                (stops, texts().find(|word| super::super::risk::is_protector(word)))
            {
                call.say("stop");
                call.thing(Thing::Service, service, false);
            }
        }
        "gh" if texts().any(|word| word == "gist")
            && texts().any(|word| matches!(word, "create" | "edit")) =>
        {
            call.say("gist create");
            call.send("gist.github.com");
        }
        "gh" if texts().any(|word| word == "auth") && texts().any(|word| word == "token") => {
            call.thing(Thing::Environment, "token", false);
        }
        "git" => git(call, words),
        _ if base(name).contains("factory-reset") => call.thing(Thing::Filesystem, "", true),
        _ => {}
    }
}

/// Sites that everybody keeps repositories at.
const FORGES: &[&str] = &[
    "github.com",
    "gitlab.com",
    "bitbucket.org",
    "codeberg.org",
    "sr.ht",
    "dev.azure.com",
    "visualstudio.com",
    "gitea.com",
    "huggingface.co",
    "gerrit.googlesource.com",
    "sourceforge.net",
    "gitee.com",
];

/// True for a site that people push to, or for one nearby.
fn is_forge(host: &str) -> bool {
    let is_it = |forge: &&str| {
        host.strip_suffix(*forge).is_some_and(|sub| sub.is_empty() || sub.ends_with('.'))
    };
    FORGES.iter().any(is_it) || !matches!(reach(host), Reach::Other | Reach::Public)
}

/// Where git is sent to by its settings, and where a push goes that is no remote of the repository.
fn git(call: &mut Call<'_, '_>, words: &[Value]) {
    let texts: Vec<String> = words.iter().map(Value::to_string).collect();
    for setting in texts.iter().filter_map(|word| word.split_once('=')) {
        let (key, value) = (setting.0.to_ascii_lowercase(), setting.1);
        if key.ends_with(".insteadof") || key.ends_with(".pushinsteadof") {
            call.goes_through(host_of(setting.0.trim_start_matches("url.")));
        } else if key.starts_with("http.") && key.ends_with("proxy") {
            call.goes_through(host_of(value));
        }
    }
    let has = |wanted: &str| texts.iter().any(|word| word == wanted);
    let pushes = has("push") || has("remote") && (has("add") || has("set-url"));
    if !pushes {
        return;
    }
    let addresses = texts
        .iter()
        .filter(|word| word.contains("://") || word.contains('@') && word.contains(':'));
    for address in addresses.filter(|address| !address.starts_with("file://")) {
        let host = host_of(address);
        if !is_forge(host) {
            call.say(if has("push") { "push" } else { "remote" });
            call.thing(Thing::Network, format!("push {host}"), false);
        }
    }
}

/// True for a mode that lets others run a file with the rights of its owner.
fn sets_user(word: &str) -> bool {
    let digits =
        word.len() == 4 && word.chars().all(|c| c.is_digit(8)) && word.starts_with(['2', '4', '6']);
    let letters =
        word.contains("+s") || word.contains("+xs") || word.contains("+sx") || word.contains("=s");
    digits || letters && word.len() < 12
}

/// Processes that watch or protect the machine, by name.
fn kills(call: &mut Call<'_, '_>, words: &[Value]) {
    let is_protector = |word: &Value| {
        let text = word.to_string();
        let name = text.trim_matches(|c: char| !c.is_alphanumeric());
        super::super::risk::is_protector(name)
    };
    if let Some(word) =
        words.iter().find(|word| !word.prefix().starts_with('-') && is_protector(word))
    {
        let name = word.to_string();
        call.say("kill");
        call.thing(Thing::Service, name, false);
    }
}
