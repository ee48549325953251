//! The tree of a script.

use std::ops::Range;

/// Statements, one after the other.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Script {
    /// In their order.
    pub statements: Vec<Statement>,
}

/// Pipelines joined by `&&` and `||`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The first pipeline.
    pub first: Pipeline,
    /// The others, each with what joins it to the one before.
    pub rest: Vec<(Connective, Pipeline)>,
    /// Whether it ends in `&`.
    pub background: bool,
}

/// What joins two pipelines.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Connective {
    /// `&&`
    And,
    /// `||`
    Or,
}

/// Commands joined by `|`; often just one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pipeline {
    /// Whether it begins with `!`.
    pub negated: bool,
    /// In their order.
    pub commands: Vec<Command>,
}

/// A command with its redirections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Command {
    /// What kind it is.
    pub kind: CommandKind,
    /// In their order.
    pub redirects: Vec<Redirect>,
    /// Where it stands, in bytes of the text that was parsed.
    pub span: Range<usize>,
}

/// A kind of command.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CommandKind {
    /// `A=1 program argument…`; either part may be empty.
    Simple {
        /// Those before the program.
        assignments: Vec<Assignment>,
        /// The program and its arguments. `declare a=(1 2)` has the array as one word with a
        /// [`Piece::Array`].
        words: Vec<Word>,
    },
    /// `( … )`
    Subshell(Script),
    /// `{ …; }`
    Group(Script),
    /// `if`, `elif`, `else`: conditions and what follows from them.
    If {
        /// Each `if` and `elif`.
        clauses: Vec<Clause>,
        /// The `else`.
        otherwise: Option<Script>,
    },
    /// `while` and `until`.
    Loop(Clause),
    /// `for name in words` and `select`; without `in`, over the positional parameters.
    For {
        /// The variable.
        variable: String,
        /// What it goes through.
        items: Option<Vec<Word>>,
        /// What is done for each.
        body: Script,
    },
    /// `for ((…;…;…))`
    ForArithmetic {
        /// The text between the brackets, with its expansions.
        expression: Word,
        /// What is repeated.
        body: Script,
    },
    /// `case word in …`
    Case {
        /// What is compared.
        subject: Word,
        /// With what.
        arms: Vec<CaseArm>,
    },
    /// `name() …`
    Function {
        /// Its name.
        name: String,
        /// What it does.
        body: Box<Command>,
    },
    /// `coproc …`
    Coproc(Box<Command>),
    /// `((…))`
    Arithmetic(Word),
    /// `[[ … ]]`: its words, operators among them.
    Test(Vec<Word>),
    /// `time …` with a pipeline that is not a single simple command is a group of it; `time` alone
    /// is [`Empty`](Self::Empty).
    Empty,
}

/// A condition and what is done where it holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Clause {
    /// The condition.
    pub condition: Script,
    /// What is done.
    pub body: Script,
}

/// One arm of a `case`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CaseArm {
    /// Its patterns.
    pub patterns: Vec<Word>,
    /// What is done.
    pub body: Script,
}

/// `name=value`, `name+=value`, `name[subscript]=value`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Assignment {
    /// The variable.
    pub name: String,
    /// Of an array.
    pub subscript: Option<Word>,
    /// Whether it is `+=`.
    pub append: bool,
    /// What it is set to; an array is one [`Piece::Array`].
    pub value: Word,
}

/// A word, not expanded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Word {
    /// What it is made of. An empty quoted string is an empty [`Piece::Quoted`].
    pub pieces: Vec<Piece>,
    /// Where it stands, in bytes of the text that was parsed. In backticks with backslashes, and in
    /// here-documents without their tabs or with joined lines, that is not the whole script, but
    /// what is left of this part of it.
    pub span: Range<usize>,
}

