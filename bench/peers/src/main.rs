//! Tollgate and `antigravity-sdk-rust`, measured side by side in one run. See README.md.

mod ours;
mod peer;
mod timing;

use timing::{Work, side_by_side, threads_side_by_side};

/// The tool that no rule is about.
const OTHER: &str = "run_command";

/// Names as tools have them: of different lengths, some as long as [`OTHER`].
fn tools(count: usize) -> Vec<String> {
    let verbs = ["view", "edit", "list", "create", "delete", "search", "update", "send", "fetch"];
    let nouns = ["file", "issue", "dir", "branch", "page", "comment", "record", "event"];
    let verbs = verbs.iter().cycle();
    let names = verbs.zip(nouns.iter().cycle()).enumerate();
    names.take(count).map(|(n, (verb, noun))| format!("{verb}_{noun}_{n}")).collect()
}

/// Names that are all longer than [`OTHER`]. This is what suits the peer best: it compares the
/// name of each rule with the call's, and names of different lengths are told apart without
/// looking at a letter.
fn long_tools(count: usize) -> Vec<String> {
    tools(count).into_iter().map(|name| format!("the_tool_{name}")).collect()
}

/// Measures a row of the table, and prints it.
fn row(rounds: usize, name: &str, peer: Work, ours: Work) {
    let (peer, ours) = side_by_side(rounds, peer, ours);
    println!(
        "| {name:<40} | {:>9.1} | {:>9.1} | {:>9.2} | {:>9.1} | {:>9.1} | {:>9.2} |",
        peer.median,
        ours.median,
        peer.median / ours.median,
        peer.min,
        ours.min,
        peer.min / ours.min
    );
}

fn print_head(title: &str, peer: &str, ours: &str) {
    println!("\n{title}");
    println!("  peer: {peer}");
    println!("  ours: {ours}\n");
    println!(
        "| {:<40} | {:>9} | {:>9} | {:>9} | {:>9} | {:>9} | {:>9} |",
        "", "peer ns", "ours ns", "peer/ours", "peer min", "ours min", "peer/ours"
    );
    println!("|{:-<42}|{}", "", "----------:|".repeat(6));
}

fn policies(rounds: usize) {
    print_head(
        "Policies alone",
        "PolicyEnforcer through DynHook::pre_tool_call, a boxed future, as its runner calls it",
        "Policies::decide",
    );
    for count in [10, 100, 1000] {
        let tools = tools(count);
        row(
            rounds,
            &format!("policy, {count} rules, miss"),
            peer::policy(peer::denying(&tools), OTHER, true),
            ours::policy(ours::denying(&tools), OTHER, true),
        );
    }
    for count in [10, 100, 1000] {
        let tools = tools(count);
        let last = &tools[count - 1];
        row(
            rounds,
            &format!("policy, {count} rules, last rule hits"),
            peer::policy(peer::denying(&tools), last, false),
            ours::policy(ours::denying(&tools), last, false),
        );
    }
    for count in [10, 1000] {
        let tools = tools(count);
        let last = &tools[count - 1];
        row(
            rounds,
            &format!("policy, {count} rules, last rule allows"),
            peer::policy(peer::allowing(&tools), last, true),
            ours::policy(ours::allowing(&tools), last, true),
        );
    }
    for count in [10, 1000] {
        let tools = long_tools(count);
        row(
            rounds,
            &format!("policy, {count} rules, miss, other lengths"),
            peer::policy(peer::denying(&tools), OTHER, true),
            ours::policy(ours::denying(&tools), OTHER, true),
        );
    }
}

fn dispatches(rounds: usize) {
    print_head(
        "Whole dispatches",
        "HookRunner::dispatch_pre_tool_call",
        "Runner::dispatch of ToolPre, with its record",
    );
    for count in [10, 100, 1000] {
        let tools = tools(count);
        row(
            rounds,
            &format!("dispatch, {count} rules, miss"),
            peer::dispatch(&peer::runner([peer::denying(&tools)]), OTHER, true),
            ours::dispatch(&with_policies(&tools), OTHER, true),
        );
    }
    for count in [10, 100, 1000] {
        let tools = tools(count);
        let last = &tools[count - 1];
        row(
            rounds,
            &format!("dispatch, {count} rules, last rule hits"),
            peer::dispatch(&peer::runner([peer::denying(&tools)]), last, false),
            ours::dispatch(&with_policies(&tools), last, false),
        );
    }
    row(
        rounds,
        "dispatch, no hooks",
        peer::dispatch(&peer::runner([]), OTHER, true),
        ours::dispatch(&ours::runner([]), OTHER, true),
    );
    row(
        rounds,
        "dispatch, one quiet hook",
        peer::dispatch(&peer::runner([peer::quiet()]), OTHER, true),
        ours::dispatch(&ours::runner([ours::quiet()]), OTHER, true),
    );
}

