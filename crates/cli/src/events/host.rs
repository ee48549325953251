//! `tollgate events --host`: what becomes of answers under another agent.

use serde::Serialize;
use tollgate_core::Kind;
use tollgate_hosts::{Form, Forms, Host, HostEvent};

use crate::out::{Out, Table, styles, width, wrapped};

#[derive(Serialize)]
struct Row {
    event: Kind,
    #[serde(flatten)]
    of_host: HostEvent,
}

#[derive(Serialize)]
struct Rows {
    host: &'static str,
    events: Vec<Row>,
}

pub(super) fn tell(host: &Host, json: bool, out: &mut Out) {
    if json {
        let row = |event: &HostEvent| Row { event: event.kind, of_host: *event };
        let events: Vec<_> = host.events.iter().map(row).collect();
        out.json(&Rows { host: host.name, events });
        return;
    }
    out.line(format!("{0}{1}{0:#}", styles::HEADING, host.title));
    out.line("");
    let mut table = Table::default();
    table.row(["EVENT", "NAME", "REFUSE", "ASK", "ALLOW", "REWRITE", "TEXT", "GO ON"]);
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
    out.line("yes: the agent does it; told: the new result is told as the reason of a");
    out.line("refusal; terminal: it does it where it runs at a terminal, and is refused this");
    out.line("elsewhere; beside: what happened stays, and the model is told why it should not;");
    out.line("refused: it cannot, so the action is refused, with what to do instead; lost: it");
    out.line("cannot, and the action goes on; -: no hook can say this here; !: refused where");
    out.line("Tollgate cannot decide; (name): understood, and not asked for by");
    out.line("`tollgate install`; TEXT: for the model.");
    if !host.other_events.is_empty() {
        out.line("");
        let others = format!("Not passed to hooks: {}", host.other_events.join(", "));
        for line in wrapped(&others, width()) {
            out.line(line);
        }
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
