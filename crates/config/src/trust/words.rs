//! A command line taken apart into commands and words, as far as its text alone tells.
//!
//! This is no shell. It knows quotes, backslashes, operators, redirections, here-documents and
//! substitutions well enough to see every word that a shell would; where a shell would put
//! something in, the word has a hole.

/// Stands in a word for what the shell puts there. No word of a command can contain it itself.
pub(crate) const HOLE: char = '\0';

/// How deep substitutions are followed. Deeper ones are holes and nothing more.
const DEEPEST: usize = 8;

/// What the shell would put in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Hole {
    /// The value of a variable.
    Variable(String),
    /// The output of commands, by their text.
    Output(String),
}

/// Where a word is the file of a redirection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Redirect {
    /// It is read.
    In,
    /// It is written.
    Out,
}

/// A word, without its quotes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Word {
    /// The text, with a [`HOLE`] for each of the holes.
    pub(crate) text: String,
    /// What stands at its holes, in their order.
    pub(crate) holes: Vec<Hole>,
    /// Whether it is the file of a redirection.
    pub(crate) redirect: Option<Redirect>,
    /// Where it is in the text, in characters. None inside of substitutions.
    pub(crate) span: Option<(usize, usize)>,
}

/// One command: a program, its arguments, its redirections.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Command {
    /// Its words, the files of its redirections among them.
    pub(crate) words: Vec<Word>,
}

/// A command line.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Line {
    /// The commands, those of substitutions before the ones they are in.
    pub(crate) commands: Vec<Command>,
    /// The texts of here-documents.
    pub(crate) documents: Vec<String>,
    /// Whether it defines a function, so that a name may mean something else.
    pub(crate) defines_function: bool,
}

/// Words that stand before a command without changing which it is.
const KEYWORDS: &[&str] = &[
    "if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "time", "fi", "done",
    "esac", "coproc",
];

impl Word {
    /// Whether it sets a variable: `NAME=value`.
    pub(crate) fn assignment(&self) -> Option<(&str, &str)> {
        let (name, value) = self.text.split_once('=')?;
        let name = name.strip_suffix('+').unwrap_or(name);
        let is_name = !name.is_empty()
            && !name.starts_with(|c: char| c.is_ascii_digit())
            && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        (is_name && self.redirect.is_none()).then_some((name, value))
    }

    /// The last part of it as a path.
    pub(crate) fn base_name(&self) -> &str {
        self.text.rsplit('/').next().unwrap_or_default()
    }
}

impl Command {
    /// The variables that are set for it, and the words from its program on. Keywords before it
    /// and redirections are left out.
    pub(crate) fn parts(&self) -> (Vec<&Word>, Vec<&Word>) {
        let mut words = self.words.iter().filter(|word| word.redirect.is_none()).peekable();
        while words.next_if(|word| KEYWORDS.contains(&word.text.as_str())).is_some() {}
        let mut assignments = Vec::new();
        while let Some(word) = words.next_if(|word| word.assignment().is_some()) {
            assignments.push(word);
        }
        (assignments, words.collect())
    }
}

impl Line {
    /// Takes a text apart.
    pub(crate) fn parse(text: &str) -> Self {
        let mut line = Self::default();
        line.read(text, 0);
        line
    }

    fn read(&mut self, text: &str, depth: usize) {
        let characters = text.chars().filter(|c| *c != HOLE).collect();
        let mut reader = Reader {
            text: characters,
            at: 0,
            depth,
            line: self,
            command: Command::default(),
            word: None,
            redirect: None,
            documents: Vec::new(),
            part: 0,
            begin: None,
        };
        reader.run();
    }
}

/// A here-document that begins at the next line.
struct Awaited {
    end: String,
    is_quoted: bool,
    is_indented: bool,
}

struct Reader<'a> {
    text: Vec<char>,
    at: usize,
    depth: usize,
    line: &'a mut Line,
    command: Command,
    word: Option<Word>,
    /// What the next word is to a redirection before it.
    redirect: Option<Redirect>,
    documents: Vec<Awaited>,
    /// Where the part of the text begins that is being read, and where the word does.
    part: usize,
    begin: Option<usize>,
}