impl Word {
    /// Whether what it becomes depends on more than its text.
    pub fn expands(&self) -> bool {
        fn depends(pieces: &[Piece]) -> bool {
            pieces.iter().any(|piece| match piece {
                Piece::Text(_) | Piece::Quoted(_) => false,
                Piece::Double(pieces) => depends(pieces),
                _ => true,
            })
        }
        depends(&self.pieces)
    }
}

/// A piece of a word.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Without quotes: `~`, globs and braces in it have their meaning. Backslash-newline is gone.
    Text(String),
    /// As it is: from single quotes, `$'…'` (decoded), a backslash, or literal text in double
    /// quotes (then inside [`Double`](Self::Double)).
    Quoted(String),
    /// `"…"` and `$"…"`: literal text, parameters, commands and arithmetic.
    Double(Vec<Piece>),
    /// `$name`, `${…}`, `$1`, `$@`, …
    Parameter(Box<Parameter>),
    /// `$(…)`, backticks, and `${ …; }`.
    Command(Script),
    /// `<(…)`, `>(…)`.
    Process(Direction, Script),
    /// `$((…))`, `$[…]`: its text with expansions.
    Arithmetic(Vec<Piece>),
    /// `(a b c)` of an assignment.
    Array(Vec<Word>),
}

/// Which way a process substitution goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Direction {
    /// `<(…)`
    In,
    /// `>(…)`
    Out,
}

/// A parameter and what is done with it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Parameter {
    /// Its name, number, or one of `@*#?-$!_`.
    pub name: String,
    /// `${name[subscript]}`; `@` and `*` are the words of that text.
    pub subscript: Option<Word>,
    /// Whether it is `${!name…}`.
    pub indirect: bool,
    /// What is done with its value.
    pub operator: Operator,
}

/// What is done with a parameter's value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Operator {
    /// Nothing.
    None,
    /// `${#name}`
    Length,
    /// `:-` and `-`
    Default(Word),
    /// `:=` and `=`
    Assign(Word),
    /// `:?` and `?`
    Error(Word),
    /// `:+` and `+`
    Alternative(Word),
    /// `#`, `##`
    Prefix {
        /// Whether as much as possible is removed.
        longest: bool,
        /// What is removed.
        pattern: Word,
    },
    /// `%`, `%%`
    Suffix {
        /// Whether as much as possible is removed.
        longest: bool,
        /// What is removed.
        pattern: Word,
    },
    /// `/`, `//`, `/#`, `/%`
    Replace {
        /// `/`, `//` (`all`), `/#` (`#`), `/%` (`%`): the character behind the first slash, if any.
        mode: Option<char>,
        /// What is replaced.
        pattern: Word,
        /// By what.
        with: Word,
    },
    /// `:offset:length`
    Slice {
        /// From where on.
        offset: Word,
        /// How much.
        length: Option<Word>,
    },
    /// `^`, `^^`, `,`, `,,`, `~`, `~~`
    Case {
        /// `^`, `,` or `~`.
        to: char,
        /// Whether all letters, or just the first.
        all: bool,
    },
    /// `@Q` and the like.
    Transform(char),
    /// `${!prefix*}`, `${!name[@]}`: names, not values.
    Names,
    /// One that is not known.
    Other,
}

/// A redirection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Redirect {
    /// The descriptor before the operator: a number, or `{name}`.
    pub descriptor: Option<String>,
    /// What it does.
    pub kind: RedirectKind,
    /// The word behind the operator; of a here-document, its text.
    pub target: Word,
}

/// A kind of redirection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RedirectKind {
    /// `<`
    Read,
    /// `>`, `>|`
    Write,
    /// `>>`
    Append,
    /// `<>`
    ReadWrite,
    /// `<&`
    DuplicateIn,
    /// `>&`: onto a descriptor, or, with a word that is no number, both outputs to a file.
    DuplicateOut,
    /// `&>`
    Both,
    /// `&>>`
    BothAppend,
    /// `<<<`
    HereString,
    /// `<<`, `<<-`: the target is one [`Piece::Quoted`] where the delimiter was quoted, otherwise
    /// pieces as in double quotes.
    HereDocument,
}
