//! The rules for calls: methods, built-ins, and functions of the script.

use starlark_syntax::codemap::Span;
use starlark_syntax::syntax::ast::{
    ArgumentP, AstArgument, AstExpr, AstLiteral, ExprP, ParameterP,
};

use super::value::{Amount, Kind, Val};
use super::walk::{ENTRY, NUMBER, Outcome, Walk, refuse};
use super::{COMMAND, EFFECT, LARGEST_EFFECT, LARGEST_RISK, PAYLOAD, RISKS, STRUCT};
use crate::builtins::LARGEST_SUBSTITUTED;

/// An argument: its name, where it has one, what was written, and its bounds.
struct Given<'a> {
    name: Option<&'a str>,
    written: &'a AstExpr,
    val: Val,
}

/// The arguments of a call.
struct Arguments<'a>(Vec<Given<'a>>);

impl<'a> Arguments<'a> {
    fn at(&self, place: usize) -> Val {
        self.0.get(place).map_or(Val::NOTHING, |given| given.val)
    }

    /// The size of all together.
    fn size(&self) -> Amount {
        self.0.iter().fold(Amount::flat(0), |size, given| {
            size.plus(given.val.size).and(16 + given.name.map_or(0, str::len) as u64)
        })
    }

    /// The largest that any of them takes when written.
    fn written(&self) -> Amount {
        self.0.iter().fold(Amount::flat(0), |size, given| size.max(given.val.written()))
    }

    fn named(&self, name: &str) -> bool {
        self.0.iter().any(|given| given.name == Some(name))
    }

    /// The text of an argument that is a literal.
    fn literal(&self, place: usize) -> Option<&'a str> {
        match &self.0.get(place)?.written.node {
            ExprP::Literal(AstLiteral::String(text)) => Some(&text.node),
            _ => None,
        }
    }
}

impl<'a> Walk<'a> {
    pub(super) fn call(
        &mut self,
        function: &'a AstExpr,
        arguments: &'a [AstArgument],
        place: Span,
    ) -> Outcome<Val> {
        match &function.node {
            ExprP::Identifier(name) => {
                let name = name.node.ident.as_str();
                if self.read(name).is_some() {
                    return refuse(place, format!("it calls what the variable `{name}` holds"));
                }
                let given = self.arguments(arguments)?;
                if self.is_function(name) {
                    return self.own(name, &given, place);
                }
                self.built_in(name, &given, place)
            }
            ExprP::Dot(of, method) => {
                if let ExprP::Identifier(owner) = &of.node {
                    let owner = owner.node.ident.as_str();
                    let given_by_us = self.read(owner).is_none() && !self.is_function(owner);
                    let built_in = self.names.find(owner).filter(|it| !it.attributes.is_empty());
                    if given_by_us && built_in.is_some() {
                        let given = self.arguments(arguments)?;
                        return self.of_namespace(owner, &method.node, &given, place);
                    }
                }
                self.method(of, &method.node, arguments, place)
            }
            _ => refuse(place, "it calls what an expression gives"),
        }
    }

