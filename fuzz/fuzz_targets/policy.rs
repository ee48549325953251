//! Compiled policies against the documentation: rules sorted by level, one look at each, plain
//! string comparisons.

#![no_main]

use arbitrary::{Arbitrary, Result, Unstructured};
use libfuzzer_sys::fuzz_target;
use tollgate_core::event::ToolCall;
use tollgate_core::policy::{
    AskHandler, AskRequest, Effect, McpServer, Otherwise, Outcome, OutcomeKind, Policies,
    PolicyError, Rule,
};
use tollgate_core::target::{Reading, Target};
use tollgate_core::tools;
use tollgate_fuzz::{Names, block_on, dispatch, is_plain, meanings, means, means_nothing, runner};

/// What people write in rules.
const WRITTEN: &[&str] = &[
    "*",
    "a/*",
    "a/b/*",
    "a/b",
    "a/b/c",
    "a//b",
    "edit_file",
    "replace_file_content",
    "multi_replace_file_content",
    "RUN_COMMAND",
    "run_command",
    "start_subagent",
    "invoke_subagent",
    "own",
];
/// Names of servers and tools, such that their compounds meet those above.
const WORDS: &[&str] = &["a", "b", "c", "a/b", "b/c", "/b", "own"];
/// What is no name, though somebody will try.
const ODD: &[&str] = &["", "/", "/*", "*/*", "*", "a/", "/b", "b/*", "a/*"];

#[derive(Debug, Clone, Copy, Arbitrary)]
enum Says {
    Yes,
    No,
    /// Whether it is the tool `b`: the one condition that looks at the call.
    IsB,
    Fails,
}

impl Says {
    fn about(self, call: &ToolCall) -> std::result::Result<bool, &'static str> {
        match self {
            Self::Yes => Ok(true),
            Self::No => Ok(false),
            Self::IsB => Ok(call.name == "b"),
            Self::Fails => Err("out of order"),
        }
    }
}

#[derive(Debug)]
struct RuleInput {
    target: Target,
    effect: Effect,
    condition: Option<Says>,
    handler: Option<Says>,
    waits: bool,
    reason: &'static str,
    name: &'static str,
}

fn word(u: &mut Unstructured<'_>, of: &[&'static str]) -> Result<&'static str> {
    u.choose(of).copied()
}

/// A name, odd ones included: a caller may call a tool as it likes.
fn some_name(u: &mut Unstructured<'_>) -> Result<&'static str> {
    match u.int_in_range(0..=7)? {
        0 => word(u, ODD),
        1..=4 => word(u, WORDS),
        _ => word(u, WRITTEN),
    }
}

/// What a rule is about. Rules about what is no name are refused, so they are rare.
fn some_target(u: &mut Unstructured<'_>) -> Result<Target> {
    let (words, written) = if u.ratio(1, 24)? { (ODD, ODD) } else { (WORDS, WRITTEN) };
    Ok(match u.int_in_range(0..=5)? {
        0 => Target::Server(word(u, words)?.to_owned()),
        1 => Target::Tool(word(u, words)?.to_owned()),
        2 => Target::Mcp { server: word(u, words)?.to_owned(), tool: word(u, words)?.to_owned() },
        _ => Target::parse(word(u, written)?),
    })
}

impl<'a> Arbitrary<'a> for RuleInput {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        Ok(Self {
            target: some_target(u)?,
            effect: *u.choose(&[Effect::Deny, Effect::Ask, Effect::Allow])?,
            condition: u.arbitrary()?,
            // So are questions that nobody can put.
            handler: if u.ratio(1, 32)? { None } else { Some(u.arbitrary()?) },
            waits: u.arbitrary()?,
            reason: word(u, &["", "", "because"])?,
            name: word(u, &["", "", "rule"])?,
        })
    }
}

