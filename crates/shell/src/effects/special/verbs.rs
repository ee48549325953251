//! Programs with subcommands whose words say what they do.

use crate::effects::Thing;
use crate::effects::arg::Arg;
use crate::effects::row::{ALL, DELETE};
use crate::effects::run::Call;
use crate::value::Value;

/// How many words in front may belong to the subcommand.
const WORDS: usize = 4;

/// Whether a word of a subcommand says that something goes away: `delete`, `pool-destroy`,
/// `vm.destroy`, `TerminateInstances`, `batch-delete-image`.
pub(crate) fn destroys(word: &str) -> bool {
    !makes(word) && pieces(word).any(is_gone)
}

fn is_gone(piece: &str) -> bool {
    const GONE: &[&str] = &[
        "delete",
        "deleteall",
        "destroy",
        "terminate",
        "remove",
        "purge",
        "rm",
        "rmr",
        "rb",
        "deregister",
        "deprovision",
        "decommission",
        "drop",
        "wipe",
        "reset",
        "nuke",
        "empty",
        "uninstall",
        "unregister",
        "flush",
        "prune",
        "obliterate",
        "repurpose",
        "clearsnapshot",
        "unpublish",
    ];
    GONE.iter().any(|gone| piece.eq_ignore_ascii_case(gone))
}

/// The words in a word: between `-`, `_`, `.` and `:`, and from one capital to the next.
fn pieces(word: &str) -> impl Iterator<Item = &str> {
    word.split(['-', ':', '_', '.']).flat_map(|part| {
        let mut rest = part;
        std::iter::from_fn(move || {
            if rest.is_empty() {
                return None;
            }
            let mut before = false;
            let end = rest.char_indices().find_map(|(at, letter)| {
                let starts = before && letter.is_ascii_uppercase();
                before = letter.is_ascii_lowercase();
                starts.then_some(at)
            });
            let (piece, behind) =
                rest.split_at_checked(end.unwrap_or(rest.len())).unwrap_or((rest, ""));
            rest = behind;
            Some(piece)
        })
    })
}

/// Whether it makes something, so that the words behind it are names.
fn makes(word: &str) -> bool {
    let verb = word.split(['-', ':', '_']).next().unwrap_or(word);
    matches!(
        verb,
        "create" | "add" | "set" | "enable" | "put" | "update" | "publish" | "new" | "import"
    )
}

/// Whether it only looks.
pub(crate) fn looks(word: &str) -> bool {
    let verb = word.split(['-', ':', '_']).next().unwrap_or(word);
    matches!(
        verb,
        "list"
            | "ls"
            | "get"
            | "describe"
            | "show"
            | "head"
            | "help"
            | "wait"
            | "info"
            | "status"
            | "logs"
            | "log"
            | "version"
            | "whoami"
            | "cat"
            | "du"
            | "stat"
            | "presign"
            | "open"
            | "search"
            | "lookup"
            | "query"
            | "ps"
            | "login"
            | "logout"
            | "tail"
            | "dev"
            | "inspect"
            | "diff"
            | "plan"
            | "preview"
            | "explain"
            | "man"
    )
}

pub(crate) fn cloud(call: &mut Call<'_, '_>) {
    call.host("provider");
    family(call, Thing::Cloud);
}

pub(crate) fn cluster(call: &mut Call<'_, '_>) {
    call.host("cluster");
    family(call, Thing::Cluster);
}

/// Machines in machines.
pub(crate) fn container(call: &mut Call<'_, '_>) {
    family(call, Thing::Container);
}

pub(crate) fn database(call: &mut Call<'_, '_>) {
    family(call, Thing::Database);
}

pub(crate) fn backup(call: &mut Call<'_, '_>) {
    family(call, Thing::Filesystem);
}

/// Containers can be started again from what they were made of: only all at once are a loss.
pub(crate) fn many(call: &mut Call<'_, '_>) {
    let operands = std::mem::take(&mut call.operands);
    let verb = |word: &Arg<'_>| matches!(word.prefix(), "rm" | "rmi" | "rmp" | "stop" | "stopp");
    let prunes = operands.iter().take(2).any(|word| word.is("prune"));
    let destroys = prunes || (call.has(ALL | DELETE) && operands.iter().take(2).any(verb));
    if destroys || !operands.iter().take(2).any(|word| looks(word.prefix())) {
        name(call, &operands);
        call.thing(Thing::Container, "", destroys);
    }
}

/// Adds the subcommand to what a person knows the call by.
fn name(call: &mut Call<'_, '_>, words: &[Arg<'_>]) {
    for word in words.iter().take(1) {
        call.say(&word.text());
    }
}

fn family(call: &mut Call<'_, '_>, thing: Thing) {
    let operands = std::mem::take(&mut call.operands);
    let mut at = None;
    for (index, word) in operands.iter().enumerate().take(WORDS) {
        let Some(text) = word.known() else { break };
        if destroys(text) {
            at = Some(index);
            break;
        }
        if looks(text) {
            return;
        }
        if makes(text) || (index > 0 && text == "deploy") {
            break;
        }
    }
    let Some(at) = at else {
        if !operands.is_empty() || call.has(DELETE) {
            let name = operands.first().map(|name| name.text().into_owned()).unwrap_or_default();
            let destroys = call.has(DELETE);
            call.thing(thing, name, destroys);
        }
        return;
    };
    for word in operands.iter().take(at + 1) {
        call.say(&word.text());
    }
    let name = operands.get(at + 1).map(|name| name.text().into_owned()).unwrap_or_default();
    call.thing(thing, name, true);
}

/// A program that is in no row. Some words mean no good in any of them.
pub(crate) fn unlisted(call: &mut Call<'_, '_>, words: &[Value]) {
    let mut path = words.iter().take(3).map_while(|word| {
        let text = word.known()?;
        let mut letters = text.chars();
        let plain = letters.next().is_some_and(|letter| letter.is_ascii_lowercase())
            && letters.all(|letter| {
                letter.is_ascii_lowercase()
                    || letter.is_ascii_digit()
                    || matches!(letter, '-' | ':' | '.' | '_')
            });
        (plain && !looks(text) && !makes(text)).then_some(text)
    });
    let gone = |text: &&str| {
        let last = text.rsplit([':', '.']).next().unwrap_or(text);
        matches!(last, "destroy" | "nuke" | "purge-all" | "drop-all" | "factory-reset" | "wipe")
    };
    let Some(verb) = path.find(gone) else { return };
    let asks = |word: &Value| {
        matches!(word.known(), Some("--help" | "-h" | "--dry-run" | "--dryrun" | "--version"))
    };
    if words.iter().any(asks) {
        return;
    }
    call.say(verb);
    call.thing(Thing::Cloud, "", true);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_in_a_word_are_found() {
        let of = |word| pieces(word).collect::<Vec<_>>();
        assert_eq!(of("batch-delete-image"), ["batch", "delete", "image"]);
        assert_eq!(of("TerminateInstances"), ["Terminate", "Instances"]);
        assert_eq!(of("vm.destroy"), ["vm", "destroy"]);
        assert_eq!(of("db:wipe_all"), ["db", "wipe", "all"]);
        assert_eq!(of("ABC"), ["ABC"]);
        assert_eq!(of("größeDelete"), ["größe", "Delete"]);
        assert!(of("").is_empty());
    }

    #[test]
    fn what_is_made_may_have_any_name() {
        assert!(destroys("delete"));
        assert!(destroys("DeleteInstance"));
        assert!(destroys("pool-destroy"));
        assert!(!destroys("create-delete-policy"));
        assert!(!destroys("undelete"));
        assert!(!destroys("deleted"));
    }
}
