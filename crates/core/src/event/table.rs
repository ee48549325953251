//! The table of events. Adding an event is a row here and a payload type in `payload.rs`; the
//! kinds, the typed chains, the methods of `Hook` and the JSON forms all follow from it.
//!
//! In a row, after the event's name in the words of the engine:
//!
//! * `hook`: the method of [`Hook`](crate::Hook) that receives it, `scope`: the context it gets,
//!   `subject`: what matchers look at (the event's own name, the tool call, or a field);
//! * `verdict`, `extra`, `patch`: what an answer to it can hold;
//! * `reask`: whether hooks are asked again when the payload was rewritten after they saw it;
//! * `rules`: for each system, the most a hook may do and what its failure does; `_` where that
//!   system has no such event. `hosts` are Claude Code, Codex and Gemini CLI, each of which has some
//!   of these events.

macro_rules! for_each_event {
    ($callback:ident) => {
        $callback! {
            /// A session begins. Hooks may add context for the model; all are awaited.
            SessionStart = "session.start" {
                hook: on_session_start, scope: SessionContext, subject: event,
                verdict: Observe, extra: Texts, patch: Never, reask: false,
                rules: [sdk (Inspect Open), hooks_json (Decide Open), harness (Decide Open),
                        polytoken (Decide Open), hosts (Decide Open), native (Decide Open)],
            }
            /// A session is over.
            SessionEnd = "session.end" {
                hook: on_session_end, scope: SessionContext, subject: event,
                verdict: Observe, extra: (), patch: Never, reask: false,
                rules: [sdk (Inspect Open), hooks_json _, harness (Inspect Open), polytoken _,
                        hosts (Inspect Open), native (Inspect Open)],
            }
            /// A prompt was submitted and the model has not seen it yet.
            TurnStart = "turn.start" {
                hook: pre_turn, scope: TurnContext, subject: event,
                verdict: Pass, extra: Texts, patch: PromptPatch, reask: true,
                rules: [sdk (Decide Close), hooks_json _, harness (Transform Close),
                        polytoken (Decide Open), hosts (Decide Close), native (Transform Close)],
            }
            /// The model is about to be called.
            ModelPre = "model.pre" {
                hook: pre_model_call, scope: OperationContext, subject: event,
                verdict: Attempt, extra: Injection, patch: Never, reask: false,
                rules: [sdk _, hooks_json (Decide Open), harness (Decide Close),
                        polytoken (Decide Close), hosts (Decide Close), native (Decide Close)],
            }
            /// The model has answered.
            ModelPost = "model.post" {
                hook: post_model_call, scope: OperationContext, subject: event,
                verdict: Observe, extra: (), patch: Never, reask: false,
                rules: [sdk _, hooks_json _, harness (Inspect Open), polytoken (Inspect Open),
                        hosts (Inspect Open), native (Inspect Open)],
            }
            /// The tool calls that the model asked for are done.
            InvocationEnd = "invocation.end" {
                hook: on_invocation_end, scope: OperationContext, subject: event,
                verdict: Flow, extra: Injection, patch: Never, reask: false,
                rules: [sdk _, hooks_json (Decide Open), harness _, polytoken _, hosts _,
                        native (Decide Open)],
            }
            /// A tool is about to run.
            ToolPre = "tool.pre" {
                hook: pre_tool_call, scope: OperationContext, subject: call,
                verdict: Gate, extra: Overrides, patch: ArgsPatch, reask: true,
                rules: [sdk (Transform Close), hooks_json (Transform Close),
                        harness (Transform Close), polytoken (Decide Close),
                        hosts (Transform Close), native (Transform Close)],
            }
            /// A tool has run.
            ToolPost = "tool.post" {
                hook: post_tool_call, scope: OperationContext, subject: call,
                verdict: Pass, extra: (), patch: ResultPatch, reask: true,
                rules: [sdk (Inspect Open), hooks_json (Inspect Open), harness (Transform Close),
                        polytoken (Inspect Open), hosts (Transform Close),
                        native (Transform Close)],
            }
            /// A tool has failed. The first hook with a value to use instead wins; any may rewrite the
            /// error.
            ToolError = "tool.error" {
                hook: on_tool_error, scope: OperationContext, subject: call,
                verdict: Recovery, extra: (), patch: ErrorPatch, reask: false,
                rules: [sdk (Transform Close), hooks_json (Inspect Open),
                        harness (Transform Close), polytoken (Inspect Open), hosts (Decide Open),
                        native (Transform Close)],
            }
            /// The agent asks the person something. The first hook with answers wins; where none
            /// has any, the question is refused.
            Interaction = "interaction" {
                hook: on_interaction, scope: OperationContext, subject: event,
                verdict: Reply, extra: (), patch: Never, reask: false,
                rules: [sdk (Transform Close), hooks_json _, harness _, polytoken _, hosts _,
                        native (Transform Close)],
            }
            /// The agent would hand back to the person. The first hook that wants it to go on wins.
            Stop = "stop" {
                hook: on_stop, scope: TurnContext, subject: event,
                verdict: Finish, extra: (), patch: Never, reask: false,
                rules: [sdk (Decide End), hooks_json (Decide Open), harness (Decide Close),
                        polytoken (Decide Close), hosts (Decide Close), native (Decide Close)],
            }
            /// A turn is over and its response is known.
            TurnEnd = "turn.end" {
                hook: post_turn, scope: TurnContext, subject: event,
                verdict: Finish, extra: (), patch: ResponsePatch, reask: false,
                rules: [sdk (Inspect Open), hooks_json _, harness (Transform Open), polytoken _,
                        hosts _, native (Transform Close)],
            }
            /// The history is about to be compacted. Hooks may add text before the summary.
            CompactionPre = "compaction.pre" {
                hook: pre_compaction, scope: OperationContext, subject: event,
                verdict: Hold, extra: Texts, patch: Never, reask: false,
                rules: [sdk _, hooks_json _, harness _, polytoken (Decide Close),
                        hosts (Decide Close), native (Decide Close)],
            }
            /// The history was compacted. Hooks may add text after the summary.
            CompactionPost = "compaction.post" {
                hook: on_compaction, scope: OperationContext, subject: event,
                verdict: Observe, extra: Texts, patch: Never, reask: false,
                rules: [sdk (Inspect Open), hooks_json _, harness _, polytoken (Decide Open),
                        hosts (Inspect Open), native (Decide Open)],
            }
            /// A notification would be raised.
            Notification = "notification" {
                hook: on_notification, scope: TurnContext, subject: event,
                verdict: Notice, extra: (), patch: Never, reask: false,
                rules: [sdk _, hooks_json _, harness _, polytoken (Decide Open),
                        hosts (Inspect Open), native (Decide Open)],
            }
            /// The agent's facet (its role and tools) has changed.
            FacetSwitch = "facet.switch" {
                hook: on_facet_switch, scope: TurnContext, subject: event,
                verdict: Observe, extra: (), patch: Never, reask: false,
                rules: [sdk _, hooks_json _, harness _, polytoken (Inspect Open), hosts _,
                        native (Inspect Open)],
            }
            /// A subagent has started.
            SubagentStart = "subagent.start" {
                hook: on_subagent_start, scope: OperationContext, subject: kind,
                verdict: Observe, extra: (), patch: Never, reask: false,
                rules: [sdk _, hooks_json _, harness _, polytoken (Inspect Open),
                        hosts (Inspect Open), native (Inspect Open)],
            }
            /// A subagent has finished. Hooks may refuse or rewrite its result.
            SubagentStop = "subagent.stop" {
                hook: on_subagent_stop, scope: OperationContext, subject: kind,
                verdict: Pass, extra: (), patch: ResultPatch, reask: true,
                rules: [sdk _, hooks_json _, harness (Transform Close), polytoken (Inspect Open),
                        hosts (Decide Close), native (Transform Close)],
            }
            /// Something went wrong that no other event is about: a model call, the agent itself.
            Failure = "error" {
                hook: on_error, scope: TurnContext, subject: event,
                verdict: Observe, extra: (), patch: Never, reask: false,
                rules: [sdk _, hooks_json _, harness (Inspect Open), polytoken _,
                        hosts (Inspect Open), native (Inspect Open)],
            }
        }
    };
}

pub(crate) use for_each_event;