impl RuleInput {
    fn build(&self) -> Rule {
        let mut rule =
            Rule::new(self.target.clone(), self.effect).reason(self.reason).named(self.name);
        if let Some(says) = self.condition {
            rule = if self.waits {
                rule.when_async(move |call| std::future::ready(says.about(call)))
            } else {
                rule.when(move |call| says.about(call))
            };
        }
        if let Some(says) = self.handler {
            rule = rule.handler(if self.waits {
                AskHandler::new_async(move |ask: &AskRequest<'_>| {
                    std::future::ready(says.about(ask.call))
                })
            } else {
                AskHandler::new(move |ask| says.about(ask.call))
            });
        }
        rule
    }

    /// The row and the column of the table of levels.
    fn level(&self) -> (u8, u8) {
        let row = match &self.target {
            Target::Tool(_) | Target::Mcp { .. } => 1,
            Target::Written(text) if !text.ends_with("/*") => 1,
            Target::Written(_) | Target::Server(_) => 2,
            Target::Any => 3,
        };
        let column = match self.effect {
            Effect::Deny => 1,
            Effect::Ask => 2,
            Effect::Allow => 3,
        };
        (row, column)
    }

    fn label(&self) -> String {
        if self.name.is_empty() { self.target_text() } else { self.name.to_owned() }
    }

    fn target_text(&self) -> String {
        match &self.target {
            Target::Any => "*".to_owned(),
            Target::Server(server) => format!("{server}/*"),
            Target::Tool(name) => name.clone(),
            Target::Mcp { server, tool } => format!("{server}/{tool}"),
            Target::Written(text) => text.clone(),
        }
    }

    fn names_server(&self) -> bool {
        !matches!(self.target, Target::Any | Target::Tool(_))
    }
}

#[derive(Debug)]
struct Input {
    rules: Vec<RuleInput>,
    servers: Option<Vec<McpServer>>,
    otherwise: Otherwise,
    names: Names,
    calls: Vec<ToolCall>,
}

impl<'a> Arbitrary<'a> for Input {
    fn arbitrary(u: &mut Unstructured<'a>) -> Result<Self> {
        let mut rules = Vec::new();
        for _ in 0..u.int_in_range(0..=10)? {
            rules.push(u.arbitrary()?);
        }
        let servers = if u.ratio(7, 8)? { Some(some_servers(u)?) } else { None };
        let otherwise = if u.arbitrary()? { Otherwise::Closed } else { Otherwise::Open };
        let names = if u.arbitrary()? { Names::AsWritten } else { Names::OfTheTable };
        let mut calls = Vec::new();
        for _ in 0..=u.int_in_range(0..=3)? {
            calls.push(some_call(u)?);
        }
        Ok(Self { rules, servers, otherwise, names, calls })
    }
}

fn some_servers(u: &mut Unstructured<'_>) -> Result<Vec<McpServer>> {
    let mut servers = Vec::new();
    for _ in 0..u.int_in_range(0..=3)? {
        let name = if u.ratio(1, 8)? { some_name(u)? } else { word(u, WORDS)? };
        let server = McpServer::new(name);
        let tools = [some_name(u)?, some_name(u)?];
        servers.push(match u.int_in_range(0..=7)? {
            0..=2 => server.enabled_tools(tools),
            3..=5 => server.disabled_tools(tools),
            6 => server,
            _ => server.enabled_tools(tools).disabled_tools(tools),
        });
    }
    Ok(servers)
}

fn some_call(u: &mut Unstructured<'_>) -> Result<ToolCall> {
    let mut call = ToolCall::new(some_name(u)?);
    if u.arbitrary()? {
        call = call.server(some_name(u)?);
    }
    if u.ratio(1, 3)? {
        for _ in 0..=u.int_in_range(0..=2)? {
            let (server, tool) = (some_name(u)?.to_owned(), some_name(u)?.to_owned());
            call.readings.push(Reading { server, tool });
        }
    }
    Ok(call)
}

/// What the documentation says.
struct Reference<'a> {
    /// By level; inside a level as they were given.
    rules: Vec<&'a RuleInput>,
    servers: &'a [McpServer],
    otherwise: Otherwise,
    names: Names,
}

/// A server and a tool.
type Meaning<'a> = (Option<&'a str>, &'a str);

