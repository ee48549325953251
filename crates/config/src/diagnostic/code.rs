//! The codes, one a sort of problem.

use std::fmt;
use std::str::FromStr;

use serde::{Serialize, Serializer};

/// How bad a problem is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Severity {
    /// Good to know.
    Note,
    /// The file loads, and probably does not do what its author wants.
    Warning,
    /// The file does not load.
    Error,
}

impl fmt::Display for Severity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Note => "note",
            Self::Warning => "warning",
            Self::Error => "error",
        })
    }
}

/// Defines the codes. A code is never used again for something else.
macro_rules! codes {
    ($($(#[$doc:meta])* $name:ident = $id:literal $severity:ident $title:literal,)*) => {
        /// A sort of problem. Each has a page under `docs/diagnostics`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
        #[non_exhaustive]
        pub enum Code {
            $(#[doc = concat!($id, ": ", $title, ".")] $name,)*
        }

        impl Code {
            /// All of them, in order.
            pub const ALL: &'static [Self] = &[$(Self::$name),*];

            /// The code as it is written: `TG001`.
            pub const fn id(self) -> &'static str {
                match self { $(Self::$name => $id,)* }
            }

            /// What it is, in a few words.
            pub const fn title(self) -> &'static str {
                match self { $(Self::$name => $title,)* }
            }

            /// How bad it usually is.
            pub const fn severity(self) -> Severity {
                match self { $(Self::$name => Severity::$severity,)* }
            }

            /// The page that explains it, in Markdown.
            pub const fn page(self) -> &'static str {
                match self {
                    $(Self::$name => include_str!(
                        concat!("../../../../docs/diagnostics/", $id, ".md")
                    ),)*
                }
            }
        }
    };
}

codes! {
    // The file as such.
    Unreadable = "TG001" Error "the file cannot be read",
    NotAFile = "TG002" Error "not a file",
    TooLarge = "TG003" Error "the file is too large",
    NotUtf8 = "TG004" Error "the file is not UTF-8",
    ByteOrderMark = "TG005" Error "a byte order mark",
    Syntax = "TG006" Error "not valid JSON",
    Comment = "TG007" Error "a comment",
    TrailingComma = "TG008" Error "a comma too many",
    TooDeep = "TG009" Error "nested too deep",
    DuplicateKey = "TG010" Error "a key twice",
    NotToml = "TG011" Error "not valid TOML",
    NotYaml = "TG012" Error "not valid YAML",

    // What it says.
    WrongType = "TG020" Error "a value of the wrong type",
    MissingField = "TG021" Error "a field is missing",
    UnknownField = "TG022" Error "an unknown field",
    UnknownEvent = "TG023" Error "an unknown event",
    ForeignEvent = "TG024" Error "an event of another system",
    EmptyValue = "TG025" Error "an empty value",
    BadPattern = "TG026" Error "a matcher that is no pattern",
    NeverMatches = "TG027" Warning "a matcher that never matches",
    ForeignTool = "TG028" Warning "a tool of another system",
    BadTimeout = "TG029" Error "a time-out out of range",
    TimeoutInMilliseconds = "TG030" Warning "a time-out that looks like milliseconds",
    MachinePath = "TG031" Warning "a path of one machine",
    BrokenQuotes = "TG032" Warning "quotes that the shell takes away",
    NewerFeature = "TG033" Note "newer than the documented format",
    DuplicateName = "TG034" Warning "a name twice",
    ForeignDialect = "TG035" Error "a file of another system",
    CarriageReturn = "TG036" Warning "a carriage return in a command",
    NoEffect = "TG037" Warning "a part without effect",
    UnknownTool = "TG038" Warning "an unknown tool",

    // Antigravity's hooks.json.
    Wrapper = "TG040" Error "a wrapper around the hooks",
    EventAtTop = "TG041" Error "an event where a hook's name belongs",
    NotAHook = "TG042" Error "a key that is no hook",
    GroupWithoutMatcher = "TG043" Error "a group where a handler belongs",
    CommandBesideMatcher = "TG044" Error "a handler where a group belongs",
    UnknownHandlerType = "TG045" Error "an unknown type of handler",
    IgnoredMatcher = "TG046" Warning "a matcher that is ignored",

    // Polytoken's hooks.json.
    UnknownNegation = "TG050" Error "a negation of nothing",
    NegationNotPossible = "TG051" Error "a negation that cannot be",
    NotANegation = "TG052" Error "a string that is no negation",
    UnknownHandler = "TG053" Error "an unknown handler",

    // Layers, trust, configuration.
    NotTrusted = "TG060" Warning "not trusted yet",
    ChangedSinceTrusted = "TG061" Error "changed since it was trusted",
    MissingSinceTrusted = "TG062" Error "deleted since it was trusted",
    Unpinned = "TG063" Warning "a command that cannot be pinned",
    BrokenTrustStore = "TG064" Error "the trust store cannot be read",
    Widens = "TG065" Error "a setting that widens",
    OutOfRange = "TG066" Error "a setting out of range",
    SameFileTwice = "TG067" Note "the same file in two places",
    CannotRegister = "TG068" Error "a hook that cannot be registered",
    NotRead = "TG069" Warning "a file that is not read",
    TooManyFiles = "TG070" Error "too many files in a directory",

    // Markdown hooks.
    NoFrontmatter = "TG071" Error "no frontmatter",
    OpenFrontmatter = "TG072" Error "frontmatter without an end",
    YamlFeature = "TG073" Error "YAML that is not read here",
    ScriptTooLong = "TG074" Error "a script that is too long",
    BadPriority = "TG075" Error "a priority out of range",
    BadTest = "TG076" Error "a test that is none",
    NoTest = "TG077" Note "a hook without a test",

    // Trust, once more.
    RunsAsApproved = "TG078" Warning "runs as it was approved",

    // Starlark, in Markdown hooks and policy files.
    ScriptSyntax = "TG080" Error "not valid Starlark",
    UnknownName = "TG081" Error "an unknown name in a script",
    NoHandle = "TG082" Error "a script without `handle`",
    WrongArity = "TG083" Error "a wrong number of arguments",
    ScriptTooDeep = "TG084" Error "a script that is nested too deep",
    ScriptFails = "TG085" Error "a script that fails when it is loaded",
    NotAllowedInScript = "TG086" Error "not allowed in a script",
    NotAnExpression = "TG087" Error "a `when` that is no expression",
    NoDecision = "TG088" Warning "a script that may end without a decision",
    NoScriptEngine = "TG089" Error "nothing to run Starlark with",
    BadPolicy = "TG090" Error "a policy file that is not valid",
    AskElsewhere = "TG091" Error "a question where none can be put",
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.id())
    }
}

impl Serialize for Code {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(self.id())
    }
}

/// There is no such code.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no code `{0}`; codes go from TG001 up and are named where a problem is reported")]
pub struct UnknownCode(pub String);

impl FromStr for Code {
    type Err = UnknownCode;

    fn from_str(text: &str) -> Result<Self, UnknownCode> {
        let same = |code: &&Self| code.id().eq_ignore_ascii_case(text.trim());
        Self::ALL.iter().find(same).copied().ok_or_else(|| UnknownCode(text.to_owned()))
    }
}
