//! HTML as text that is good to read: headings, lists, links, and nothing of how it looks.
//!
//! Not a parser of HTML as browsers have one: tags are taken as they come, in one pass, and what
//! is wrong does no harm, since nothing is built from it.

use std::fmt::Write as _;

mod entities;

use url::Url;

/// Elements that are left out with all that is in them.
const LEFT_OUT: &[&str] =
    &["script", "style", "noscript", "template", "svg", "iframe", "object", "canvas", "select"];

/// Elements whose contents are text up to their end tag, whatever is in it.
const RAW: &[&str] = &["script", "style", "textarea", "title", "iframe"];

/// Elements that begin on a line of their own.
const BLOCKS: &[&str] = &[
    "address",
    "article",
    "aside",
    "blockquote",
    "dd",
    "details",
    "dialog",
    "div",
    "dl",
    "dt",
    "fieldset",
    "figcaption",
    "figure",
    "footer",
    "form",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
    "header",
    "hr",
    "li",
    "main",
    "nav",
    "ol",
    "p",
    "pre",
    "section",
    "summary",
    "table",
    "tbody",
    "tfoot",
    "thead",
    "tr",
    "ul",
];

/// How deep lists are indented at the most.
const INDENT: usize = 8;

/// Turns HTML into text, and stops soon after so many bytes. Links are made absolute with `base`.
pub(super) fn to_text(html: &str, base: Option<&Url>, bytes: usize) -> String {
    let mut writer = Writer { base, ..Writer::default() };
    let mut rest = html;
    // A short link may stand for a long address, so the text may be much longer than the page.
    while !rest.is_empty() && writer.out.len() <= bytes.saturating_mul(2) {
        let Some(open) = memchr::memchr(b'<', rest.as_bytes()) else {
            writer.text(rest);
            break;
        };
        let (text, tag) = rest.split_at(open);
        writer.text(text);
        rest = writer.markup(tag);
    }
    writer.finish()
}

#[derive(Default)]
struct Writer<'a> {
    base: Option<&'a Url>,
    out: String,
    title: String,
    /// How many elements that are left out we are in, of one name.
    skipped: Option<(&'static str, usize)>,
    in_pre: usize,
    lists: Vec<Option<u32>>,
    /// The address of the link we are in, and where its text began.
    link: Option<(String, usize)>,
    /// A space is due before the next word.
    is_spaced: bool,
}

