//! Whether the other parser could go too deep.

use crate::syntax::{
    Command, CommandKind, Operator, Parameter, Piece, Pipeline, Redirect, Script, Statement, Word,
};

/// How deep substitutions may be nested.
const SUBSTITUTIONS: usize = 6;

/// How much of the stack the other parser may need: about as many KiB, without optimisation.
const MOST: usize = 640;

/// What a construct in another one takes of it.
const CONSTRUCT: usize = 40;

/// What an operator in arithmetic takes of it: some bind the other way round, and all make a tree
/// that is as deep as they are many.
const OPERATOR: usize = 8;

/// How many brackets may be open where they are text to us.
const BRACKETS: usize = 24;

/// Whether a text with its tree is nested too deep for the other parser.
pub(super) fn of(text: &str, script: &Script) -> bool {
    let openers = openers(text);
    // Nearly all texts have fewer than may be open at once.
    openers > BRACKETS && of_text(text) || of_script(text, script, openers)
}

/// Whether a text could be nested too deep, whoever reads it, and whatever quotes it has.
fn of_text(text: &str) -> bool {
    const OPEN: usize = 40;
    let (mut open, mut row) = (0_usize, 0_usize);
    text.bytes().any(|byte| {
        match byte {
            b'(' | b'{' | b'[' => {
                open += 1;
                row += 1;
            }
            b')' | b'}' | b']' => {
                open = open.saturating_sub(1);
                row = 0;
            }
            b'`' => row += 1,
            b'$' | b'"' | b'<' | b'>' | b'\\' | b' ' | b'\t' | b'\n' => {}
            _ => row = 0,
        }
        open > OPEN || row > BRACKETS
    })
}

/// How many bytes could open something.
fn openers(text: &str) -> usize {
    let opens = |byte: &u8| u8::from(matches!(byte, b'(' | b'{' | b'[' | b'`'));
    // In bytes, many of them are looked at at once.
    let chunks = text.as_bytes().chunks(usize::from(u8::MAX));
    chunks.map(|chunk| usize::from(chunk.iter().map(opens).sum::<u8>())).sum()
}

/// Whether a tree is too deep.
fn of_script(text: &str, script: &Script, openers: usize) -> bool {
    let at = At { substitutions: 0, cost: 0, openers };
    // A list is a tree as deep as it is long, but lines of the whole script are trees of their own.
    let mut row = 0;
    let mut end = 0;
    script.statements.iter().any(|statement| {
        let commands = || pipelines(statement).flat_map(|pipeline| &pipeline.commands);
        let start = commands().next().map_or(end, |command| command.span.start);
        if text.get(end..start).is_none_or(|between| between.contains('\n')) {
            row = 0;
        }
        end = commands().last().map_or(start, |command| command.span.end);
        row += 1 + statement.rest.len();
        at.with(row).statement(statement)
    })
}

fn pipelines(statement: &Statement) -> impl Iterator<Item = &Pipeline> {
    std::iter::once(&statement.first).chain(statement.rest.iter().map(|(_, pipeline)| pipeline))
}

/// How deep a place is.
#[derive(Debug, Clone, Copy)]
struct At {
    substitutions: usize,
    cost: usize,
    /// How many bytes of the whole text could open something.
    openers: usize,
}

impl At {
    const fn with(self, cost: usize) -> Self {
        Self { cost: self.cost + cost, ..self }
    }

    const fn deeper(self) -> Self {
        self.with(CONSTRUCT)
    }

    const fn substituted(self) -> Self {
        Self { substitutions: self.substitutions + 1, ..self.deeper() }
    }

    const fn is_too_deep(self) -> bool {
        self.cost > MOST || self.substitutions > SUBSTITUTIONS
    }

    fn script(self, script: &Script) -> bool {
        let items: usize = script.statements.iter().map(|statement| 1 + statement.rest.len()).sum();
        let at = self.with(items);
        at.is_too_deep() || script.statements.iter().any(|statement| at.statement(statement))
    }

    fn statement(self, statement: &Statement) -> bool {
        self.is_too_deep() || pipelines(statement).any(|pipeline| self.pipeline(pipeline))
    }

    fn pipeline(self, pipeline: &Pipeline) -> bool {
        pipeline.commands.iter().any(|command| self.command(command))
    }