/// What is said about one meaning of a call, before anybody is asked.
enum Said<'a> {
    Nothing,
    Refused(Outcome),
    Ask(&'a RuleInput),
    Allowed(&'a RuleInput),
}

fn outcome(kind: OutcomeKind, rule: Option<String>, message: String) -> Outcome {
    Outcome { kind, message, rule: rule.map(Into::into) }
}

fn failed(label: String) -> Outcome {
    let message = format!("Policy evaluation failed for policy '{label}': out of order");
    outcome(OutcomeKind::EvaluationFailed, Some(label), message)
}

impl<'a> Reference<'a> {
    fn new(input: &'a Input) -> std::result::Result<Self, PolicyError> {
        let mut rules: Vec<_> = input.rules.iter().collect();
        rules.sort_by_key(|rule| rule.level());
        if input.names == Names::OfTheTable
            && let Some(rule) = rules.iter().find(|rule| means_nothing(&rule.target))
        {
            let (rule, target) = (rule.label(), rule.target_text());
            return Err(PolicyError::NeverMatches { rule, target });
        }
        if input.servers.is_none()
            && let Some(rule) = rules.iter().find(|rule| rule.names_server())
        {
            return Err(PolicyError::ServersRequired { rule: rule.label() });
        }
        let unanswerable =
            |rule: &&&RuleInput| rule.effect == Effect::Ask && rule.handler.is_none();
        if let Some(rule) = rules.iter().find(unanswerable) {
            return Err(PolicyError::MissingHandler { rule: rule.label() });
        }
        let servers = input.servers.as_deref().unwrap_or_default();
        for (place, server) in servers.iter().enumerate() {
            let name = server.name.clone();
            if name.is_empty() {
                return Err(PolicyError::UnnamedServer);
            }
            if servers[..place].iter().any(|earlier| earlier.name == name && earlier != server) {
                return Err(PolicyError::DuplicateServer { server: name });
            }
            if server.enabled_tools.is_some() && server.disabled_tools.is_some() {
                return Err(PolicyError::EnabledAndDisabled { server: name });
            }
        }
        Ok(Self { rules, servers, otherwise: input.otherwise, names: input.names })
    }

    /// Whether the server offers the tool.
    fn offers(&self, server: &str, tool: &str) -> bool {
        let has = |tools: &Vec<String>| tools.iter().any(|one| one == tool);
        self.servers.iter().filter(|known| known.name == server).all(|known| {
            known.enabled_tools.as_ref().is_none_or(has)
                && !known.disabled_tools.as_ref().is_some_and(has)
        })
    }

    /// What the first rule that applies says.
    fn say(&self, (server, name): Meaning<'_>, call: &ToolCall, is_word: bool) -> Said<'a> {
        if let Some(server) = server
            && !self.offers(server, name)
        {
            let message = format!("Tool '{name}' of MCP server '{server}' is not enabled.");
            let rule = Some(format!("{server}/{name}"));
            return Said::Refused(outcome(OutcomeKind::Denied, rule, message));
        }
        for &rule in &self.rules {
            // Without a server, a word for several tools is itself none of "all tools".
            let is_none = is_word && server.is_none() && rule.target == Target::Any;
            if is_none || !means(&rule.target, self.names, server, name) {
                continue;
            }
            match rule.condition.map_or(Ok(true), |says| says.about(call)) {
                Ok(true) => {}
                Ok(false) => continue,
                Err(_) => return Said::Refused(failed(rule.label())),
            }
            return match rule.effect {
                Effect::Allow => Said::Allowed(rule),
                Effect::Ask => Said::Ask(rule),
                Effect::Deny => {
                    let label = rule.label();
                    let message = match rule.reason {
                        "" => format!("Denied by policy '{label}'."),
                        reason => reason.to_owned(),
                    };
                    Said::Refused(outcome(OutcomeKind::Denied, Some(label), message))
                }
            };
        }
        Said::Nothing
    }

    fn or_default(&self, said: Said<'a>, call: &ToolCall) -> Said<'a> {
        match (said, self.otherwise) {
            (Said::Nothing, Otherwise::Closed) => {
                let message = format!("No policy allows tool '{}'.", call.name);
                Said::Refused(outcome(OutcomeKind::Denied, None, message))
            }
            (said, _) => said,
        }
    }

    fn ask(&self, rule: &RuleInput, call: &ToolCall) -> Outcome {
        let label = rule.label();
        match rule.handler.map(|says| says.about(call)) {
            Some(Ok(true)) => outcome(OutcomeKind::UserApproved, Some(label), String::new()),
            Some(Ok(false)) => {
                let name = &call.name;
                let message = match rule.reason {
                    "" => format!("User denied tool '{name}' (policy '{label}')."),
                    reason => reason.to_owned(),
                };
                outcome(OutcomeKind::UserDenied, Some(label), message)
            }
            Some(Err(_)) => failed(label),
            None => unreachable!("rules that ask without a handler are refused"),
        }
    }

    /// A call by one word for several servers and tools is refused where any reading is, asked
    /// about once where any asks, and allowed where all are. A rule about the word itself
    /// speaks for the readings about which no rule says anything.
    fn decide(&self, call: &ToolCall) -> Outcome {
        let meanings = meanings(call);
        let mut said = Vec::new();
        if let [only] = meanings.as_slice() {
            said.push(self.or_default(self.say(*only, call, false), call));
        } else {
            let word = self.say(meanings[0], call, true);
            let readings = meanings[1..].iter().map(|reading| self.say(*reading, call, false));
            if let Said::Nothing = word {
                said.extend(readings.map(|said| self.or_default(said, call)));
            } else {
                let readings = readings.filter(|said| !matches!(said, Said::Nothing));
                said.extend(std::iter::once(word).chain(readings));
            }
        }
        let refused = said.iter().find_map(|said| match said {
            Said::Refused(outcome) => Some(outcome),
            _ => None,
        });
        if let Some(refused) = refused {
            return refused.clone();
        }
        if let Some(Said::Ask(rule)) = said.iter().find(|said| matches!(said, Said::Ask(_))) {
            return self.ask(rule, call);
        }
        let allowed = said.iter().map(|said| match said {
            Said::Allowed(rule) => Some(rule.label()),
            _ => None,
        });
        match allowed.collect::<Option<Vec<_>>>().as_deref() {
            Some([first, ..]) => outcome(OutcomeKind::Allowed, Some(first.clone()), String::new()),
            _ => outcome(OutcomeKind::NoRule, None, String::new()),
        }
    }
}

fuzz_target!(|input: Input| {
    let rules = input.rules.iter().map(RuleInput::build);
    let mut builder = Policies::builder().rules(rules).otherwise(input.otherwise);
    if input.names == Names::AsWritten {
        builder = builder.exact_names();
    }
    let built = match &input.servers {
        Some(servers) => builder.servers(servers.iter().cloned()).build(),
        None => builder.build(),
    };
    let (policies, reference) = match (built, Reference::new(&input)) {
        (Ok(policies), Ok(reference)) => (policies, reference),
        // Of several rules that are wrong in the same way, either may be named.
        (Err(built), Err(expected)) => {
            return assert_eq!(
                std::mem::discriminant(&built),
                std::mem::discriminant(&expected),
                "{built}, {expected}"
            );
        }
        (Ok(_), Err(expected)) => panic!("accepted, but should be refused: {expected}"),
        (Err(built), Ok(_)) => panic!("refused, but should be accepted: {built}"),
    };
    let runner = runner().policies(policies.clone()).build().expect("policies can be registered");
    for call in input.calls.iter().filter(|call| is_plain(call)) {
        let expected = reference.decide(call);
        let decided = block_on(policies.decide(call));
        assert_eq!(decided, expected, "{call:?}");

        // A name that only looks like a known one is refused before anybody is asked.
        if call.server.as_deref().is_none_or(str::is_empty)
            && tools::lookalike(&call.name).is_some()
        {
            continue;
        }
        let dispatched = dispatch(&runner, call);
        assert_eq!(dispatched.reason(), expected.message, "{call:?}");
        let permit = dispatched.permit();
        assert_eq!(permit.is_granted(), expected.is_allowed(), "{call:?}");
        assert_eq!(permit.is_refused(), !expected.is_allowed(), "{call:?}");
    }
});