impl Writer<'_> {
    fn text(&mut self, text: &str) {
        if self.skipped.is_some() || text.is_empty() {
            return;
        }
        let text = entities::decode(text);
        if self.in_pre > 0 {
            self.out.push_str(&text);
            return;
        }
        for (at, word) in text.split(|c: char| c.is_ascii_whitespace()).enumerate() {
            if at > 0 {
                self.is_spaced = true;
            }
            if word.is_empty() {
                continue;
            }
            if self.is_spaced && !self.out.is_empty() && !self.out.ends_with(['\n', ' ']) {
                self.out.push(' ');
            }
            self.is_spaced = false;
            self.out.push_str(word);
        }
    }

    /// Deals with what begins with `<`, and returns what is behind it.
    fn markup<'h>(&mut self, html: &'h str) -> &'h str {
        let after = html.get(1..).unwrap_or_default();
        if let Some(comment) = after.strip_prefix("!--") {
            return comment.find("-->").and_then(|end| comment.get(end + 3..)).unwrap_or_default();
        }
        let is_end = after.starts_with('/');
        let named = after.strip_prefix('/').unwrap_or(after);
        if !named.starts_with(|c: char| c.is_ascii_alphabetic()) {
            if named.starts_with(['!', '?']) {
                return after.find('>').and_then(|end| after.get(end + 1..)).unwrap_or_default();
            }
            // No tag after all.
            self.text("<");
            return after;
        }
        let (tag, rest) = split_tag(named);
        let length =
            tag.find(|c: char| !c.is_ascii_alphanumeric() && c != '-').unwrap_or(tag.len());
        let (name, attributes) = tag.split_at(length);
        let name = name.get(..name.len().min(16)).unwrap_or_default().to_ascii_lowercase();
        if is_end {
            self.end(&name);
            return rest;
        }
        self.begin(&name, attributes);
        if !RAW.contains(&name.as_str()) || attributes.ends_with('/') {
            return rest;
        }
        let (raw, rest) = split_raw(rest, &name);
        if name == "title" && self.title.is_empty() {
            self.title = collapse(&entities::decode(raw));
        } else if name == "textarea" {
            self.text(raw);
        }
        rest
    }

    fn begin(&mut self, name: &str, attributes: &str) {
        if let Some((skipped, depth)) = &mut self.skipped {
            *depth += usize::from(*skipped == name && !attributes.ends_with('/'));
            return;
        }
        if let Some(left_out) = LEFT_OUT.iter().find(|left_out| **left_out == name) {
            // The contents of these are jumped over, with their end.
            let is_jumped = RAW.contains(left_out) || attributes.ends_with('/');
            self.skipped = (!is_jumped).then_some((left_out, 1));
            return;
        }
        if BLOCKS.contains(&name) {
            self.new_line();
        }
        match name {
            "br" => self.out.push('\n'),
            "h1" | "h2" | "h3" | "h4" | "h5" | "h6" => {
                let level = name.get(1..).and_then(|level| level.parse().ok()).unwrap_or(1);
                self.paragraph();
                self.out.push_str(&"#".repeat(level));
                self.out.push(' ');
            }
            "p" | "blockquote" | "table" => self.paragraph(),
            "hr" => self.out.push_str("---\n"),
            "pre" => {
                self.paragraph();
                self.out.push_str("```\n");
                self.in_pre += 1;
            }
            "ul" => self.lists.push(None),
            "ol" => self.lists.push(Some(0)),
            "li" => self.item(),
            "td" | "th" if !self.out.ends_with('\n') => self.out.push_str(" | "),
            "img" => {
                if let Some(alt) = attribute(attributes, "alt").filter(|alt| !alt.trim().is_empty())
                {
                    self.text(&format!("[image: {}]", collapse(&alt)));
                }
            }
            "a" => {
                self.close_link();
                let href = attribute(attributes, "href").and_then(|href| self.address(&href));
                if let Some(href) = href {
                    if self.is_spaced && !self.out.ends_with(['\n', ' ']) {
                        self.out.push(' ');
                    }
                    self.is_spaced = false;
                    self.link = Some((href, self.out.len()));
                }
            }
            _ => {}
        }
    }

    fn end(&mut self, name: &str) {
        if let Some((skipped, depth)) = &mut self.skipped {
            if *skipped == name {
                *depth -= 1;
                if *depth == 0 {
                    self.skipped = None;
                }
            }
            return;
        }
        match name {
            "a" => self.close_link(),
            "pre" if self.in_pre > 0 => {
                self.in_pre -= 1;
                self.new_line();
                self.out.push_str("```\n");
            }
            "ul" | "ol" => {
                self.lists.pop();
            }
            _ => {}
        }
        if BLOCKS.contains(&name) {
            self.new_line();
        }
    }

    fn item(&mut self) {
        let indent = self.lists.len().saturating_sub(1).min(INDENT);
        self.out.push_str(&"  ".repeat(indent));
        match self.lists.last_mut() {
            Some(Some(number)) => {
                *number = number.saturating_add(1);
                let _ = write!(self.out, "{number}. ");
            }
            _ => self.out.push_str("- "),
        }
    }

    /// The address of a link, if it leads anywhere.
    fn address(&self, href: &str) -> Option<String> {
        let href = href.trim();
        if href.is_empty() || href.starts_with('#') || href.len() > 2000 {
            return None;
        }
        let url = match self.base {
            Some(base) => base.join(href).ok()?,
            None => Url::parse(href).ok()?,
        };
        matches!(url.scheme(), "http" | "https" | "mailto").then(|| url.into())
    }

    fn close_link(&mut self) {
        let Some((href, start)) = self.link.take() else { return };
        let text = self.out.get(start..).unwrap_or_default().trim();
        // A link around several lines, or around nothing, is of use to nobody.
        if text.is_empty() || text.contains('\n') || text == href {
            return;
        }
        let linked = format!("[{text}]({href})");
        self.out.truncate(start);
        self.out.push_str(&linked);
    }

    fn new_line(&mut self) {
        self.close_link();
        self.is_spaced = false;
        if self.in_pre == 0 {
            let length = self.out.trim_end_matches(' ').len();
            self.out.truncate(length);
        }
        if !self.out.is_empty() && !self.out.ends_with('\n') {
            self.out.push('\n');
        }
    }

    fn paragraph(&mut self) {
        self.new_line();
        if !self.out.is_empty() && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    fn finish(mut self) -> String {
        self.close_link();
        let mut text = String::with_capacity(self.out.len());
        if !self.title.is_empty() {
            let _ = write!(text, "Title: {}\n\n", self.title);
        }
        // No more than one empty line in a row.
        let mut empty = 2;
        for line in self.out.lines() {
            let line = line.trim_end();
            empty = if line.is_empty() { empty + 1 } else { 0 };
            if empty <= 1 {
                text.push_str(line);
                text.push('\n');
            }
        }
        text.truncate(text.trim_end().len());
        text
    }
}

/// Splits behind the end of a tag. A `>` in a quoted attribute is not its end.
fn split_tag(html: &str) -> (&str, &str) {
    let mut quote = None;
    for (at, byte) in html.bytes().enumerate() {
        match (quote, byte) {
            (None, b'>') => {
                return (
                    html.get(..at).unwrap_or_default(),
                    html.get(at + 1..).unwrap_or_default(),
                );
            }
            // A quote begins a value, and is a letter elsewhere.
            (None, b'"' | b'\'') if html.get(..at).is_some_and(|s| s.trim_end().ends_with('=')) => {
                quote = Some(byte);
            }
            (Some(open), byte) if open == byte => quote = None,
            _ => {}
        }
    }
    if quote.is_some() {
        // A quote that never ends: the next `>` will have to do.
        if let Some(end) = html.find('>') {
            return (html.get(..end).unwrap_or_default(), html.get(end + 1..).unwrap_or_default());
        }
    }
    (html, "")
}

