//! How deep a syntax tree can get, said before there is one.
//!
//! Parser, compiler and the drop of a tree call themselves for each level of it. A text of some kilobytes of opening
//! brackets would so overflow the stack, which no handler catches. One pass over the tokens gives a bound on the height
//! of the tree that they can make:
//!
//! - The tokens between two separators of one bracket or block are a *stretch*. Every operator, dot, opening bracket,
//!   `if`, `lambda` in it makes at most one level, whether it nests to the left or to the right; what is in its brackets
//!   comes below. So its height is at most their number, and the greatest height inside its brackets.
//! - A comma ends a stretch, but not between `lambda` and its colon, where it separates parameters of something that goes
//!   on. The clauses of a comprehension count for the whole bracket, since each runs inside the one before it.
//! - A block is one level below its statement, and each `elif` is one below the `if` or `elif` before it.

use starlark_syntax::codemap::CodeMap;
use starlark_syntax::lexer::{Lexer, Token};

use super::dialect;
use super::problem::{self, Problem, ProblemKind};

/// The longest script, in bytes.
pub const MOST_BYTES: usize = 64 * 1024;

/// The deepest nesting.
pub const MOST_DEPTH: u32 = 100;

/// The nesting up to which the caller's own stack will do: parsing and compiling then take at most 512 KiB in a debug
/// build, and 256 KiB in an optimised one.
const SHALLOW: u32 = if cfg!(debug_assertions) { 6 } else { 30 };

/// A stack for the deepest. The greediest construct takes some 80 KiB for each level in a debug build, where nothing is
/// optimised: a quarter of this.
const DEEP_STACK: usize = 32 * 1024 * 1024;

/// The longest line that is read on the caller's own stack: in a debug build the lexer calls itself for each character
/// of a number, a name or a comment.
const SHORT_LINE: usize = 1_000;

/// Runs something that calls itself for each level of a syntax tree, such as compiling it, on a stack that is large
/// enough. A tree that is shallow costs nothing; a deep one a thread.
///
/// ```
/// use tollgate_starlark::analysis::depth;
///
/// let text = "x = [[[[1]]]]\n";
/// let height = depth::height(text).unwrap();
/// assert_eq!(depth::with_stack(height, || 6 * 7).unwrap(), 42);
/// ```
///
/// # Errors
///
/// Where the system gives no thread.
pub fn with_stack<R: Send>(height: u32, run: impl FnOnce() -> R + Send) -> std::io::Result<R> {
    if height <= SHALLOW {
        return Ok(run());
    }
    std::thread::scope(|scope| {
        let thread = std::thread::Builder::new().stack_size(DEEP_STACK).spawn_scoped(scope, run)?;
        match thread.join() {
            Ok(result) => Ok(result),
            Err(panic) => std::panic::resume_unwind(panic),
        }
    })
}

/// Refuses a text that is too long, nests too deeply, or does not even consist of tokens.
///
/// ```
/// use tollgate_starlark::analysis::{ProblemKind, check_depth};
///
/// assert!(check_depth("x = payload.get('a', {}).get('b', [1, 2])[0]\n").is_ok());
/// let problem = check_depth(&format!("x = {}1", "not ".repeat(10_000))).unwrap_err();
/// assert_eq!(problem.kind, ProblemKind::TooDeep);
/// ```
pub fn check_depth(text: &str) -> Result<(), Problem> {
    height(text).map(|_| ())
}

/// How deep the syntax tree of a text can get, at most. Refuses what [`check_depth`] refuses.
pub fn height(text: &str) -> Result<u32, Problem> {
    check_length(text)?;
    // A long line is for the stack what a deep tree is.
    let at_least = if has_long_line(text) { SHALLOW + 1 } else { 0 };
    let height = with_stack(at_least, || measure(text)).unwrap_or_else(|error| {
        let message = format!("there is no thread to read so long a line: {error}");
        Err(Problem::new(ProblemKind::TooLong, 0..text.len(), message))
    })?;
    Ok(height.max(at_least))
}

fn check_length(text: &str) -> Result<(), Problem> {
    if text.len() > MOST_BYTES {
        return Err(Problem::new(
            ProblemKind::TooLong,
            MOST_BYTES..text.len(),
            format!("the script has {} bytes, and {MOST_BYTES} is the most", text.len()),
        )
        .help("split it into several hooks"));
    }
    Ok(())
}

/// Whether a line is long. One that ends with a backslash goes on.
fn has_long_line(text: &str) -> bool {
    let mut bytes = 0;
    text.len() > SHORT_LINE
        && text.split('\n').any(|line| {
            bytes += line.len() + 1;
            let long = bytes > SHORT_LINE;
            if !line.ends_with('\\') && !line.ends_with("\\\r") {
                bytes = 0;
            }
            long
        })
}