    fn command(self, command: &Command) -> bool {
        let at = self.deeper();
        let inside = match &command.kind {
            CommandKind::Simple { assignments, words } => {
                self.words(words)
                    || assignments.iter().any(|assignment| {
                        self.word(&assignment.value)
                            || assignment.subscript.as_ref().is_some_and(|word| self.word(word))
                    })
            }
            CommandKind::Subshell(script) | CommandKind::Group(script) => at.script(script),
            CommandKind::If { clauses, otherwise } => {
                clauses.iter().enumerate().any(|(number, clause)| {
                    // To the other parser, `elif` is an `if` in an `else`.
                    let at = at.with(CONSTRUCT * number);
                    at.script(&clause.condition) || at.script(&clause.body)
                }) || otherwise.as_ref().is_some_and(|script| at.script(script))
            }
            CommandKind::Loop(clause) => at.script(&clause.condition) || at.script(&clause.body),
            CommandKind::For { items, body, .. } => {
                items.as_ref().is_some_and(|words| self.words(words)) || at.script(body)
            }
            CommandKind::ForArithmetic { expression, body } => {
                at.arithmetic(&expression.pieces) || at.script(body)
            }
            CommandKind::Case { subject, arms } => {
                self.word(subject)
                    || arms.iter().any(|arm| self.words(&arm.patterns) || at.script(&arm.body))
            }
            CommandKind::Function { body, .. } | CommandKind::Coproc(body) => at.command(body),
            CommandKind::Arithmetic(word) => at.arithmetic(&word.pieces),
            CommandKind::Test(words) => self.test(words) || at.words(words),
            CommandKind::Empty => false,
        };
        inside || command.redirects.iter().any(|Redirect { target, .. }| self.word(target))
    }

    /// Brackets and operators of a test are words.
    fn test(self, words: &[Word]) -> bool {
        let operator = |word: &&Word| {
            let [Piece::Text(text)] = word.pieces.as_slice() else { return false };
            matches!(text.as_str(), "(" | "!" | "&&" | "||")
        };
        self.with(OPERATOR * words.iter().filter(operator).count()).is_too_deep()
    }

    fn arithmetic(self, pieces: &[Piece]) -> bool {
        let operators = pieces.iter().map(|piece| match piece {
            Piece::Text(text) => {
                text.bytes().filter(|byte| b"-+!~=?:*/%<>&|^,".contains(byte)).count()
            }
            _ => 0,
        });
        let at = self.with(OPERATOR * operators.sum::<usize>());
        at.is_too_deep() || at.pieces(pieces)
    }

    fn words(self, words: &[Word]) -> bool {
        words.iter().any(|word| self.word(word))
    }

    fn word(self, word: &Word) -> bool {
        self.pieces(&word.pieces)
    }

    fn pieces(self, pieces: &[Piece]) -> bool {
        // No text has more of them than the whole.
        let counts = self.openers > BRACKETS || self.with(self.openers * OPERATOR).is_too_deep();
        let mut brackets = 0;
        pieces.iter().any(|piece| match piece {
            Piece::Text(_) if !counts => false,
            Piece::Text(text) => {
                let open = |byte: &u8| matches!(byte, b'(' | b'[' | b'{');
                brackets += text.bytes().filter(open).count();
                brackets > BRACKETS || self.with(brackets * OPERATOR).is_too_deep()
            }
            Piece::Quoted(_) => false,
            Piece::Double(pieces) => self.deeper().pieces(pieces),
            Piece::Parameter(parameter) => self.parameter(parameter),
            Piece::Command(script) | Piece::Process(_, script) => self.substituted().script(script),
            Piece::Arithmetic(pieces) => self.deeper().arithmetic(pieces),
            Piece::Array(words) => self.deeper().words(words),
        })
    }

    fn parameter(self, parameter: &Parameter) -> bool {
        let at = self.deeper();
        let subscript = parameter.subscript.as_ref().is_some_and(|word| at.word(word));
        subscript
            || match &parameter.operator {
                Operator::Default(word)
                | Operator::Assign(word)
                | Operator::Error(word)
                | Operator::Alternative(word)
                | Operator::Prefix { pattern: word, .. }
                | Operator::Suffix { pattern: word, .. } => at.word(word),
                Operator::Replace { pattern, with, .. } => at.word(pattern) || at.word(with),
                Operator::Slice { offset, length } => {
                    at.word(offset) || length.as_ref().is_some_and(|word| at.word(word))
                }
                Operator::None
                | Operator::Length
                | Operator::Case { .. }
                | Operator::Transform(_)
                | Operator::Names
                | Operator::Other => false,
            }
    }
}