/// Splits before the end tag of an element that contains only text.
fn split_raw<'h>(html: &'h str, name: &str) -> (&'h str, &'h str) {
    let mut from = 0;
    while let Some(at) = html.get(from..).and_then(|rest| rest.find("</")) {
        let at = from + at;
        let tag = html.get(at + 2..at + 2 + name.len()).unwrap_or_default();
        if tag.eq_ignore_ascii_case(name) {
            let rest = html.get(at..).unwrap_or_default();
            let end = rest.find('>').map_or("", |end| rest.get(end + 1..).unwrap_or_default());
            return (html.get(..at).unwrap_or_default(), end);
        }
        from = at + 2;
    }
    (html, "")
}

/// The value of an attribute.
fn attribute(attributes: &str, name: &str) -> Option<String> {
    let mut rest = attributes;
    loop {
        rest = rest.trim_start_matches(|c: char| c.is_ascii_whitespace() || c == '/');
        let end = rest.find(|c: char| c.is_ascii_whitespace() || c == '=').unwrap_or(rest.len());
        if rest.is_empty() {
            return None;
        }
        let (own, after) = rest.split_at(end.max(1));
        let after = after.trim_start();
        let Some(value) = after.strip_prefix('=') else {
            rest = after;
            continue;
        };
        let value = value.trim_start();
        let quoted = value.chars().next().filter(|c| matches!(c, '"' | '\''));
        let (value, after) = match quoted {
            Some(quote) => {
                let inner = value.get(1..).unwrap_or_default();
                inner.split_once(quote).unwrap_or((inner, ""))
            }
            None => value.split_once(|c: char| c.is_ascii_whitespace()).unwrap_or((value, "")),
        };
        if own.eq_ignore_ascii_case(name) {
            return Some(entities::decode(value).into_owned());
        }
        rest = after;
    }
}

fn collapse(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use std::time::{Duration, Instant};

    use proptest::prelude::*;

    use super::*;

    fn text(html: &str) -> String {
        to_text(html, Url::parse("https://example.org/docs/").ok().as_ref(), 1 << 20)
    }

    #[test]
    fn a_page_becomes_text() {
        let html = r##"<!DOCTYPE html><html><head><title>A &amp; B</title>
            <style>p > a { color: red }</style><script>if (1 < 2) { "</p>" }</script></head>
            <body><nav><a href="#top">top</a></nav><h1>Head&shy;ing</h1>
            <p>One <b>two</b>,
            three &lt;four&gt; <a title="x > y" href='../a?b=1&amp;c=2'>link</a>.</p>
            <ul><li>a<li>b<ol><li>c</li></ol></ul><pre>  x
   y</pre><table><tr><td>1</td><td>2</td></tr></table>
            <img src=x alt="A cat"><svg><text>no</text></svg><!-- <p>no</p> --></body></html>"##;
        assert_eq!(
            text(html),
            "Title: A & B\n\ntop\n\n# Heading\n\nOne two, three <four> \
             [link](https://example.org/a?b=1&c=2).\n- a\n- b\n  1. c\n\n```\n  x\n   y\n```\n\n\
             1 | 2\n[image: A cat]"
        );
    }

    #[test]
    fn what_is_broken_does_no_harm() {
        for (html, expected) in [
            ("a < b", "a < b"),
            ("a <", "a <"),
            ("<p", ""),
            ("<a href=\"x>y", "[y](https://example.org/docs/x)"),
            ("<script>never ends", ""),
            ("</ul></ul><li>x", "- x"),
            ("<p>x</p", "x"),
            ("&#x41;&#65;&bogus;&#99999999;", "AA&bogus;\u{fffd}"),
        ] {
            assert_eq!(text(html), expected, "{html}");
        }
    }

    #[test]
    fn short_links_do_not_make_a_long_text() {
        let base = Url::parse(&format!("https://example.org/{}/", "a".repeat(1000))).ok();
        let text = to_text(&"<a href=x>t</a>".repeat(10_000), base.as_ref(), 10_000);
        assert!((10_000..30_000).contains(&text.len()), "{}", text.len());
    }

    #[test]
    fn time_grows_with_the_text() {
        for piece in ["<", "<a href=\"", "</", "<script>", "&", "<!--", "<p a='", "<a x=", "<svg>"]
        {
            let html = piece.repeat(200_000 / piece.len());
            let began = Instant::now();
            text(&html);
            assert!(began.elapsed() < Duration::from_secs(10), "{piece}: {:?}", began.elapsed());
        }
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]

        #[test]
        fn nothing_panics(html in "(<|>|/|=|\"|'|&|;|a|é| |\n|p|li|pre|href|script|!--|--|#|x41)*") {
            text(&html);
        }
    }
}
