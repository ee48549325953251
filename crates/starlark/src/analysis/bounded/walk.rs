//! Statements, variables, and repeating until nothing changes.

mod statement;

use std::collections::HashMap;

use starlark_syntax::codemap::Span;
use starlark_syntax::syntax::ast::{
    AssignTargetP, AstAssignTarget, AstExpr, AstStmt, DefP, ExprP, ParameterP, StmtP,
};

use super::value::{Amount, Val};
use super::{ALLOCATION, OUTWARD, Refusal, TICKS, WORK};
use crate::analysis::names::Names;
use crate::analysis::problem::range;
use crate::analysis::scope::NoPayload;

pub(super) use statement::is_text_or_list;

pub(super) type Outcome<T> = Result<T, Refusal>;

/// How often a loop can turn between two looks at the limits.
const WINDOW: u64 = 1_001;
/// How often anything can happen in a whole run.
const EVER: u64 = TICKS + 1_000;
/// After so many rounds the table has settled, or is taken as one that does not.
const ROUNDS: usize = 24;

/// What a number takes that does not fit 32 bits.
pub(super) const NUMBER: u64 = 64;
/// What an entry of a dict takes, while the dict grows.
pub(super) const ENTRY: u64 = 150;

/// A function of the script: its name, or `""` for what is outside functions.
pub(super) type In<'a> = &'a str;

pub(super) fn refuse<T>(span: Span, why: impl Into<String>) -> Outcome<T> {
    Err(Refusal { range: range(span), why: why.into() })
}

/// What is known of a variable after a round.
#[derive(Debug, Clone, PartialEq)]
struct Variable {
    held: Val,
    /// What is put into it, in place or by `+=`, over the whole run.
    added: Option<Val>,
    /// Whether all it is ever assigned was made on the spot.
    fresh: bool,
    /// Where it is changed in place.
    changed: Option<Span>,
}

/// The bytes of something, and the place that has the greatest share.
#[derive(Debug, Default)]
struct Sum {
    bytes: u64,
    share: u64,
    place: Option<Span>,
}

impl Sum {
    fn add(&mut self, bytes: u64, place: Span) {
        self.bytes = self.bytes.saturating_add(bytes);
        if bytes > self.share {
            self.share = bytes;
            self.place = Some(place);
        }
    }

    fn check(&self, most: u64, what: &str) -> Outcome<()> {
        match self.place {
            Some(place) if self.bytes > most => {
                let mebibytes = |bytes: u64| bytes.div_ceil(1 << 20);
                refuse(
                    place,
                    format!(
                        "it could {what} {} MiB at once, much of it here, and {} is the most",
                        mebibytes(self.bytes),
                        mebibytes(most),
                    ),
                )
            }
            _ => Ok(()),
        }
    }
}

pub(super) struct Walk<'a> {
    pub(super) names: &'a dyn Names,
    functions: HashMap<&'a str, &'a DefP<NoPayload>>,
    /// The names that each function binds, and how often.
    bound: HashMap<In<'a>, HashMap<&'a str, usize>>,
    /// The variables after the last round, and those of this one.
    before: HashMap<(In<'a>, &'a str), Variable>,
    now: HashMap<(In<'a>, &'a str), Variable>,
    /// How often each function is called, after the last round and in this one.
    calls_before: HashMap<In<'a>, u64>,
    calls: HashMap<In<'a>, u64>,
    returned_before: HashMap<In<'a>, Val>,
    returned: HashMap<In<'a>, Val>,
    /// The function this is in, how often it is called, and how often this place in it is reached.
    inside: In<'a>,
    called: u64,
    times: u64,
    /// Variables of the loops around, with their averages.
    sweeps: Vec<(&'a str, Val)>,
    /// Variables of the comprehensions around.
    comprehended: Vec<&'a str>,
    allocated: Sum,
    touched: Sum,
    outward: Sum,
}

