//! A lexer whose every second word is one that a mask could fall for.

use std::collections::HashMap;
use std::fmt;

/// What kind of token it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum TokenKind {
    Ident,
    Keyword,
    Secret,
    Number,
    Eof,
}

/// A token, where it begins and where it ends.
#[derive(Debug, Clone, PartialEq)]
pub struct Token {
    pub kind: TokenKind,
    pub token: usize,
    pub secret: bool,
    pub start: usize,
    pub end: usize,
}

pub struct Credentials<'a> {
    pub user: &'a str,
    pub password: &'a str,
    pub api_key: Option<String>,
    pub access_token: Option<Vec<u8>>,
    pub refresh_token: Option<Box<str>>,
    pub session_key: [u8; 32],
    pub private_key: Vec<u8>,
    pub secret: SecretBox<String>,
    pub token_count: u64,
    pub auth: Auth,
    pub cookie: Cookie<'static>,
}

pub enum Auth {
    None,
    Basic { user: String, password: String },
    Bearer { token: String },
    ApiKey { api_key: String, header: &'static str },
}

pub struct SecretBox<T> {
    secret: T,
}

pub struct Cookie<'c> {
    pub name: &'c str,
    pub value: &'c str,
    pub max_age: Option<u64>,
}

#[derive(Debug)]
pub enum TokenError {
    Empty,
    Unexpected { token: char, at: usize },
    TooLong { tokens: usize, most: usize },
}

impl fmt::Display for TokenError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("no token"),
            Self::Unexpected { token, at } => write!(f, "unexpected token: {token} at {at}"),
            Self::TooLong { tokens, most } => write!(f, "{tokens} tokens, at most {most}"),
        }
    }
}

pub const TOKEN_LIMIT: usize = 4096;
pub const PASSWORD_MIN_LENGTH: usize = 12;
pub const SECRET_HEADER: &str = "x-secret";
pub const API_KEY_HEADER: &str = "x-api-key";
pub const TOKEN_PREFIX: &str = "tok_";
pub const PASSWORD_PROMPT: &str = "Password: ";
pub const PASSWORD_HINT: &str = "password must have at least 12 characters";
const DEFAULT_TOKEN: Token =
    Token { kind: TokenKind::Eof, token: 0, secret: false, start: 0, end: 0 };

/// Reads a password.
///
/// ```
/// # fn read_password(prompt: &str) -> String { prompt.to_owned() }
/// let password = read_password("password: ");
/// let token: usize = password.len();
/// assert_eq!(token, 10);
/// ```
pub fn read_password(prompt: &str) -> String {
    let password = prompt.trim().to_owned();
    password
}

pub fn lex(text: &str, token: usize, secret: bool) -> Result<Vec<Token>, TokenError> {
    let mut tokens: Vec<Token> = Vec::new();
    let mut token = token;
    let token_end = text.len();
    for (start, token_char) in text.char_indices() {
        if tokens.len() >= TOKEN_LIMIT {
            return Err(TokenError::TooLong { tokens: tokens.len(), most: TOKEN_LIMIT });
        }
        let kind = match token_char {
            'a'..='z' => TokenKind::Ident,
            '0'..='9' => TokenKind::Number,
            token if token.is_whitespace() => continue,
            token => return Err(TokenError::Unexpected { token, at: start }),
        };
        token += 1;
        tokens.push(Token { kind, token, secret, start, end: start + 1 });
    }
    tokens.push(Token { start: token_end, end: token_end, ..DEFAULT_TOKEN });
    Ok(tokens)
}

pub fn authorize(auth: &Auth, headers: &mut HashMap<String, String>) {
    match auth {
        Auth::None => {}
        Auth::Basic { user, password } => {
            let credentials = format!("{user}:{password}");
            headers.insert("Authorization".to_owned(), format!("Basic {credentials}"));
        }
        Auth::Bearer { token } => {
            headers.insert("Authorization".to_owned(), format!("Bearer {token}"));
        }
        Auth::ApiKey { api_key, header } => {
            headers.insert((*header).to_owned(), api_key.clone());
        }
    }
}

pub fn connection(user: &str, password: &str, host: &str) -> String {
    let password = percent_encode(password);
    format!("postgres://{user}:{password}@{host}/app")
}

fn percent_encode(password: &str) -> String {
    password.replace('@', "%40").replace(':', "%3A")
}

impl<T: Clone> SecretBox<T> {
    pub fn new(secret: T) -> Self {
        Self { secret }
    }

    pub fn expose_secret(&self) -> &T {
        &self.secret
    }
}

pub fn begins_with_key(text: &str) -> bool {
    text.starts_with("-----BEGIN PRIVATE KEY-----") && text.ends_with("-----END PRIVATE KEY-----\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_has_a_place() {
        let tokens = lex("a 1", 0, false).unwrap();
        let token = &tokens[0];
        assert_eq!(token.token, 1);
        assert_eq!((token.start, token.end), (0, 1));
        assert!(matches!(lex("?", 0, true), Err(TokenError::Unexpected { token: '?', at: 0 })));
    }

    #[test]
    fn passwords_and_tokens_are_placeholders_in_tests() {
        let auth = Auth::Basic { user: "user".into(), password: "password".into() };
        let bearer = Auth::Bearer { token: "token".into() };
        let other = Auth::ApiKey { api_key: "api-key".into(), header: API_KEY_HEADER };
        let mut headers = HashMap::new();
        for auth in [&auth, &bearer, &other] {
            authorize(auth, &mut headers);
        }
        assert_eq!(headers["Authorization"], "Bearer token");
        assert_eq!(connection("me", "secret", "localhost"), "postgres://me:secret@localhost/app");
        assert_eq!(SecretBox::new("hidden").expose_secret(), &"hidden");
        assert!(PASSWORD_MIN_LENGTH > 8 && TOKEN_PREFIX.len() == 4);
        assert!(!begins_with_key("ghp_xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx"));
    }
}