fn measure(text: &str) -> Result<u32, Problem> {
    let mut highest = 0;
    let codemap = CodeMap::new("script".to_owned(), text.to_owned());
    let mut height = Height::default();
    for token in Lexer::new(text, &dialect(), codemap) {
        let (start, token, end) =
            token.map_err(|error| problem::syntax(&error.into_error(), text))?;
        height.take(&token);
        highest = highest.max(height.now());
        if highest > MOST_DEPTH {
            return Err(Problem::new(
                ProblemKind::TooDeep,
                start..end,
                format!("the script nests more than {MOST_DEPTH} levels deep here"),
            )
            .help("give parts of it names of their own"));
        }
    }
    Ok(highest)
}

/// What is open: a bracket, an expression in a string, or a block.
#[derive(Debug, Default, Clone, Copy)]
struct Open {
    block: bool,
    /// Levels that the stretch so far makes by itself.
    stretch: u32,
    /// Levels that hold for the whole bracket: the clauses of its comprehension.
    clauses: u32,
    /// The greatest height in brackets of this stretch.
    below: u32,
    /// `lambda`s of the stretch whose colon has not come.
    lambdas: u32,
    /// How far down a chain of `elif`s its statement is.
    chain: u32,
    /// The greatest height of all stretches that ended.
    highest: u32,
}

impl Open {
    fn height(&self) -> u32 {
        self.highest.max(self.chain + self.stretch + self.clauses + self.below)
    }

    fn end_stretch(&mut self) {
        self.highest = self.height();
        (self.stretch, self.below, self.lambdas) = (0, 0, 0);
    }
}

#[derive(Debug)]
struct Height {
    outer: Vec<Open>,
    inner: Open,
    /// The levels above the innermost thing that is open.
    above: u32,
    /// Whether the next token begins a statement.
    begins: bool,
}

impl Default for Height {
    fn default() -> Self {
        let whole = Open { block: true, ..Open::default() };
        Height { outer: Vec::new(), inner: whole, above: 0, begins: true }
    }
}

impl Height {
    /// The bound for what has been read.
    fn now(&self) -> u32 {
        self.above + self.inner.height()
    }

    fn open(&mut self, block: bool) {
        self.inner.stretch += 1;
        self.above += self.inner.chain + self.inner.stretch + self.inner.clauses;
        self.outer.push(std::mem::replace(&mut self.inner, Open { block, ..Open::default() }));
    }

    fn close(&mut self, block: bool) {
        // A bracket that fits nothing is the parser's to report.
        if self.inner.block != block {
            return;
        }
        let Some(outer) = self.outer.pop() else { return };
        let closed = std::mem::replace(&mut self.inner, outer);
        self.inner.below = self.inner.below.max(closed.height());
        self.above -= self.inner.chain + self.inner.stretch + self.inner.clauses;
    }

    fn take(&mut self, token: &Token) {
        let between =
            matches!(token, Token::Newline | Token::Indent | Token::Dedent | Token::Comment(_));
        // A statement that does not go on with an `if` ends its chain.
        if self.begins && !between && !matches!(token, Token::Elif | Token::Else) {
            self.inner.chain = 0;
        }
        self.begins = between;
        match token {
            Token::OpeningRound
            | Token::OpeningSquare
            | Token::OpeningCurly
            | Token::FStringExprStart => self.open(false),
            Token::ClosingRound
            | Token::ClosingSquare
            | Token::ClosingCurly
            | Token::FStringExprEnd => self.close(false),
            Token::Indent => self.open(true),
            Token::Dedent => {
                self.close(true);
                self.inner.end_stretch();
            }
            Token::Newline | Token::Semicolon => self.inner.end_stretch(),
            Token::Comma if self.inner.lambdas == 0 => self.inner.end_stretch(),
            Token::Colon => self.inner.lambdas = self.inner.lambdas.saturating_sub(1),
            Token::Lambda => {
                self.inner.lambdas += 1;
                self.inner.stretch += 1;
            }
            Token::Elif => self.inner.chain += 1,
            Token::For if !self.inner.block => self.inner.clauses += 1,
            Token::If if self.inner.clauses > 0 => self.inner.clauses += 1,
            Token::If
            | Token::For
            | Token::Not
            | Token::And
            | Token::Or
            | Token::In
            | Token::EqualEqual
            | Token::BangEqual
            | Token::LessThan
            | Token::LessEqual
            | Token::GreaterThan
            | Token::GreaterEqual
            | Token::Plus
            | Token::Minus
            | Token::Star
            | Token::StarStar
            | Token::Slash
            | Token::SlashSlash
            | Token::Percent
            | Token::Ampersand
            | Token::Pipe
            | Token::Caret
            | Token::Tilde
            | Token::LessLess
            | Token::GreaterGreater
            | Token::Dot => self.inner.stretch += 1,
            _ => {}
        }
    }
}