pub(super) fn script<'a>(module: &'a AstStmt, names: &'a dyn Names) -> Outcome<()> {
    let mut walk = Walk::new(names);
    walk.define(module)?;
    let Some(handle) = walk.functions.get("handle").copied() else {
        return refuse(module.span, "`handle` is not defined by `def`");
    };
    walk.settle(module.span, |walk| {
        walk.enter("", 1);
        walk.statement(module)?;
        walk.calls.insert("handle", 1);
        for (place, parameter) in handle.params.iter().enumerate() {
            if let (Some(name), true) = (parameter.node.ident(), place < 2) {
                walk.bind("handle", &name.node.ident, Val::payload(), false);
            }
        }
        let mut names: Vec<&'a str> = walk.functions.keys().copied().collect();
        names.sort_unstable();
        for name in names {
            // One that nobody calls is compiled all the same, and constants are folded there.
            let called = walk.calls_before.get(name).copied().unwrap_or_default().max(1);
            if let Some(def) = walk.functions.get(name).copied() {
                walk.enter(name, called);
                walk.statement(&def.body)?;
            }
        }
        Ok(())
    })?;
    let decision = walk.returned.get("handle").copied().unwrap_or(Val::NOTHING);
    walk.outward.add(decision.size.most, handle.name.span);
    walk.within()
}

pub(super) fn condition<'a>(expression: &'a AstExpr, names: &'a dyn Names) -> Outcome<()> {
    let mut walk = Walk::new(names);
    walk.settle(expression.span, |walk| {
        walk.enter("", 1);
        walk.expression(expression).map(|_| ())
    })?;
    walk.within()
}

impl<'a> Walk<'a> {
    fn new(names: &'a dyn Names) -> Self {
        Walk {
            names,
            functions: HashMap::new(),
            bound: HashMap::new(),
            before: HashMap::new(),
            now: HashMap::new(),
            calls_before: HashMap::new(),
            calls: HashMap::new(),
            returned_before: HashMap::new(),
            returned: HashMap::new(),
            inside: "",
            called: 1,
            times: 1,
            sweeps: Vec::new(),
            comprehended: Vec::new(),
            allocated: Sum::default(),
            touched: Sum::default(),
            outward: Sum::default(),
        }
    }

    fn within(&self) -> Outcome<()> {
        self.allocated.check(ALLOCATION, "take")?;
        self.touched.check(WORK, "go over")?;
        self.outward.check(OUTWARD, "hand out")
    }

    /// Finds the functions, and what each binds.
    fn define(&mut self, module: &'a AstStmt) -> Outcome<()> {
        let mut outside = HashMap::new();
        count_bound(module, &mut outside);
        let mut statements = vec![module];
        while let Some(statement) = statements.pop() {
            match &statement.node {
                StmtP::Statements(inner) => statements.extend(inner),
                StmtP::Def(def) => {
                    let name = def.name.node.ident.as_str();
                    if outside.get(name) != Some(&1) {
                        return refuse(
                            def.name.span,
                            format!("`{name}` is defined more than once"),
                        );
                    }
                    if self.names.find(name).is_some() {
                        return refuse(def.name.span, format!("`{name}` hides what is built in"));
                    }
                    let mut bound = HashMap::new();
                    count_bound(&def.body, &mut bound);
                    for parameter in &def.params {
                        match &parameter.node {
                            ParameterP::Normal(name, _, _) => {
                                *bound.entry(name.node.ident.as_str()).or_default() += 1;
                            }
                            ParameterP::Slash | ParameterP::NoArgs => {}
                            ParameterP::Args(..) | ParameterP::KwArgs(..) => {
                                return refuse(parameter.span, "it takes any number of arguments");
                            }
                        }
                    }
                    self.functions.insert(name, def);
                    self.bound.insert(name, bound);
                }
                _ => {}
            }
        }
        for name in self.functions.keys() {
            outside.remove(name);
        }
        self.bound.insert("", outside);
        Ok(())
    }

    /// Repeats until nothing changes.
    fn settle(
        &mut self,
        whole: Span,
        mut round: impl FnMut(&mut Self) -> Outcome<()>,
    ) -> Outcome<()> {
        for _ in 0..ROUNDS {
            self.now.clear();
            self.calls.clear();
            self.returned.clear();
            (self.allocated, self.touched, self.outward) = Default::default();
            round(self)?;
            let settled = self.now == self.before
                && self.calls == self.calls_before
                && self.returned == self.returned_before;
            if settled {
                return self.unshared();
            }
            self.before.clone_from(&self.now);
            self.calls_before.clone_from(&self.calls);
            self.returned_before.clone_from(&self.returned);
        }
        refuse(whole, "what it computes could grow with each step")
    }