fn with_policies(tools: &[String]) -> tollgate_core::Runner {
    ours::runner([ours::denying(tools).into_registration()])
}

/// Measures ours with 1,000 rules beside ours with 10.
fn growth(rounds: usize) {
    println!("\nOurs with 1,000 rules over ours with 10, side by side\n");
    println!("| {:<28} | {:>9} | {:>9} | {:>9} | {:>9} |", "", "10", "1,000", "ratio", "of mins");
    println!("|{:-<30}|{}", "", "----------:|".repeat(4));
    let [few, many] = [10, 1000].map(tools);
    let [last_of_few, last_of_many] = [&few, &many].map(|tools| &tools[tools.len() - 1]);
    let alone = |tools: &[String], tool, allowed| ours::policy(ours::denying(tools), tool, allowed);
    let whole =
        |tools: &[String], tool, allowed| ours::dispatch(&with_policies(tools), tool, allowed);
    for (name, few, many) in [
        ("policy, miss", alone(&few, OTHER, true), alone(&many, OTHER, true)),
        (
            "policy, last rule hits",
            alone(&few, last_of_few, false),
            alone(&many, last_of_many, false),
        ),
        ("dispatch, miss", whole(&few, OTHER, true), whole(&many, OTHER, true)),
        (
            "dispatch, last rule hits",
            whole(&few, last_of_few, false),
            whole(&many, last_of_many, false),
        ),
    ] {
        let (few, many) = side_by_side(rounds, few, many);
        println!(
            "| {name:<28} | {:>9.1} | {:>9.1} | {:>9.2} | {:>9.2} |",
            few.median,
            many.median,
            many.median / few.median,
            many.min / few.min
        );
    }
}

fn threads(rounds: usize) {
    println!(
        "\nTwo threads at once, one runner: ns for each dispatch of the slower thread (medians)"
    );
    println!("  peer: HookRunner::dispatch_pre_tool_call");
    println!("  ours: Runner::dispatch of ToolPre, with its record\n");
    println!(
        "| {:<17} | {:>9} | {:>9} | {:>9} | {:>9} | {:>9} | {:>9} | {:>9} |",
        "", "peer, 1", "peer, 2", "2 over 1", "ours, 1", "ours, 2", "2 over 1", "peer/ours"
    );
    println!("|{:-<19}|{}", "", "----------:|".repeat(7));
    let tools = tools(1000);
    let with_rules = peer::runner([peer::denying(&tools)]);
    let peers = [peer::runner([]), peer::runner([peer::quiet()]), with_rules];
    let ours = [ours::runner([]), ours::runner([ours::quiet()]), with_policies(&tools)];
    let names = ["no hooks", "one quiet hook", "1000 rules, miss"];
    for ((name, peer), ours) in names.iter().zip(&peers).zip(&ours) {
        let peer = || peer::dispatch(peer, OTHER, true);
        let ours = || ours::dispatch(ours, OTHER, true);
        let (peer, ours) = threads_side_by_side(rounds, &peer, &ours);
        println!(
            "| {name:<17} | {:>9.1} | {:>9.1} | {:>9.2} | {:>9.1} | {:>9.1} | {:>9.2} | {:>9.2} |",
            peer.one.median,
            peer.two.median,
            peer.two.median / peer.one.median,
            ours.one.median,
            ours.two.median,
            ours.two.median / ours.one.median,
            peer.two.median / ours.two.median
        );
    }
}

fn main() {
    let rounds = std::env::args().nth(1).map_or(1000, |rounds| {
        rounds.parse().ok().filter(|rounds| *rounds > 0).expect("the number of rounds")
    });
    println!("{rounds} rounds of about 0.2 ms each, peer and ours in turn; median and minimum.");
    println!("No payload is made while the clock runs. Rules deny, each an exact tool.");
    policies(rounds);
    dispatches(rounds);
    growth(rounds);
    // Each of these takes several times as long.
    threads((rounds / 5).max(1));
}
