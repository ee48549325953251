//! The functions of `policy`.
//!
//! They take any value and look at it themselves: the language's own words for a value of the wrong
//! type have the whole value in them, which may be as large as the file can make it.

// The macros of the language's crate want things as they want them.
#![allow(
    clippy::unnecessary_wraps,
    clippy::needless_pass_by_value,
    clippy::elidable_lifetime_names,
    clippy::panic
)]

use std::fmt;

use allocative::Allocative;
use starlark::any::ProvidesStaticType;
use starlark::environment::GlobalsBuilder;
use starlark::eval::Evaluator;
use starlark::starlark_module;
use starlark::starlark_simple_value;
use starlark::values::list::{AllocList, ListRef};
use starlark::values::none::NoneType;
use starlark::values::tuple::TupleRef;
use starlark::values::{
    NoSerialize, StarlarkPagablePanic, StarlarkValue, Value, ValueLike as _, starlark_value,
};

use super::effects::DoesValue;
use super::{Effect, LARGEST_RULES, MOST_RULES, Making, RuleSpec, kept_as};

/// A rule, as the file holds it: its place among all that were made.
#[derive(Debug, ProvidesStaticType, NoSerialize, Allocative, StarlarkPagablePanic)]
struct RuleValue(usize);

starlark_simple_value!(RuleValue);

#[starlark_value(type = "rule")]
impl<'v> StarlarkValue<'v> for RuleValue {}

impl fmt::Display for RuleValue {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "<rule {}>", self.0)
    }
}

type Eval<'v, 'a, 'e, 'b> = &'b mut Evaluator<'v, 'a, 'e>;

#[starlark_module]
pub(super) fn register(builder: &mut GlobalsBuilder) {
    /// Lets calls of a tool through.
    fn allow<'v>(
        tool: Value<'v>,
        when: Option<Value<'v>>,
        reason: Option<Value<'v>>,
        name: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<Value<'v>> {
        Call("policy.allow").rule(Effect::Allow, tool, when, reason, name, eval)
    }

    /// Blocks calls of a tool.
    fn deny<'v>(
        tool: Value<'v>,
        when: Option<Value<'v>>,
        reason: Option<Value<'v>>,
        name: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<Value<'v>> {
        Call("policy.deny").rule(Effect::Deny, tool, when, reason, name, eval)
    }

    /// Has the host ask a person about calls of a tool.
    fn ask_user<'v>(
        tool: Value<'v>,
        handler: Option<Value<'v>>,
        when: Option<Value<'v>>,
        reason: Option<Value<'v>>,
        name: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<Value<'v>> {
        let call = Call("policy.ask_user");
        call.no_handler(handler)?;
        call.rule(Effect::Ask, tool, when, reason, name, eval)
    }

    /// Lets every call through that no other rule is about.
    fn allow_all<'v>(eval: &mut Evaluator<'v, '_, '_>) -> anyhow::Result<Value<'v>> {
        let at = at(eval);
        Call("policy.allow_all").made(RuleSpec::AllowAll { at }, eval)
    }

    /// Blocks every call that no other rule is about.
    fn deny_all<'v>(eval: &mut Evaluator<'v, '_, '_>) -> anyhow::Result<Value<'v>> {
        let at = at(eval);
        Call("policy.deny_all").made(RuleSpec::DenyAll { at }, eval)
    }

    /// Lets calls of a server's tools through.
    fn allow_mcp<'v>(
        server: Value<'v>,
        tools: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<Value<'v>> {
        Call("policy.allow_mcp").mcp(Effect::Allow, server, tools, eval)
    }

    /// Blocks calls of a server's tools.
    fn deny_mcp<'v>(
        server: Value<'v>,
        tools: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<Value<'v>> {
        Call("policy.deny_mcp").mcp(Effect::Deny, server, tools, eval)
    }

    /// Has the host ask a person about calls of a server's tools.
    fn ask_user_mcp<'v>(
        server: Value<'v>,
        tools: Option<Value<'v>>,
        handler: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<Value<'v>> {
        let call = Call("policy.ask_user_mcp");
        call.no_handler(handler)?;
        call.mcp(Effect::Ask, server, tools, eval)
    }

    /// Lets everything through but commands, about which the host asks.
    fn confirm_run_command<'v>(
        handler: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<Value<'v>> {
        let call = Call("policy.confirm_run_command");
        call.no_handler(handler)?;
        let at = at(eval);
        call.made_list(RuleSpec::ConfirmRunCommand { at }, eval)
    }

    /// Keeps tools that touch paths inside some folders.
    fn workspace_only<'v>(
        roots: Value<'v>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<Value<'v>> {
        let call = Call("policy.workspace_only");
        let roots = match roots.unpack_str() {
            Some(root) => vec![root.to_owned()],
            None => call.texts("roots", roots)?,
        };
        if let Some(root) = roots.iter().find(|root| !is_plain(root)) {
            anyhow::bail!(
                "{call}: `{root}` is no plain path: write it out in full, or from the project's \
                 folder on, which is `.`"
            );
        }
        let at = at(eval);
        call.made_list(RuleSpec::WorkspaceOnly { roots, at }, eval)
    }

    /// Lets tools through that only read, and has the host ask about all others.
    fn safe_defaults<'v>(
        handler: Option<Value<'v>>,
        eval: &mut Evaluator<'v, '_, '_>,
    ) -> anyhow::Result<Value<'v>> {
        let call = Call("policy.safe_defaults");
        call.no_handler(handler)?;
        let at = at(eval);
        call.made_list(RuleSpec::SafeDefaults { at }, eval)
    }

    /// Puts the rules of a list in force, and no others.
    fn enforce<'v>(rules: Value<'v>, eval: &mut Evaluator<'v, '_, '_>) -> anyhow::Result<NoneType> {
        let call = Call("policy.enforce");
        let making = call.making(eval)?;
        let mut enforced = making.enforced.borrow_mut();
        let enforced = enforced.get_or_insert_default();
        let wrong = |value: Value<'_>| {
            anyhow::anyhow!(
                "{call} takes a list of rules, or of lists of them; this has a value of type `{}` \
                 in it",
                value.get_type()
            )
        };
        let rules = items(rules).ok_or_else(|| call.wrong("rules", "a list of rules", rules))?;
        for item in rules {
            let nested = items(*item).unwrap_or_else(|| std::slice::from_ref(item));
            for rule in nested {
                let rule = rule.downcast_ref::<RuleValue>().ok_or_else(|| wrong(*rule))?;
                if enforced.len() >= MOST_RULES {
                    anyhow::bail!("{call}: a file may have {MOST_RULES} rules in force");
                }
                enforced.push(rule.0);
            }
        }
        Ok(NoneType)
    }
}