    /// Nothing is changed in place that could have another name.
    fn unshared(&self) -> Outcome<()> {
        let shared = self.now.iter().filter(|(_, variable)| !variable.fresh);
        let changed = shared.filter_map(|((_, name), variable)| Some((variable.changed?, name)));
        match changed.min_by_key(|(place, _)| place.begin()) {
            Some((place, name)) => {
                refuse(place, format!("`{name}` is changed, and could be part of something else"))
            }
            None => Ok(()),
        }
    }

    fn enter(&mut self, function: In<'a>, called: u64) {
        self.inside = function;
        self.called = called;
        self.times = called;
        self.sweeps.clear();
        self.comprehended.clear();
    }

    // What things take

    /// Charges what an operation allocates and touches.
    pub(super) fn charge(&mut self, allocated: Amount, touched: Amount, place: Span) {
        let window = self.times.min(WINDOW);
        let over = |amount: Amount| {
            amount.most.saturating_mul(window).min(amount.mean.saturating_mul(self.times))
        };
        let (allocated, touched) = (over(allocated), over(touched));
        self.allocated.add(allocated, place);
        self.touched.add(touched, place);
    }

    /// Charges what an operation takes beside the heap, where the limit does not see it: dicts and large numbers keep
    /// their contents there, and nothing is given back before the end.
    pub(super) fn charge_beside(&mut self, amount: Amount, place: Span) {
        let ever = amount.most.saturating_mul(self.times.min(EVER));
        self.allocated.add(ever.min(amount.mean.saturating_mul(self.times)), place);
    }

    /// Charges what leaves the script.
    pub(super) fn hand_out(&mut self, size: Amount, place: Span) {
        let ever = size.most.saturating_mul(self.times.min(EVER));
        self.outward.add(ever.min(size.mean.saturating_mul(self.times)), place);
        // It is converted on its way.
        self.charge(size.times(4), size.times(10), place);
    }

    // Variables

    fn key(&self, name: &'a str) -> Option<(In<'a>, &'a str)> {
        let binds =
            |function: &str| self.bound.get(function).is_some_and(|names| names.contains_key(name));
        if self.comprehended.contains(&name) || binds(self.inside) {
            Some((self.inside, name))
        } else if binds("") {
            Some(("", name))
        } else {
            None
        }
    }

    /// The bounds of a variable of the script, where a name is one.
    pub(super) fn read(&self, name: &'a str) -> Option<Val> {
        let key = self.key(name)?;
        if let Some((_, val)) = self.sweeps.iter().rev().find(|(sweep, _)| *sweep == name) {
            return Some(*val);
        }
        let variable = self.before.get(&key);
        Some(variable.map_or(Val::NOTHING, |variable| {
            let held = variable.held;
            variable.added.map_or(held, |added| held.with(added)).settled()
        }))
    }

    pub(super) fn is_function(&self, name: &str) -> bool {
        self.functions.contains_key(name)
    }

