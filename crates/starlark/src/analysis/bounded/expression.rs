//! The rules for expressions.

use starlark_syntax::codemap::Span;
use starlark_syntax::lexer::TokenInt;
use starlark_syntax::syntax::ast::{AstExpr, AstLiteral, BinOp, ClauseP, ExprP, ForClause};

use super::value::{Amount, Kind, Val};
use super::walk::{ENTRY, NUMBER, Outcome, Walk, is_text_or_list, refuse};
use crate::analysis::scope::NoPayload;

impl<'a> Walk<'a> {
    pub(super) fn expression(&mut self, expression: &'a AstExpr) -> Outcome<Val> {
        let place = expression.span;
        // Whatever it is, its value may be new, and small.
        self.charge(Amount::flat(24), Amount::flat(16), place);
        match &expression.node {
            ExprP::Literal(literal) => literal_val(literal, place),
            ExprP::Identifier(name) => self.name(&name.node.ident, place),
            ExprP::Tuple(items) | ExprP::List(items) => {
                let mut all = Val { kind: Kind::Any, ..Val::NOTHING };
                for item in items {
                    all = all.with(self.expression(item)?.in_a_list(1));
                }
                self.charge(all.count_of_items().times(16).and(64), all.count_of_items(), place);
                Ok(all)
            }
            ExprP::Dict(entries) => {
                let mut all = Val { kind: Kind::Any, ..Val::NOTHING };
                for (key, value) in entries {
                    let key = self.expression(key)?;
                    let value = self.expression(value)?;
                    all = all.with(entry(key, value));
                }
                self.charge(Amount::flat(100), all.size, place);
                self.charge_beside(all.count_of_items().times(ENTRY), place);
                Ok(all)
            }
            ExprP::Dot(of, name) => {
                let of = self.expression(of)?;
                self.field(of, &name.node, place)
            }
            ExprP::Call(function, arguments) => self.call(function, &arguments.args, place),
            ExprP::Index(parts) => {
                let of = self.expression(&parts.0)?;
                let key = self.expression(&parts.1)?;
                self.charge(Amount::flat(32), of.size.plus(key.size), place);
                Ok(of.any_element())
            }
            ExprP::Slice(of, start, end, stride) => {
                let of = self.expression(of)?;
                for part in [start, end, stride].into_iter().flatten() {
                    self.expression(part)?;
                }
                let copy = of.size.plus(of.count_of_items().times(8)).and(32);
                self.charge(copy, of.size.times(4), place);
                Ok(Val { kind: Kind::Any, ..of })
            }
            ExprP::Not(of) => {
                self.expression(of)?;
                Ok(Val::fixed())
            }
            ExprP::Minus(of) | ExprP::Plus(of) => {
                let of = self.expression(of)?;
                self.charge(of.size.and(32), of.size, place);
                self.charge_beside(of.size, place);
                Ok(of)
            }
            ExprP::Op(left, op, right) => self.operation(left, *op, right, place),
            ExprP::If(parts) => {
                self.expression(&parts.0)?;
                let then = self.expression(&parts.1)?;
                Ok(then.or(self.expression(&parts.2)?))
            }
            ExprP::ListComprehension(item, first, rest) => {
                let all = self.comprehension(first, rest, &mut |walk| walk.expression(item))?;
                // As it grows, what it outgrows stays.
                self.charge(all.count_of_items().times(32).and(64), all.count_of_items(), place);
                Ok(all)
            }
            ExprP::DictComprehension(parts, first, rest) => {
                let all = self.comprehension(first, rest, &mut |walk| {
                    let key = walk.expression(&parts.0)?;
                    let value = walk.expression(&parts.1)?;
                    Ok(key.with(value))
                })?;
                self.charge(Amount::flat(100), all.size, place);
                self.charge_beside(all.count_of_items().times(ENTRY), place);
                Ok(all)
            }
            ExprP::FString(text) => {
                let mut size = Amount::flat(text.node.format.node.len() as u64);
                for part in &text.node.expressions {
                    size = size.plus(self.expression(part)?.written());
                }
                self.charge(size.and(32), size, place);
                Ok(Val::text(size))
            }
            ExprP::Lambda(_) => refuse(place, "it has a `lambda`"),
            ExprP::Index2(_) | ExprP::BitNot(_) => refuse(place, "nothing is known of this"),
        }
    }

    fn name(&mut self, name: &'a str, place: Span) -> Outcome<Val> {
        if let Some(val) = self.read(name) {
            return Ok(val);
        }
        match name {
            "True" | "False" | "None" => Ok(Val::fixed()),
            // In a condition these are given, not bound.
            "payload" | "event" if !self.is_function(name) => Ok(Val::payload()),
            _ => refuse(place, format!("it uses `{name}` without calling it")),
        }
    }