/// A call of a builder, by the name of the builder.
#[derive(Clone, Copy)]
struct Call(&'static str);

impl fmt::Display for Call {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.0)
    }
}

impl Call {
    fn rule<'v>(
        self,
        effect: Effect,
        tool: Value<'v>,
        when: Option<Value<'v>>,
        reason: Option<Value<'v>>,
        name: Option<Value<'v>>,
        eval: Eval<'v, '_, '_, '_>,
    ) -> anyhow::Result<Value<'v>> {
        let tool = self.text("tool", tool)?;
        let reason = self.optional_text("reason", reason)?;
        let name = self.optional_text("name", name)?;
        let when = when.filter(|when| !when.is_none());
        let does = when.and_then(|when| Some(when.downcast_ref::<DoesValue>()?.0.clone()));
        if let (Some(does), Effect::Allow) = (when.filter(|_| does.is_some()), effect) {
            anyhow::bail!(
                "{self}: `{does}` cannot be what allows a call: it would also allow everything else \
                 that the call does"
            );
        }
        let when = match when.filter(|_| does.is_none()) {
            Some(when) => Some(self.condition(when, eval)?),
            None => None,
        };
        let at = at(eval);
        self.made(RuleSpec::Rule { effect, tool, when, does, reason, name, at }, eval)
    }

    fn mcp<'v>(
        self,
        effect: Effect,
        server: Value<'v>,
        tools: Option<Value<'v>>,
        eval: Eval<'v, '_, '_, '_>,
    ) -> anyhow::Result<Value<'v>> {
        let server = self.text("server", server)?;
        let tools = match tools.filter(|tools| !tools.is_none()) {
            Some(tools) => Some(self.texts("tools", tools)?),
            None => None,
        };
        let at = at(eval);
        self.made_list(RuleSpec::Mcp { effect, server, tools, at }, eval)
    }

    /// Keeps a condition, and says under which number.
    fn condition<'v>(self, when: Value<'v>, eval: Eval<'v, '_, '_, '_>) -> anyhow::Result<usize> {
        if !matches!(when.get_type(), "function" | "native_function") {
            let wanted = "a function of the arguments, such as `lambda args: …`, or a condition \
                          such as `writes_under(…)`";
            return Err(self.wrong("when", wanted, when));
        }
        let making = self.making(eval)?;
        let place = making.conditions.get();
        if place >= MOST_RULES {
            anyhow::bail!("{self}: a file may have {MOST_RULES} conditions");
        }
        making.conditions.set(place + 1);
        eval.module().set(&kept_as(place), when);
        Ok(place)
    }

    /// Keeps a rule. The value is the rule.
    fn made<'v>(self, spec: RuleSpec, eval: Eval<'v, '_, '_, '_>) -> anyhow::Result<Value<'v>> {
        let making = self.making(eval)?;
        let size = making.size.get().saturating_add(spec.size());
        let mut rules = making.rules.borrow_mut();
        if rules.len() >= MOST_RULES {
            anyhow::bail!("{self}: a file may make {MOST_RULES} rules");
        }
        if size > LARGEST_RULES {
            anyhow::bail!(
                "{self}: the texts of all rules of a file may have {} KiB together",
                LARGEST_RULES / 1024
            );
        }
        making.size.set(size);
        rules.push(spec);
        Ok(eval.heap().alloc(RuleValue(rules.len() - 1)))
    }

    /// Keeps rules of which the original has a list. So `[…] + policy.safe_defaults()` works.
    fn made_list<'v>(
        self,
        spec: RuleSpec,
        eval: Eval<'v, '_, '_, '_>,
    ) -> anyhow::Result<Value<'v>> {
        let rule = self.made(spec, eval)?;
        Ok(eval.heap().alloc(AllocList([rule])))
    }

    fn making<'a>(self, eval: &Evaluator<'_, 'a, '_>) -> anyhow::Result<&'a Making> {
        making(eval).ok_or_else(|| {
            anyhow::anyhow!("{self} makes rules when the file is loaded, not in a condition")
        })
    }

    fn no_handler(self, handler: Option<Value<'_>>) -> anyhow::Result<()> {
        match handler.filter(|handler| !handler.is_none()) {
            None => Ok(()),
            Some(_) => anyhow::bail!("{self}: {}", super::check::NO_HANDLERS),
        }
    }

    fn text(self, parameter: &str, value: Value<'_>) -> anyhow::Result<String> {
        match value.unpack_str() {
            Some(text) => Ok(text.to_owned()),
            None => Err(self.wrong(parameter, "a text", value)),
        }
    }

    fn optional_text(self, parameter: &str, value: Option<Value<'_>>) -> anyhow::Result<String> {
        match value.filter(|value| !value.is_none()) {
            Some(value) => self.text(parameter, value),
            None => Ok(String::new()),
        }
    }

    fn texts(self, parameter: &str, value: Value<'_>) -> anyhow::Result<Vec<String>> {
        let wrong = || self.wrong(parameter, "a list of texts", value);
        let items = items(value).ok_or_else(wrong)?;
        if items.len() > MOST_RULES {
            anyhow::bail!("{self}: `{parameter}` may have {MOST_RULES} texts");
        }
        let text = |item: &Value<'_>| match item.unpack_str() {
            Some(text) => Ok(text.to_owned()),
            None => Err(anyhow::anyhow!(
                "{self}: `{parameter}` is a list of texts; this has a value of type `{}` in it",
                item.get_type()
            )),
        };
        items.iter().map(text).collect()
    }

    fn wrong(self, parameter: &str, wanted: &str, value: Value<'_>) -> anyhow::Error {
        let got = value.get_type();
        anyhow::anyhow!("{self}: `{parameter}` is {wanted}; this is a value of type `{got}`")
    }
}

/// What is being made, while the file is loaded.
pub(super) fn making<'a>(eval: &Evaluator<'_, 'a, '_>) -> Option<&'a Making> {
    eval.extra.and_then(|extra| extra.downcast_ref::<Making>())
}

/// What a list or tuple has in it.
fn items<'a, 'v>(value: Value<'v>) -> Option<&'a [Value<'v>]>
where
    'v: 'a,
{
    match ListRef::from_value(value) {
        Some(list) => Some(list.content()),
        None => TupleRef::from_value(value).map(TupleRef::content),
    }
}

/// Where the builder is called.
fn at(eval: &Evaluator<'_, '_, '_>) -> usize {
    eval.call_stack_top_location().map_or(0, |place| place.span.begin().get() as usize)
}

/// Whether a root says where it is without knowing who asks.
pub(super) fn is_plain(root: &str) -> bool {
    !root.is_empty()
        && !root.starts_with('~')
        && !root.contains('\0')
        && !root.get(..5).is_some_and(|start| start.eq_ignore_ascii_case("file:"))
}