    pub(super) fn function(&self, name: &str) -> Option<&'a DefP<NoPayload>> {
        self.functions.get(name).copied()
    }

    fn variable(&mut self, function: In<'a>, name: &'a str) -> &mut Variable {
        self.now.entry((function, name)).or_insert(Variable {
            held: Val::NOTHING,
            added: None,
            fresh: true,
            changed: None,
        })
    }

    pub(super) fn bind(&mut self, function: In<'a>, name: &'a str, val: Val, fresh: bool) {
        let variable = self.variable(function, name);
        variable.held = variable.held.or(val.settled());
        variable.fresh &= fresh;
    }

    /// Something is put into what a variable holds, each time this place is reached.
    pub(super) fn add(&mut self, of: &'a AstExpr, val: Val, place: Span) -> Outcome<()> {
        let ExprP::Identifier(name) = &of.node else {
            return refuse(place, "it changes a part of something");
        };
        let name = name.node.ident.as_str();
        let Some((function, name)) = self.key(name) else {
            return refuse(place, format!("it changes `{name}`"));
        };
        self.put(function, name, val, place);
        Ok(())
    }

    fn put(&mut self, function: In<'a>, name: &'a str, val: Val, place: Span) {
        let times = self.times.min(EVER);
        let many = Val {
            size: Amount::flat(val.size.most.saturating_mul(times)),
            items: val.items.saturating_mul(times),
            ..val
        };
        let variable = self.variable(function, name);
        variable.added = Some(variable.added.map_or(many, |added| added.with(many)));
        variable.changed = variable.changed.or(Some(place));
        // What it outgrows stays on the heap: with each doubling all of it, so once more in the end.
        let cells = val.items.max(1).saturating_mul(times).saturating_mul(24);
        self.allocated.add(cells, place);
    }

    pub(super) fn call_function(&mut self, name: &'a str) -> Val {
        let calls = self.calls.entry(name).or_default();
        *calls = calls.saturating_add(self.times);
        self.returned_before.get(name).copied().unwrap_or(Val::NOTHING)
    }

    /// Runs something in a loop over a value.
    pub(super) fn over(
        &mut self,
        target: &'a AstAssignTarget,
        iterable: Val,
        body: impl FnOnce(&mut Self) -> Outcome<()>,
    ) -> Outcome<()> {
        let element = iterable.element();
        let outer = (self.times, self.sweeps.len());
        // Where it is itself different in each turn of a loop around, the average counts.
        self.times = self.times.saturating_mul(iterable.count_of_items().mean.max(1));
        self.loop_target(target, element)?;
        self.charge(Amount::flat(16), Amount::flat(64), target.span);
        body(self)?;
        self.times = outer.0;
        self.sweeps.truncate(outer.1);
        Ok(())
    }

    fn loop_target(&mut self, target: &'a AstAssignTarget, element: Val) -> Outcome<()> {
        match &target.node {
            AssignTargetP::Identifier(name) => {
                let name = name.node.ident.as_str();
                self.bind(self.inside, name, element, false);
                // The average holds only while nothing else is assigned to the name.
                let bindings =
                    self.bound.get(self.inside).and_then(|names| names.get(name)).copied();
                let comprehended = self.comprehended.iter().filter(|it| **it == name).count();
                if bindings.unwrap_or_default() + comprehended == 1 {
                    self.sweeps.push((name, element));
                } else {
                    let whole = self.read(name).unwrap_or(Val::NOTHING).or(element.settled());
                    self.sweeps.push((name, whole));
                }
                Ok(())
            }
            AssignTargetP::Tuple(targets) => {
                // Each part is at most as large as the whole, on average too.
                let part = Val {
                    size: Amount { most: element.item, mean: element.size.mean.min(element.item) },
                    items: element.deep,
                    ..element
                };
                targets.iter().try_for_each(|target| self.loop_target(target, part))
            }
            AssignTargetP::Index(_) | AssignTargetP::Dot(..) => {
                refuse(target.span, "a loop assigns to a part of something")
            }
        }
    }

    pub(super) fn comprehended(&mut self, target: &'a AstAssignTarget) {
        target.visit_lvalue(|name| self.comprehended.push(&name.node.ident));
    }

    pub(super) fn end_comprehension(&mut self, variables: usize) {
        self.comprehended.truncate(variables);
    }

    pub(super) fn comprehension_depth(&self) -> usize {
        self.comprehended.len()
    }
}

/// How often each name is bound, not counting what functions inside do.
fn count_bound<'a>(statement: &'a AstStmt, bound: &mut HashMap<&'a str, usize>) {
    let mut targets: Vec<&'a AstAssignTarget> = Vec::new();
    match &statement.node {
        StmtP::Assign(assign) => targets.push(&assign.lhs),
        StmtP::AssignModify(target, _, _) => targets.push(target),
        StmtP::For(each) => targets.push(&each.var),
        StmtP::Def(def) => {
            *bound.entry(def.name.node.ident.as_str()).or_default() += 1;
            return;
        }
        _ => {}
    }
    for target in targets {
        target.visit_lvalue(|name| *bound.entry(name.node.ident.as_str()).or_default() += 1);
    }
    statement.node.visit_stmt(|inner| count_bound(inner, bound));
}