    fn arguments(&mut self, arguments: &'a [AstArgument]) -> Outcome<Arguments<'a>> {
        let mut given = Vec::with_capacity(arguments.len());
        for argument in arguments {
            let (name, written) = match &argument.node {
                ArgumentP::Positional(value) => (None, value),
                ArgumentP::Named(name, value) => (Some(name.node.as_str()), value),
                ArgumentP::Args(_) | ArgumentP::KwArgs(_) => {
                    return refuse(argument.span, "it spreads out arguments");
                }
            };
            given.push(Given { name, written, val: self.expression(written)? });
        }
        Ok(Arguments(given))
    }

    /// A function of the script.
    fn own(&mut self, name: &'a str, given: &Arguments<'a>, place: Span) -> Outcome<Val> {
        let Some(def) = self.function(name) else {
            return refuse(place, "nothing is known of this");
        };
        for (at, argument) in given.0.iter().enumerate() {
            let parameters = def.params.iter().filter_map(|parameter| match &parameter.node {
                ParameterP::Normal(name, _, _) => Some(name.node.ident.as_str()),
                _ => None,
            });
            let parameter = match argument.name {
                Some(wanted) => parameters.into_iter().find(|name| *name == wanted),
                None => parameters.into_iter().nth(at),
            };
            // One that does not fit raises an error.
            if let Some(parameter) = parameter {
                self.bind(name, parameter, argument.val, false);
            }
        }
        self.charge(Amount::flat(64), Amount::flat(500), place);
        Ok(self.call_function(name))
    }

    fn built_in(&mut self, name: &str, given: &Arguments<'a>, place: Span) -> Outcome<Val> {
        let first = given.at(0);
        let cells = first.count_of_items();
        Ok(match name {
            "len" => {
                self.charge(Amount::flat(0), first.size, place);
                Val::small(first.size.most.max(first.items))
            }
            "bool" | "type" => Val::text(Amount::flat(24)),
            "str" | "repr" => {
                let size = first.written();
                self.charge(size.and(32), size, place);
                Val::text(size)
            }
            "int" => {
                // From text it is quadratic.
                let work = first.size.product(first.size);
                let work = Amount { most: work.most / 16, mean: work.mean / 16 + 1 };
                self.charge(Amount::flat(32), work.plus(first.size), place);
                self.charge_beside(first.size.and(400), place);
                if first.is_number() { first } else { Val::fixed().sized(first.size.and(400)) }
            }
            "float" | "abs" => {
                self.charge(first.size.and(32), first.size, place);
                self.charge_beside(first.size, place);
                first.sized(first.size.and(24))
            }
            "hash" | "ord" => {
                self.charge(Amount::flat(0), first.size, place);
                self.charge_beside(Amount::flat(NUMBER), place);
                Val::count()
            }
            "chr" => Val::text(Amount::flat(4)),
            "any" | "all" => {
                self.charge(Amount::flat(0), cells.times(8), place);
                Val::fixed()
            }
            "list" | "tuple" | "reversed" | "dict" => {
                let all = given.0.iter().fold(Val::NOTHING, |all, it| all.with(it.val.settled()));
                let items = all.items.saturating_add(given.0.len() as u64);
                let all = Val { size: all.size.max(given.size()), items, ..all };
                self.charge(all.count_of_items().times(16).and(100), all.size, place);
                if name == "dict" {
                    self.charge_beside(all.count_of_items().times(ENTRY), place);
                }
                all
            }
            "sorted" | "min" | "max" if given.named("key") => {
                return refuse(place, "a function is called for each element");
            }
            "sorted" => {
                self.charge(cells.times(24).and(64), first.size.times(20), place);
                Val { kind: Kind::Any, ..first }
            }
            "min" | "max" => {
                let either = given.0.iter().fold(Val::NOTHING, |all, it| all.or(it.val));
                self.charge(Amount::flat(0), given.size().times(2), place);
                either.settled().or(either.any_element())
            }
            "enumerate" => {
                self.charge(cells.times(80).and(64), cells.times(8), place);
                tuples(first, 1, 24)
            }
            "zip" => {
                let all = given.0.iter().fold(Val::NOTHING, |all, it| all.with(it.val));
                self.charge(all.count_of_items().times(80).and(64), all.count_of_items(), place);
                tuples(all, given.0.len() as u64, 8)
            }
            "range" => return self.range(given, place),
            "allow" => Val::fixed(),
            "block" | "ask" | "modify" => {
                self.hand_out(given.size(), place);
                first.sized(first.size.and(32))
            }
            "fail" | "log" | "print" => {
                self.hand_out(given.size(), place);
                Val::fixed()
            }
            _ => return refuse(place, format!("nothing is known of what `{name}` takes")),
        })
    }

    fn range(&mut self, given: &Arguments<'a>, place: Span) -> Outcome<Val> {
        let mut turns = 0_u64;
        let step = given.0.get(2).is_some();
        for argument in given.0.iter().take(2) {
            let Kind::Small { most } = argument.val.kind else {
                return refuse(place, "the end of this `range` is not known");
            };
            turns = turns.saturating_add(most);
        }
        if step {
            // A step makes it shorter, whatever it is.
            self.charge(Amount::flat(0), Amount::flat(16), place);
        }
        self.charge(Amount::flat(64), Amount::flat(64), place);
        Ok(Val::small(turns).in_a_list(turns))
    }

    fn of_namespace(
        &mut self,
        owner: &str,
        method: &str,
        given: &Arguments<'a>,
        place: Span,
    ) -> Outcome<Val> {
        let first = given.at(0);
        Ok(match (owner, method) {
            ("http" | "tools", _) => {
                return refuse(place, format!("it reaches out with `{owner}.{method}`"));
            }
            ("log", _) | ("metrics", "incr" | "set") | ("cache", "set") => {
                self.hand_out(given.size(), place);
                Val::fixed()
            }
            ("cache", "get") | ("metrics", "snapshot") | ("hooks", _) => {
                let result = Val::payload();
                self.charge(Amount::flat(0), result.size.times(30).plus(given.size()), place);
                self.charge_beside(result.size.times(30), place);
                given.0.iter().skip(1).fold(result, |result, it| result.or(it.val))
            }
            ("json", "encode") => {
                let size = first.written();
                self.charge(size.and(32), size, place);
                Val::text(size)
            }
            ("json", "decode") => {
                self.charge(Amount::flat(64), first.size.times(40), place);
                self.charge_beside(first.size.times(40), place);
                let result = Val {
                    kind: Kind::Any,
                    size: first.size,
                    items: first.size.most,
                    item: first.size.most,
                    deep: first.size.most,
                };
                given.0.iter().skip(1).fold(result, |result, it| result.or(it.val))
            }
            ("re", "sub") => {
                let Some(pattern) = given.literal(0) else {
                    return refuse(place, "the pattern is not written out here");
                };
                let text = given.at(2).size;
                let weight = weight(pattern);
                let largest = LARGEST_SUBSTITUTED as u64;
                let grown = text.and(1).product(given.at(1).size).plus(text).capped(largest);
                self.charge(grown.and(1024), text.times(weight).and(weight).plus(grown), place);
                Val::text(grown)
            }
            ("re" | "glob", _) => {
                let Some(pattern) = given.literal(0) else {
                    return refuse(place, "the pattern is not written out here");
                };
                let text = given.at(1).size;
                let weight = weight(pattern);
                self.charge(text.and(1024), text.times(weight).and(weight), place);
                let groups = pattern.bytes().filter(|byte| *byte == b'(').count() as u64 + 1;
                Val::text(text).in_a_list(groups)
            }
            ("shell", _) | ("effects", "of") => {
                // Its result is held to the same bound as a payload.
                let result = structs();
                self.charge(Amount::flat(0), looked_into(first.size), place);
                self.charge_beside(result.size.times(10), place);
                result
            }
            ("effects", "risks") => {
                let size = Amount::flat(RISKS * LARGEST_RISK);
                self.charge(Amount::flat(0), looked_into(first.size), place);
                self.charge_beside(size.times(10), place);
                Val { kind: Kind::Any, size, items: RISKS, item: LARGEST_RISK, deep: 0 }
            }
            ("effects", _) => {
                self.charge(Amount::flat(0), looked_into(first.size), place);
                Val::fixed()
            }
            ("secrets", "mask") => {
                // A mask may be longer than what it stands for, but not than that and its name.
                let size = first.size.times(3).and(32);
                self.charge(Amount::flat(64), searched(first.size), place);
                self.charge_beside(size.times(40), place);
                Val { size, item: size.most, ..first }
            }
            ("secrets", _) => {
                self.charge(Amount::flat(2048), searched(first.size), place);
                Val::text(Amount::flat(32)).in_a_list(KINDS_OF_SECRETS)
            }
            ("path", _) => {
                let size = given.size();
                self.charge(size.times(4).and(128), size.times(4), place);
                Val::text(size.and(64))
            }
            _ => {
                return refuse(place, format!("nothing is known of what `{owner}.{method}` takes"));
            }
        })
    }

    fn method(
        &mut self,
        of: &'a AstExpr,
        method: &str,
        arguments: &'a [AstArgument],
        place: Span,
    ) -> Outcome<Val> {
        let this = self.expression(of)?;
        let given = self.arguments(arguments)?;
        match self.changing_method(of, this, method, &given, place)? {
            Some(val) => Ok(val),
            None => self.asking_method(of, this, method, &given, place),
        }
    }

    /// A method that leaves what it is called on as it is.
    fn asking_method(
        &mut self,
        of: &'a AstExpr,
        this: Val,
        method: &str,
        given: &Arguments<'a>,
        place: Span,
    ) -> Outcome<Val> {
        let first = given.at(0);
        let size = this.size;
        let cells = this.count_of_items();
        Ok(match method {
            "get" => {
                self.charge(Amount::flat(0), first.size.and(32), place);
                this.any_element().or(given.at(1)).or(Val::fixed())
            }
            "keys" | "values" => {
                self.charge(cells.times(16).and(64), cells, place);
                Val { kind: Kind::Any, ..this }
            }
            "items" => {
                self.charge(cells.times(80).and(64), cells, place);
                tuples(this, 2, 0)
            }
            "startswith" | "endswith" | "isalnum" | "isalpha" | "isdigit" | "islower"
            | "isspace" | "istitle" | "isupper" => {
                self.charge(Amount::flat(0), size.plus(first.size), place);
                Val::fixed()
            }
            "find" | "rfind" | "index" | "rindex" | "count" => {
                self.search(this, first, place);
                Val::small(size.most.max(this.items))
            }
            "strip" | "lstrip" | "rstrip" => {
                let work = size.product(first.size).plus(size);
                self.charge(size.and(32), work, place);
                Val::text(size)
            }
            "removeprefix" | "removesuffix" => {
                self.charge(size.and(32), size.plus(first.size), place);
                Val::text(size)
            }
            "lower" | "upper" | "title" | "capitalize" => {
                let grown = size.times(3);
                self.charge(grown.and(32), grown, place);
                Val::text(grown)
            }
            "split" | "rsplit" | "splitlines" => {
                self.search(this, first, place);
                self.charge(size.times(40).and(80), size.times(4), place);
                let parts = size.and(1);
                Val {
                    kind: Kind::Any,
                    size: size.times(9).and(9),
                    items: parts.most,
                    item: size.most,
                    deep: 0,
                }
            }
            "partition" | "rpartition" => {
                self.search(this, first, place);
                self.charge(size.plus(first.size).and(128), size, place);
                let parts = Val::text(size.plus(first.size));
                Val { items: 3, item: parts.size.most, size: parts.size.and(24), ..parts }
            }
            "replace" => {
                self.search(this, first, place);
                // At most before each character and at the end.
                let grown = size.and(1).product(given.at(1).size).plus(size);
                self.charge(grown.and(32), grown, place);
                Val::text(grown)
            }
            "join" => {
                let separators = first.count_of_items().product(size);
                let joined = first.size.plus(separators);
                self.charge(joined.and(32), joined, place);
                Val::text(joined)
            }
            "format" => {
                let ExprP::Literal(AstLiteral::String(format)) = &of.node else {
                    return refuse(
                        place,
                        "what `.format` is called on is not a text written out here",
                    );
                };
                let fields = format.node.bytes().filter(|byte| *byte == b'{').count() as u64;
                let filled = given.written().times(fields).and(format.node.len() as u64);
                self.charge(filled.and(32), filled, place);
                Val::text(filled)
            }
            _ => return refuse(place, format!("nothing is known of what `.{method}` takes")),
        })
    }

    /// A method that changes what it is called on.
    fn changing_method(
        &mut self,
        of: &'a AstExpr,
        this: Val,
        method: &str,
        given: &Arguments<'a>,
        place: Span,
    ) -> Outcome<Option<Val>> {
        let first = given.at(0);
        Ok(Some(match method {
            "append" => {
                self.charge(Amount::flat(16), Amount::flat(16), place);
                self.add(of, first.in_a_list(1), place)?;
                Val::fixed()
            }
            "insert" => {
                self.charge(Amount::flat(16), this.count_of_items().times(8), place);
                self.add(of, given.at(1).in_a_list(1), place)?;
                Val::fixed()
            }
            "extend" => {
                let added = first.count_of_items();
                self.charge(added.times(16), added.times(8), place);
                self.add(of, first.settled(), place)?;
                Val::fixed()
            }
            "pop" | "remove" | "clear" => {
                self.charge(Amount::flat(0), this.size.times(2).plus(first.size), place);
                self.add(of, Val { kind: Kind::Any, ..Val::NOTHING }, place)?;
                this.any_element().or(given.at(1)).or(Val::fixed())
            }
            _ => return Ok(None),
        }))
    }
}

/// What `shell.parse` and `effects.of` hand back: values with fields, in lists.
fn structs() -> Val {
    Val { items: PAYLOAD / 16, deep: PAYLOAD / 16, ..Val::payload() }
}

/// What it takes to look into a command, which is parsed twice and gone through. A part of the payload has at most
/// [`COMMAND`] bytes where this is asked.
fn looked_into(text: Amount) -> Amount {
    let text = if text.most <= PAYLOAD { text.capped(COMMAND) } else { text };
    text.times(500).and(10_000)
}

/// What it takes to look for all kinds of secrets.
fn searched(text: Amount) -> Amount {
    text.times(100).and(1000)
}

/// More kinds than there are.
const KINDS_OF_SECRETS: u64 = 64;

/// The fields of what `shell.parse` and `effects.of` hand back. No other value has attributes of
/// these names, so that they cannot be methods.
const FIELDS: &[&str] = &[
    "access",
    "argv",
    "by",
    "commands",
    "destroys",
    "exact",
    "host",
    "kind",
    "known",
    "level",
    "list",
    "name",
    "path",
    "place",
    "program",
    "reach",
    "reason",
    "redirects",
    "script",
    "sends",
    "sure",
    "target",
    "text",
    "tree",
    "unknown",
    "via",
    "what",
    "why",
];

impl Walk<'_> {
    /// A field of a value.
    pub(super) fn field(&mut self, of: Val, name: &str, place: Span) -> Outcome<Val> {
        if !FIELDS.contains(&name) {
            return refuse(place, "it takes a method without calling it");
        }
        self.charge(Amount::flat(0), Amount::flat(64), place);
        // It is at most as large as the whole, on average too.
        let most = of.item.min(of.size.most);
        let size = Amount { most, mean: of.size.mean.min(most) };
        let field = Val { kind: Kind::Any, size, items: of.deep, ..of };
        Ok(match name {
            "commands" => Val { items: PAYLOAD / STRUCT, ..field },
            // What is in these has no lists in it.
            "list" => Val { items: PAYLOAD / EFFECT, item: LARGEST_EFFECT, deep: 0, ..field },
            "unknown" => Val { items: PAYLOAD / STRUCT, item: LARGEST_EFFECT, deep: 0, ..field },
            _ => field,
        })
    }
}

/// As many tuples as there are elements, each with so many of them, and something of this size.
fn tuples(of: Val, parts: u64, with: u64) -> Val {
    let beside = with + 16 * parts;
    Val {
        kind: Kind::Any,
        size: of.size.plus(of.count_of_items().times(beside)),
        items: of.items,
        item: of.item.saturating_mul(parts).saturating_add(beside),
        deep: of.deep.max(parts + 1),
    }
}

/// How many steps a pattern can take for each byte of a text.
fn weight(pattern: &str) -> u64 {
    let mut weight = pattern.len() as u64 + 1;
    // Counted repetitions multiply what they repeat.
    for counted in pattern.split('{').skip(1) {
        let inside = counted.split('}').next().unwrap_or_default();
        for number in inside.split(',') {
            if let Ok(number) = number.trim().parse::<u64>() {
                weight = weight.saturating_mul(number.max(1));
            }
        }
    }
    weight
}