    fn operation(
        &mut self,
        left: &'a AstExpr,
        op: BinOp,
        right: &'a AstExpr,
        place: Span,
    ) -> Outcome<Val> {
        let one = self.expression(left)?;
        let two = self.expression(right)?;
        let numbers = || refuse(place, "it computes with what could be large numbers");
        match op {
            BinOp::And | BinOp::Or => Ok(one.or(two)),
            BinOp::Equal
            | BinOp::NotEqual
            | BinOp::Less
            | BinOp::Greater
            | BinOp::LessOrEqual
            | BinOp::GreaterOrEqual => {
                self.charge(Amount::flat(0), one.size.plus(two.size).times(2), place);
                Ok(Val::fixed())
            }
            BinOp::In | BinOp::NotIn => {
                self.search(two, one, place);
                Ok(Val::fixed())
            }
            BinOp::Add | BinOp::Subtract if one.is_number() && two.is_number() => {
                self.charge_beside(Amount::flat(NUMBER), place);
                match (one.kind, two.kind) {
                    (Kind::Count, Kind::Count) => numbers(),
                    _ => Ok(Val::count()),
                }
            }
            BinOp::Add | BinOp::BitOr => {
                let both = one.with(two);
                let copy = both.size.plus(both.count_of_items().times(8)).and(32);
                self.charge(copy, both.size, place);
                // Numbers without end, and dicts.
                if op == BinOp::BitOr {
                    self.charge_beside(both.size.plus(both.count_of_items().times(ENTRY)), place);
                } else if !is_text_or_list(left) && !is_text_or_list(right) {
                    self.charge_beside(both.size, place);
                }
                Ok(both)
            }
            BinOp::Subtract => {
                let both = one.with(two);
                self.charge(Amount::flat(32), both.size, place);
                self.charge_beside(both.size, place);
                Ok(both)
            }
            BinOp::Multiply => match (one.kind, two.kind) {
                (Kind::Small { most: one }, Kind::Small { most: two }) => {
                    self.charge_beside(Amount::flat(NUMBER), place);
                    Ok(Val::small(one.saturating_mul(two)))
                }
                _ => refuse(place, "it multiplies what could be a text, a list or a large number"),
            },
            BinOp::Percent => match &left.node {
                ExprP::Literal(AstLiteral::String(format)) => {
                    let parts = format.node.bytes().filter(|byte| *byte == b'%').count() as u64;
                    // Each argument is written once, and there is one for each part.
                    let size = two.written().and(400 * parts + format.node.len() as u64);
                    self.charge(size.and(32), size, place);
                    Ok(Val::text(size))
                }
                _ if one.is_number() && two.is_number() => {
                    self.charge_beside(Amount::flat(NUMBER), place);
                    Ok(one.or(two))
                }
                _ => refuse(place, "what stands before `%` is not a text that is written out here"),
            },
            BinOp::Divide if one.is_number() && two.is_number() => Ok(Val::fixed()),
            BinOp::FloorDivide if one.is_number() && two.is_number() => {
                self.charge_beside(Amount::flat(NUMBER), place);
                Ok(one.or(two))
            }
            BinOp::Divide
            | BinOp::FloorDivide
            | BinOp::BitAnd
            | BinOp::BitXor
            | BinOp::LeftShift
            | BinOp::RightShift => numbers(),
        }
    }

    /// Charges looking for something in something. The interpreter compares at each place of a text.
    pub(super) fn search(&mut self, within: Val, what: Val, place: Span) {
        let quadratic = within.size.most.saturating_mul(within.size.most) / 4;
        let compared = within.size.product(what.size).capped(quadratic);
        let compared = Amount { most: compared.most / 16, mean: compared.mean / 16 + 1 };
        let touched = compared.plus(within.size.times(2)).plus(what.size);
        self.charge(Amount::flat(0), touched, place);
    }

    fn comprehension(
        &mut self,
        first: &'a ForClause,
        rest: &'a [ClauseP<NoPayload>],
        item: &mut dyn FnMut(&mut Self) -> Outcome<Val>,
    ) -> Outcome<Val> {
        let over = self.expression(&first.over)?;
        let variables = self.comprehension_depth();
        self.comprehended(&first.var);
        for clause in rest {
            if let ClauseP::For(clause) = clause {
                self.comprehended(&clause.var);
            }
        }
        let mut made = Val::NOTHING;
        let mut turns = over.items;
        self.over(&first.var, over, |walk| {
            walk.clauses(rest, &mut turns, &mut |walk| {
                made = item(walk)?;
                Ok(())
            })
        })?;
        self.end_comprehension(variables);
        Ok(made.settled().in_a_list(turns))
    }

    fn clauses(
        &mut self,
        rest: &'a [ClauseP<NoPayload>],
        turns: &mut u64,
        item: &mut dyn FnMut(&mut Self) -> Outcome<()>,
    ) -> Outcome<()> {
        match rest {
            [] => item(self),
            [ClauseP::If(condition), rest @ ..] => {
                self.expression(condition)?;
                self.clauses(rest, turns, item)
            }
            [ClauseP::For(clause), rest @ ..] => {
                let over = self.expression(&clause.over)?;
                *turns = turns.saturating_mul(over.items);
                self.over(&clause.var, over, |walk| walk.clauses(rest, turns, item))
            }
        }
    }
}

/// A key and a value as what a dict holds.
pub(super) fn entry(key: Val, value: Val) -> Val {
    let both = key.or(value);
    Val {
        kind: Kind::Any,
        size: key.size.plus(value.size).and(8),
        items: 1,
        item: both.size.most.max(both.item),
        deep: both.items.max(both.deep),
    }
}

fn literal_val(literal: &AstLiteral, place: Span) -> Outcome<Val> {
    let written = u64::from(place.end().get() - place.begin().get());
    Ok(match literal {
        AstLiteral::Int(number) => match &number.node {
            TokenInt::I32(number) => Val::small(number.unsigned_abs().into()),
            TokenInt::BigInt(_) => Val::fixed().sized(Amount::flat(written.saturating_mul(2))),
        },
        AstLiteral::Float(_) => Val::fixed(),
        AstLiteral::String(text) => Val::text(Amount::flat(text.node.len() as u64)),
        AstLiteral::Bytes(_) | AstLiteral::Ellipsis => {
            return refuse(place, "nothing is known of this");
        }
    })
}
