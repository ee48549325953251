//! What can be said about a script without running it.
//!
//! Text in, data out: nothing here touches files, the engine or a Starlark heap.
//!
//! - [`check_script`] and [`check_when`] find what is wrong with a hook's code, everything in one go and each with its
//!   place, and say what there is to know about it: [`Facts`], and whether it is [`Bounded`].
//! - [`Condition`] is a simple `when` in a form that is evaluated without Starlark.
//! - [`parse`] is the one way from a text to a syntax tree. It holds size and nesting against bounds first, because the
//!   parser, the compiler and the drop of a tree all recurse, and an overflow of the stack ends the process.
//!
//! ```
//! use tollgate_starlark::analysis::{self, ProblemKind};
//!
//! let checked = analysis::check_script(
//!     "def handle(event, payload):\n    return allow()\n",
//!     &analysis::SCRIPT,
//! );
//! assert!(checked.is_ok());
//!
//! let problems = analysis::check_script(
//!     "def handle(event, payload):\n    metrics.inc(\"calls\")\n    return alow()\n",
//!     &analysis::SCRIPT,
//! )
//! .unwrap_err();
//! assert_eq!(problems[0].kind, ProblemKind::UnknownAttribute);
//! assert_eq!(problems[1].help.as_deref(), Some("did you mean `allow`?"));
//! ```

pub mod bounded;
mod calls;
pub mod check;
pub mod condition;
pub mod depth;
pub mod facts;
pub mod names;
mod native;
pub mod problem;
mod reads;
mod scope;
mod tool_names;

pub use bounded::{Bounded, bounded};
pub use check::{Checked, CheckedWhen, check_script, check_when};
pub(crate) use check::{errors, native_alone};
pub use condition::{CondError, Condition, Elements, Items, Payload, Record, View};
pub use depth::{MOST_BYTES, MOST_DEPTH, check_depth};
pub use facts::Facts;
pub use names::{Attribute, BuiltIn, Names, SCRIPT, Signature, Table, WHEN};
pub(crate) use native::{Native, Said};
pub use problem::{Problem, ProblemKind};
pub use reads::Reads;
pub(crate) use tool_names::compared_names;

use starlark_syntax::syntax::{AstModule, Dialect, DialectTypes};

/// The dialect that scripts are parsed in.
///
/// It takes more than scripts may use, so that one parse finds all that is not allowed: [`check_script`] refuses what
/// it lets through (`load`, types, `if` and `for` outside functions) with words of its own.
pub fn dialect() -> Dialect {
    Dialect {
        enable_def: true,
        enable_lambda: true,
        enable_load: true,
        enable_keyword_only_arguments: true,
        enable_positional_only_arguments: true,
        enable_types: DialectTypes::ParseOnly,
        enable_load_reexport: false,
        enable_top_level_stmt: true,
        enable_f_strings: true,
        ..Dialect::Standard
    }
}

/// The syntax tree of a text that is neither too long nor too deep.
///
/// ```
/// use tollgate_starlark::analysis;
///
/// assert!(analysis::parse("x = [1, 2]\n").is_ok());
/// let problem = analysis::parse("x = [1, 2\n").unwrap_err();
/// assert_eq!(problem.place("x = [1, 2\n"), (2, 1));
/// // What would overflow the stack of a parser is refused before there is one.
/// assert!(analysis::parse(&"(".repeat(50_000)).is_err());
/// ```
pub fn parse(text: &str) -> Result<AstModule, Problem> {
    let height = depth::height(text)?;
    let parsed = depth::with_stack(height, || {
        AstModule::parse("script", text.to_owned(), &dialect())
            .map_err(|error| problem::syntax(&error, text))
    });
    parsed.unwrap_or_else(|error| {
        let message = format!("there is no thread to read so deep a script: {error}");
        Err(Problem::new(ProblemKind::TooDeep, 0..text.len(), message))
    })
}
