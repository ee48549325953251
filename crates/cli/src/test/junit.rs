//! The report that continuous integration reads.

use std::fmt::Write as _;
use std::time::Duration;

use super::Outcome;
use crate::place::shown;

/// All suites in the XML of `JUnit`.
pub(super) fn xml(suites: &[Outcome]) -> String {
    let mut xml = String::from("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    let tests: usize = suites.iter().map(|suite| suite.tests.len()).sum();
    let failures: usize = suites.iter().map(Outcome::failed).sum();
    let errors = suites.iter().filter(|suite| suite.error.is_some()).count();
    let took: Duration = suites.iter().map(|suite| suite.took).sum();
    let _ = writeln!(
        xml,
        "<testsuites name=\"tollgate\" tests=\"{tests}\" failures=\"{failures}\" \
         errors=\"{errors}\" time=\"{:.3}\">",
        took.as_secs_f64()
    );
    for suite in suites {
        write_suite(&mut xml, suite);
    }
    xml.push_str("</testsuites>\n");
    xml
}

fn write_suite(xml: &mut String, suite: &Outcome) {
    let name = escaped(&shown(&suite.file));
    let errors = usize::from(suite.error.is_some());
    let _ = writeln!(
        xml,
        "  <testsuite name=\"{name}\" tests=\"{}\" failures=\"{}\" errors=\"{errors}\" \
         time=\"{:.3}\">",
        suite.tests.len() + errors,
        suite.failed(),
        suite.took.as_secs_f64()
    );
    if let Some(error) = &suite.error {
        let error = escaped(error);
        let _ = writeln!(
            xml,
            "    <testcase classname=\"{name}\" name=\"loads\">\n      \
             <error message=\"{error}\"/>\n    </testcase>"
        );
    }
    for test in &suite.tests {
        let line = test.line.map(|line| format!(" line=\"{line}\"")).unwrap_or_default();
        let start =
            format!("    <testcase classname=\"{name}\" name=\"{}\"{line}", escaped(&test.name));
        let _ = match &test.failure {
            None => writeln!(xml, "{start}/>"),
            Some(failure) => writeln!(
                xml,
                "{start}>\n      <failure message=\"{}\"/>\n    </testcase>",
                escaped(failure)
            ),
        };
    }
    xml.push_str("  </testsuite>\n");
}

/// A text inside an attribute. Characters that XML does not have are replaced.
fn escaped(text: &str) -> String {
    let mut safe = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => safe.push_str("&amp;"),
            '<' => safe.push_str("&lt;"),
            '>' => safe.push_str("&gt;"),
            '"' => safe.push_str("&quot;"),
            '\n' => safe.push_str("&#10;"),
            '\t' => safe.push_str("&#9;"),
            '\r' => safe.push_str("&#13;"),
            '\u{0}'..='\u{1f}' | '\u{fffe}' | '\u{ffff}' => safe.push('\u{fffd}'),
            other => safe.push(other),
        }
    }
    safe
}
