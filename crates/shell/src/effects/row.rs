//! What a row of the table can say about a tool.

use super::run::Call;
use super::{Kind, Thing};

/// A program, or a subcommand of one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Tool {
    /// The names it goes by; the first is the usual one.
    pub(crate) names: &'static [&'static str],
    /// How its options look.
    pub(crate) style: Style,
    /// The options that mean something here. Those of a program hold for its subcommands, too.
    pub(crate) options: &'static [Opt],
    /// Short options that take a value of no interest.
    pub(crate) valued: &'static str,
    /// The long ones.
    pub(crate) valued_long: &'static [&'static str],
    /// What it does.
    pub(crate) acts: &'static [Act],
    /// Subcommands. Where one is named, it is what counts, and not the acts above.
    pub(crate) subs: &'static [Self],
    /// An option that belongs to its name, and the bits by which it is told: `git reset --hard`.
    pub(crate) says: Option<(&'static str, u32)>,
    /// What the columns above cannot say.
    pub(crate) special: Option<fn(&mut Call<'_, '_>)>,
    /// Whether a version may follow the name: `python3.12`.
    pub(crate) versions: bool,
}

/// How options look.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Style {
    /// Clusters of letters and long options, anywhere before `--`.
    Gnu,
    /// The same, but only before the first operand.
    Leading,
    /// One dash or two before a whole word, anywhere.
    Words,
    /// The same, but only before the first operand.
    LeadingWords,
    /// As `Gnu`, but the first word is a cluster of letters, with a dash or without one.
    Tar,
    /// There are none: every word is an operand.
    Bare,
}

/// An option.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Opt {
    pub(crate) short: &'static str,
    pub(crate) long: &'static [&'static str],
    pub(crate) takes: Takes,
    /// What it turns on.
    pub(crate) bits: u32,
    /// What its value is.
    pub(crate) role: Role,
}

/// Whether an option takes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Takes {
    Nothing,
    Value,
    /// Only in the same word: `-i.bak`, `--color=auto`.
    Attached,
}

/// What the value of an option is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Of no interest, or for the special function.
    Plain,
    Read,
    ReadTree,
    Write,
    WriteTree,
    Execute,
    /// The directory it works in.
    Base,
}

/// Recursively.
pub(crate) const TREE: u32 = 1;
/// Nothing is done but reading.
pub(crate) const DRY: u32 = 1 << 1;
/// By force.
pub(crate) const FORCE: u32 = 1 << 2;
/// Something is deleted.
pub(crate) const DELETE: u32 = 1 << 3;
/// What would be the first operand came with an option.
pub(crate) const PATTERN: u32 = 1 << 4;
/// Files are changed where they are.
pub(crate) const INPLACE: u32 = 1 << 5;
/// For the whole machine or person.
pub(crate) const GLOBAL: u32 = 1 << 6;
/// Everything there is.
pub(crate) const ALL: u32 = 1 << 7;
/// Where to comes with an option.
pub(crate) const TARGET: u32 = 1 << 8;
/// It is only looked, and nothing is changed.
pub(crate) const LOOK: u32 = 1 << 9;
/// Meanings of one row.
pub(crate) const A: u32 = 1 << 10;
pub(crate) const B: u32 = 1 << 11;
pub(crate) const C: u32 = 1 << 12;
pub(crate) const D: u32 = 1 << 13;
/// A dry run was asked for and then called off. Which comes last is not asked: it may be real.
pub(crate) const LIVE: u32 = 1 << 29;
/// There is just one operand.
pub(crate) const ONE: u32 = 1 << 30;
/// There is no operand.
pub(crate) const NONE: u32 = 1 << 31;

/// Something a tool does.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Act {
    pub(crate) what: What,
    /// Bits of which every one has to be on.
    pub(crate) when: u32,
    /// Bits of which none may be on.
    pub(crate) unless: u32,
}

/// What is done.
#[derive(Debug, Clone, Copy)]
pub(crate) enum What {
    /// Operands are files.
    Path(Kind, Which, Deep),
    /// A file with a fixed name.
    Fixed(Kind, &'static str, Deep),
    /// Any file below a directory with a fixed name may be written.
    MayFill(&'static str),
    /// Something that is no file; its name is of no interest.
    Thing(Thing, bool),
    /// The same, of a name that all operands together are.
    Joined(Thing, bool),
    /// The same for each of these operands; for none of them, without a name.
    Each(Thing, Which, bool),
    /// Operands are machines or addresses.
    Host(Which),
    /// A machine that is always the same, or `$?`.
    Net(&'static str),
    /// Code runs that is in files: the tool itself stands for it.
    Runs,
}

/// Which operands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Which {
    All,
    First,
    Second,
    /// All but the first.
    Rest,
    Last,
}

/// How deep it goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Deep {
    Flat,
    Tree,
    /// A tree where the option says so.
    Option,
}

/// A row with nothing but names.
pub(crate) const fn tool(names: &'static [&'static str]) -> Tool {
    Tool {
        names,
        style: Style::Gnu,
        options: &[],
        valued: "",
        valued_long: &[],
        acts: &[],
        subs: &[],
        says: None,
        special: None,
        versions: false,
    }
}

impl Tool {
    pub(crate) const fn style(mut self, style: Style) -> Self {
        self.style = style;
        self
    }

    pub(crate) const fn options(mut self, options: &'static [Opt]) -> Self {
        self.options = options;
        self
    }