impl Reader<'_> {
    fn peek(&self) -> Option<char> {
        self.text.get(self.at).copied()
    }

    fn next(&mut self) -> Option<char> {
        let next = self.peek()?;
        self.at += 1;
        Some(next)
    }

    fn take(&mut self, wanted: char) -> bool {
        let is_next = self.peek() == Some(wanted);
        self.at += usize::from(is_next);
        is_next
    }

    fn word(&mut self) -> &mut Word {
        self.word.get_or_insert_default()
    }

    fn push(&mut self, c: char) {
        self.word().text.push(c);
    }

    fn hole(&mut self, hole: Hole) {
        let word = self.word();
        word.text.push(HOLE);
        word.holes.push(hole);
    }

    fn end_word(&mut self) {
        if let Some(mut word) = self.word.take() {
            word.redirect = self.redirect.take();
            let begin = self.begin.filter(|_| self.depth == 0);
            word.span = begin.map(|begin| (begin, self.part));
            self.command.words.push(word);
        }
        self.begin = None;
    }

    fn end_command(&mut self) {
        self.end_word();
        self.redirect = None;
        if !self.command.words.is_empty() {
            self.line.commands.push(std::mem::take(&mut self.command));
        }
    }

    fn run(&mut self) {
        loop {
            if self.word.is_some() {
                self.begin.get_or_insert(self.part);
            }
            self.part = self.at;
            let Some(c) = self.next() else { break };
            match c {
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(escaped) => self.push(escaped),
                },
                '\'' => self.single_quoted(),
                '"' => self.double_quoted(),
                '$' => self.dollar(false),
                '`' => self.backquoted(),
                '\n' => {
                    self.end_command();
                    self.read_documents();
                }
                '#' if self.word.is_none() => {
                    while self.peek().is_some_and(|c| c != '\n') {
                        self.at += 1;
                    }
                }
                '&' if self.peek() == Some('>') => {
                    self.end_word();
                    self.at += 1;
                    self.take('>');
                    self.redirect = Some(Redirect::Out);
                }
                '(' => {
                    self.line.defines_function |= self.word.is_some() && self.peek() == Some(')');
                    self.end_command();
                }
                ';' | '&' | '|' | ')' => self.end_command(),
                '<' | '>' => self.redirection(c),
                c if c.is_whitespace() => self.end_word(),
                c => self.push(c),
            }
        }
        self.end_command();
    }

    fn single_quoted(&mut self) {
        self.word();
        while let Some(c) = self.next().filter(|c| *c != '\'') {
            self.push(c);
        }
    }

    fn double_quoted(&mut self) {
        self.word();
        while let Some(c) = self.next() {
            match c {
                '"' => return,
                '\\' => match self.next() {
                    Some('\n') | None => {}
                    Some(escaped @ ('"' | '\\' | '$' | '`')) => self.push(escaped),
                    Some(other) => {
                        self.push('\\');
                        self.push(other);
                    }
                },
                '$' => self.dollar(true),
                '`' => self.backquoted(),
                c => self.push(c),
            }
        }
    }

    /// What follows a `$`.
    fn dollar(&mut self, in_quotes: bool) {
        match self.peek() {
            Some('\'') if !in_quotes => {
                self.at += 1;
                self.escapes();
            }
            Some('"') if !in_quotes => {}
            Some('(') => {
                self.at += 1;
                let inner = self.until(')', '(');
                self.substitute(inner);
            }
            Some('{') => {
                self.at += 1;
                let inner = self.until('}', '{');
                let is_name = |c: &char| c.is_ascii_alphanumeric() || *c == '_';
                let name: String = inner.chars().take_while(is_name).collect();
                if inner.contains("$(") || inner.contains('`') {
                    self.nested(&inner);
                }
                self.hole(Hole::Variable(name));
            }
            Some(c) if c.is_ascii_alphabetic() || c == '_' => {
                let mut name = String::new();
                while let Some(c) = self.peek().filter(|c| c.is_ascii_alphanumeric() || *c == '_') {
                    name.push(c);
                    self.at += 1;
                }
                self.hole(Hole::Variable(name));
            }
            Some(c) if c.is_ascii_digit() || "@*#?$!-".contains(c) => {
                self.at += 1;
                self.hole(Hole::Variable(c.to_string()));
            }
            _ => self.push('$'),
        }
    }

    /// `$'…'`, with the escapes of C.
    fn escapes(&mut self) {
        self.word();
        while let Some(c) = self.next().filter(|c| *c != '\'') {
            if c != '\\' {
                self.push(c);
                continue;
            }
            let Some(escaped) = self.next() else { return };
            let code = match escaped {
                'x' => self.number(16, 2),
                'u' => self.number(16, 4),
                'U' => self.number(16, 8),
                '0'..='7' => {
                    self.at -= 1;
                    self.number(8, 3)
                }
                'n' => Some('\n'),
                't' => Some('\t'),
                other => Some(other),
            };
            if let Some(c) = code.filter(|c| *c != HOLE) {
                self.push(c);
            }
        }
    }

    fn number(&mut self, base: u32, most: usize) -> Option<char> {
        let mut value = 0_u32;
        for _ in 0..most {
            let Some(digit) = self.peek().and_then(|c| c.to_digit(base)) else { break };
            value = value.checked_mul(base)?.checked_add(digit)?;
            self.at += 1;
        }
        char::from_u32(value)
    }

    fn backquoted(&mut self) {
        let mut inner = String::new();
        while let Some(c) = self.next().filter(|c| *c != '`') {
            match c {
                '\\' => inner.extend(self.next()),
                c => inner.push(c),
            }
        }
        self.substitute(inner);
    }

    /// The text up to the end of what was opened, which is taken away. Quotes are respected.
    fn until(&mut self, close: char, open: char) -> String {
        let mut inner = String::new();
        let mut opened = 1;
        let mut quote = None;
        while let Some(c) = self.next() {
            match (c, quote) {
                ('\\', None | Some('"')) => {
                    inner.push(c);
                    inner.extend(self.next());
                    continue;
                }
                (c, Some(q)) if c == q => quote = None,
                ('\'' | '"', None) => quote = Some(c),
                (c, None) if c == open => opened += 1,
                (c, None) if c == close => opened -= 1,
                _ => {}
            }
            if opened == 0 {
                break;
            }
            inner.push(c);
        }
        inner
    }

    fn substitute(&mut self, inner: String) {
        self.nested(&inner);
        self.hole(Hole::Output(inner));
    }

    fn nested(&mut self, inner: &str) {
        if self.depth < DEEPEST {
            self.line.read(inner, self.depth + 1);
        }
    }

    /// What follows a `<` or `>`.
    fn redirection(&mut self, first: char) {
        // `2>` names a descriptor, not a word.
        let is_descriptor =
            |word: &Word| word.holes.is_empty() && word.text.chars().all(|c| c.is_ascii_digit());
        if self.word.as_ref().is_some_and(is_descriptor) {
            self.word = None;
            self.begin = None;
        }
        self.end_word();
        if self.take('(') {
            let inner = self.until(')', '(');
            self.substitute(inner);
            return;
        }
        if first == '<' && self.take('<') {
            if self.take('<') {
                self.redirect = Some(Redirect::In);
            } else {
                self.document();
            }
            return;
        }
        let both = first == '<' && self.take('>');
        if first == '>' {
            let _ = self.take('>') || self.take('|');
        }
        if self.take('&') {
            // `>&2` and `>&-` are no files; `>&file` is one.
            if self.peek().is_some_and(|c| c.is_ascii_digit() || c == '-') {
                while self.peek().is_some_and(|c| c.is_ascii_digit() || c == '-') {
                    self.at += 1;
                }
                return;
            }
        }
        self.redirect = Some(if first == '>' || both { Redirect::Out } else { Redirect::In });
    }

    /// `<<END`.
    fn document(&mut self) {
        let is_indented = self.take('-');
        while self.peek().is_some_and(|c| c == ' ' || c == '\t') {
            self.at += 1;
        }
        let mut end = String::new();
        let mut is_quoted = false;
        while let Some(c) = self.peek().filter(|c| !c.is_whitespace() && !";|&<>()".contains(*c)) {
            self.at += 1;
            if matches!(c, '\'' | '"' | '\\') {
                is_quoted = true;
            } else {
                end.push(c);
            }
        }
        self.documents.push(Awaited { end, is_quoted, is_indented });
    }

    fn read_documents(&mut self) {
        for awaited in std::mem::take(&mut self.documents) {
            let mut body = String::new();
            while self.at < self.text.len() {
                let mut row = String::new();
                while let Some(c) = self.next().filter(|c| *c != '\n') {
                    row.push(c);
                }
                let shown = if awaited.is_indented { row.trim_start_matches('\t') } else { &row };
                if shown == awaited.end {
                    break;
                }
                body.push_str(&row);
                body.push('\n');
            }
            // Without quotes, the shell runs the substitutions in it. A quote in it has no meaning.
            if !awaited.is_quoted && self.depth < DEEPEST {
                let body: String = body.chars().filter(|c| !matches!(c, '\'' | '"')).collect();
                for inner in substitutions(&body) {
                    self.nested(&inner);
                }
            }
            self.line.documents.push(body);
        }
    }
}

/// The commands in `$(…)` and backquotes of a text.
fn substitutions(text: &str) -> Vec<String> {
    let mut line = Line::default();
    let mut reader = Reader {
        text: text.chars().filter(|c| *c != HOLE).collect(),
        at: 0,
        depth: DEEPEST,
        line: &mut line,
        command: Command::default(),
        word: None,
        redirect: None,
        documents: Vec::new(),
        part: 0,
        begin: None,
    };
    reader.double_quoted();
    let holes = reader.word.map(|word| word.holes).unwrap_or_default();
    let output = |hole| match hole {
        Hole::Output(inner) => Some(inner),
        Hole::Variable(_) => None,
    };
    holes.into_iter().filter_map(output).collect()
}

#[cfg(test)]
mod tests;
