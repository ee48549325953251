//! `tollgate events --host`: what becomes of answers under another agent.

use serde::Serialize;
use tollgate_core::Kind;
use tollgate_hosts::{Form, Forms, Host, HostEvent};

use crate::out::{Out, Table, styles};

#[derive(Serialize)]
struct Row {
    event: Kind,
    #[serde(flatten)]
    of_host: HostEvent,
}

pub(super) fn tell(host: &Host, json: bool, out: &mut Out) {
    if json {
        let row = |event: &HostEvent| Row { event: event.kind, of_host: *event };
        out.json(&host.events.iter().map(row).collect::<Vec<_>>());
        return;
    }
    out.line(format!("{0}{1}{0:#}", styles::HEADING, host.title));
    out.line("");
    let mut table = Table::default();
    table.row(["EVENT", "NAME", "REFUSE", "ASK", "ALLOW", "REWRITE", "CONTEXT", "GO ON"]);
    for HostEvent { name, kind, gate, registered, forms } in host.events {
        let Forms { refuse, ask, allow, rewrite, context, resume } = forms;
        let mark = if *gate { "!" } else { "" };
        let name = if *registered { format!("{name}{mark}") } else { format!("({name}{mark})") };
        let forms =
            [refuse, ask, allow, rewrite, context, resume].map(|form| word(*form).to_owned());
        table.row([kind.name().to_owned(), name].into_iter().chain(forms));
    }
    out.lines(&table);
    out.line("");
    out.line("yes: the agent does it; told: the new result is told as the reason of a refusal;");
    out.line("terminal: it does it where it runs at a terminal, and is refused this elsewhere;");
    out.line(
        "refused: it cannot, so the action is refused, with what to do instead; lost: it cannot,",
    );
    out.line(
        "and the action goes on; -: no hook can say this here; !: refused where Tollgate cannot",
    );
    out.line("decide; (name): understood, and not asked for by `tollgate install`.");
    if !host.other_events.is_empty() {
        out.line("");
        out.line(format!("Not passed to hooks: {}", host.other_events.join(", ")));
    }
}

const fn word(form: Form) -> &'static str {
    match form {
        Form::Own => "yes",
        Form::Told => "told",
        Form::Terminal => "terminal",
        Form::Beside => "beside",
        Form::Refused => "refused",
        Form::Lost => "lost",
        Form::None => "-",
    }
}
