//! Which scripts are provably cheap enough to run in process.
//!
//! The interpreter counts a *tick* for each call and each turn of a loop, and looks at its limits once in 1,000 ticks.
//! Nothing interrupts a single operation, and nothing counts straight-line code: `"a" * (1 << 29)`,
//! `list(range(10 ** 8))` and thirty lines of `s = s + s` all pass its limits. It even folds constants when it compiles,
//! without limits, so that such a script must not be compiled in process either. So a script runs in process only if it is
//! shown here that it cannot do such things. All others run in the worker, under limits of the operating system.
//!
//! # What is computed
//!
//! For every expression an upper bound of what its value takes when it is written out (its *size*), of how many elements
//! it has, and of how large these are. Literals have their own size; the payload and all of its parts have at most
//! [`PAYLOAD`] bytes. For a variable it is the largest of all that is assigned to it anywhere, found by repeating until
//! nothing changes. A variable that would grow in each round (`s = s + s`) does not settle, and the script is not
//! bounded. What is appended or added in a loop counts as often as the loop can turn.
//!
//! From that follows what each operation allocates and touches, at most. An operation runs as often as the loops around
//! it can turn, all multiplied; one in a `return` runs once for each call.
//!
//! # What holds
//!
//! If the answer is [`Bounded::Yes`], the payload has at most [`PAYLOAD`] bytes as JSON, what built-ins hand back has at
//! most as many, and the evaluator has the limits [`TICKS`] and [`HEAP`], then at any time the script's values take at
//! most [`HEAP`] + [`ALLOCATION`] bytes more than before, what leaves the script (logs, metrics, cache, decisions) has
//! at most [`OUTWARD`] bytes, and between two looks at the limits at most [`WORK`] bytes are touched.
//!
//! *Proof.* Between two executions of the same operation in the text there is a tick: a loop's turn or a call. So
//! between two looks an operation runs at most 1,001 times, and never more often than its loops can turn. The sum over
//! all operations of that number times the bytes that one run allocates is at most [`ALLOCATION`]; this is checked. At
//! the last look that passed, the heap had at most [`HEAP`] bytes; by the next, or the end, it has at most the sum. What
//! the limit does not see, the contents of dicts and of large numbers, is part of the same sum, but counted over the
//! whole run, which has at most [`TICKS`] + 1,000 ticks. What leaves is counted over the whole run too. The sum of bytes
//! touched between two looks is at most [`WORK`]. Bounds for single values hold because each rule bounds the result by the bounds of the
//! operands, and the table of variables is closed under all assignments. Only what the script has made itself and holds
//! under one name is ever changed in place, so that no change escapes the table. Functions are called by their names
//! only, and one that calls itself does not settle. ∎
//!
//! An element of a list is at most as large as the list, but all of them together are too. Where an operation in a loop
//! takes the loop's variable, the sum over all turns is therefore bounded by the size of the list, not by the number of
//! turns times the largest element; the smaller of the two bounds counts.

mod call;
mod expression;
mod value;
mod walk;

use std::ops::Range;

use starlark_syntax::syntax::AstModule;
use starlark_syntax::syntax::ast::AstExpr;

use super::names::Names;

/// The most ticks.
pub const TICKS: u64 = 100_000;
/// The most bytes on the heap at a look, above what was there before.
pub const HEAP: u64 = 16 * 1024 * 1024;
/// The largest payload, as JSON, and the largest result of a built-in that hands out what others have stored.
pub const PAYLOAD: u64 = 64 * 1024;
/// The largest payload of scripts that look into commands, where there are workers for larger ones: it takes a
/// microsecond a byte, which no byte of a script does.
pub const COMMAND: u64 = 8 * 1024;
/// What a command, a redirection or what is not known of a script counts for in a result, beside its texts.
pub const STRUCT: u64 = 96;
/// The same for an effect of a call, which has three times as many fields.
pub const EFFECT: u64 = 3 * STRUCT;
/// The largest effect, and the largest note of what is not known, in a result.
pub const LARGEST_EFFECT: u64 = 4096;
/// The most risks of a call in a result, and the largest.
pub const RISKS: u64 = 32;
/// The largest risk of a call in a result.
pub const LARGEST_RISK: u64 = 4096;
/// The most bytes that are allocated between two looks.
pub const ALLOCATION: u64 = 48 * 1024 * 1024;
/// The most bytes that are touched between two looks.
pub const WORK: u64 = 1 << 25;
/// The most bytes that leave a script.
pub const OUTWARD: u64 = 8 * 1024 * 1024;

/// Whether a script may run in process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bounded {
    /// It may.
    Yes,
    /// It may not, or it is not known that it may.
    No {
        /// Where that shows.
        range: Range<usize>,
        /// Why, for those who want it faster.
        why: String,
    },
}

impl Bounded {
    /// Whether it may.
    pub fn is_yes(&self) -> bool {
        *self == Bounded::Yes
    }
}

/// Whether a script that [`check_script`](super::check_script) found right may run in process.
///
/// ```
/// use tollgate_starlark::analysis::{Bounded, SCRIPT, bounded, parse};
///
/// let cheap = "def handle(event, payload):\n    for bad in [\"mkfs\", \"dd if=\"]:\n        if bad in payload[\"command\"]:\n            return block(\"no \" + bad)\n    return allow()\n";
/// assert_eq!(bounded(&parse(cheap).unwrap(), &SCRIPT), Bounded::Yes);
///
/// let dear = "def handle(event, payload):\n    return block(\"a\" * 1000000000)\n";
/// assert!(!bounded(&parse(dear).unwrap(), &SCRIPT).is_yes());
/// ```
pub fn bounded(ast: &AstModule, names: &dyn Names) -> Bounded {
    answer(walk::script(ast.statement(), names))
}

/// The same for a condition.
pub(super) fn bounded_expression(expression: &AstExpr, names: &dyn Names) -> Bounded {
    answer(walk::condition(expression, names))
}

fn answer(result: Result<(), Refusal>) -> Bounded {
    match result {
        Ok(()) => Bounded::Yes,
        Err(refusal) => Bounded::No { range: refusal.range, why: refusal.why },
    }
}

/// Why not.
#[derive(Debug)]
struct Refusal {
    range: Range<usize>,
    why: String,
}