    pub(crate) const fn valued(
        mut self,
        short: &'static str,
        long: &'static [&'static str],
    ) -> Self {
        self.valued = short;
        self.valued_long = long;
        self
    }

    pub(crate) const fn acts(mut self, acts: &'static [Act]) -> Self {
        self.acts = acts;
        self
    }

    pub(crate) const fn subs(mut self, subs: &'static [Self]) -> Self {
        self.subs = subs;
        self
    }

    pub(crate) const fn says(mut self, option: &'static str, bits: u32) -> Self {
        self.says = Some((option, bits));
        self
    }

    pub(crate) const fn special(mut self, special: fn(&mut Call<'_, '_>)) -> Self {
        self.special = Some(special);
        self
    }

    /// Whether nothing it does is of interest.
    pub(crate) const fn is_idle(&self) -> bool {
        self.special.is_none()
            && self.acts.is_empty()
            && self.subs.is_empty()
            && self.options.is_empty()
    }

    pub(crate) const fn versions(mut self) -> Self {
        self.versions = true;
        self
    }
}

/// An option without a value.
pub(crate) const fn flag(short: &'static str, long: &'static [&'static str], bits: u32) -> Opt {
    Opt { short, long, takes: Takes::Nothing, bits, role: Role::Plain }
}

/// An option with a value that the special function looks at.
pub(crate) const fn value(short: &'static str, long: &'static [&'static str], bits: u32) -> Opt {
    Opt { short, long, takes: Takes::Value, bits, role: Role::Plain }
}

/// An option with a value that has a part to play.
pub(crate) const fn plays(short: &'static str, long: &'static [&'static str], role: Role) -> Opt {
    Opt { short, long, takes: Takes::Value, bits: 0, role }
}

/// An option that may have a value in the same word.
pub(crate) const fn attached(short: &'static str, long: &'static [&'static str], bits: u32) -> Opt {
    Opt { short, long, takes: Takes::Attached, bits, role: Role::Plain }
}

impl Opt {
    pub(crate) const fn bits(mut self, bits: u32) -> Self {
        self.bits |= bits;
        self
    }
}

/// `--dry-run`
pub(crate) const DRY_RUN: Opt = attached("", &["dry-run", "dryrun"], DRY);

pub(crate) const fn act(what: What) -> Act {
    Act { what, when: 0, unless: 0 }
}

pub(crate) const fn reads(which: Which) -> Act {
    act(What::Path(Kind::Read, which, Deep::Option))
}

/// Names of these are read.
pub(crate) const fn lists(which: Which) -> Act {
    act(What::Path(Kind::List, which, Deep::Option))
}

/// Names of everything below these are read.
pub(crate) const fn lists_all(which: Which) -> Act {
    act(What::Path(Kind::List, which, Deep::Tree))
}

pub(crate) const fn writes(which: Which) -> Act {
    act(What::Path(Kind::Write, which, Deep::Option))
}

pub(crate) const fn deletes(which: Which) -> Act {
    act(What::Path(Kind::Delete, which, Deep::Option))
}

/// Everything below these is written.
pub(crate) const fn fills(which: Which) -> Act {
    act(What::Path(Kind::Write, which, Deep::Tree))
}

pub(crate) const fn executes(which: Which) -> Act {
    act(What::Path(Kind::Execute, which, Deep::Flat))
}

pub(crate) const fn fixed(kind: Kind, path: &'static str) -> Act {
    act(What::Fixed(kind, path, Deep::Flat))
}

pub(crate) const fn fixed_tree(kind: Kind, path: &'static str) -> Act {
    act(What::Fixed(kind, path, Deep::Tree))
}

/// Any file below this directory may be written.
pub(crate) const fn may_fill(path: &'static str) -> Act {
    act(What::MayFill(path))
}

pub(crate) const fn changes(thing: Thing) -> Act {
    act(What::Thing(thing, false))
}

pub(crate) const fn destroys(thing: Thing) -> Act {
    act(What::Thing(thing, true))
}

pub(crate) const fn changes_each(thing: Thing, which: Which) -> Act {
    act(What::Each(thing, which, false))
}

pub(crate) const fn destroys_each(thing: Thing, which: Which) -> Act {
    act(What::Each(thing, which, true))
}

pub(crate) const fn joined(thing: Thing, destroys: bool) -> Act {
    act(What::Joined(thing, destroys))
}

/// Everything below these is read.
pub(crate) const fn scans(which: Which) -> Act {
    act(What::Path(Kind::Read, which, Deep::Tree))
}

/// Everything below these is deleted.
pub(crate) const fn sweeps(which: Which) -> Act {
    act(What::Path(Kind::Delete, which, Deep::Tree))
}

/// These are written themselves, whatever is done recursively.
pub(crate) const fn writes_flat(which: Which) -> Act {
    act(What::Path(Kind::Write, which, Deep::Flat))
}

pub(crate) const fn net(host: &'static str) -> Act {
    act(What::Net(host))
}

pub(crate) const fn hosts(which: Which) -> Act {
    act(What::Host(which))
}

pub(crate) const RUNS: Act = act(What::Runs);

impl Act {
    /// True if nothing is done but reading.
    pub(crate) const fn reads(&self) -> bool {
        matches!(
            self.what,
            What::Path(Kind::Read | Kind::List, ..) | What::Fixed(Kind::Read | Kind::List, ..)
        )
    }

    pub(crate) const fn when(mut self, bits: u32) -> Self {
        self.when |= bits;
        self
    }

    pub(crate) const fn unless(mut self, bits: u32) -> Self {
        self.unless |= bits;
        self
    }
}
