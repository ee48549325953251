//! What the tools do that direct the agent itself.

use std::sync::Arc;

use serde_json::{Map, Value, json};
use tollgate_core::OperationContext;
use tollgate_core::event::{Choice, Interaction, Question, Responses};
use tollgate_core::hook::BoxFuture;
use tollgate_core::verdict::Reply;
use tollgate_tools::control::{self, AskPermission, AskQuestion, PermissionAction};
use tollgate_tools::{Output, Spec, read_args};

use crate::permission::ResourceKind;
use crate::person::Consent;
use crate::session::{Actor, Session};

impl Session {
    /// Makes a call of a tool that directs the agent. Boxed, as a subagent makes calls of its own.
    pub(crate) fn control<'a>(
        self: &'a Arc<Self>,
        actor: &'a Actor,
        operation: &'a OperationContext,
        name: &'static str,
        args: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<Output, String>> {
        Box::pin(async move {
            let spec = control::specs().into_iter().find(|spec| spec.name == name);
            let spec = &spec.ok_or_else(|| format!("there is no tool `{name}`"))?;
            let done = match name {
                "ask_question" => self.ask_question(actor, operation, read(spec, args)?).await,
                "list_permissions" => Ok(json!(self.grants.list())),
                "ask_permission" => self.ask_permission(read(spec, args)?).await,
                "invoke_subagent" => {
                    self.invoke_subagent(actor, operation, read(spec, args)?).await
                }
                "define_subagent" => self.define_subagent(actor, read(spec, args)?),
                "send_message" => self.send_message(actor, read(spec, args)?),
                "manage_subagents" => self.manage_subagents(&read(spec, args)?),
                "schedule" => self.schedule(read(spec, args)?),
                _ => Err(format!("there is no tool `{name}`")),
            };
            done.map(Output::new)
        })
    }

    async fn ask_question(
        &self,
        actor: &Actor,
        operation: &OperationContext,
        args: AskQuestion,
    ) -> Result<Value, String> {
        if args.questions.is_empty() {
            return Err("there is no question".to_owned());
        }
        let question = |asked: control::Question| Question {
            question: asked.question,
            options: (1..)
                .zip(asked.options)
                .map(|(id, text): (u32, String)| Choice { id: id.to_string(), text })
                .collect(),
            is_multi_select: asked.is_multi_select,
        };
        let questions: Vec<_> = args.questions.into_iter().map(question).collect();
        let event = Interaction {
            questions: questions.clone(),
            agent: actor.who.clone(),
            model: Some(self.model.name().to_owned()),
        };
        let outcome = self.dispatch(&actor.who, operation, event).await;
        let responses = match &outcome.verdict {
            Reply::Found { value } => value.clone(),
            Reply::Refused { reason } => return Err(refused(reason)),
            // No hook has an answer; a person may.
            Reply::Nothing => {
                let limit = self.limits.person;
                let _one_at_a_time = self.asking.lock().await;
                match tokio::time::timeout(limit, self.person.answer(&questions)).await {
                    Ok(Some(responses)) => responses,
                    Ok(None) => return Err(refused("nobody is there to answer")),
                    Err(_) => return Err(refused("nobody answered in time")),
                }
            }
        };
        Ok(answers(&questions, &responses))
    }

    async fn ask_permission(&self, args: AskPermission) -> Result<Value, String> {
        let kind = match args.action {
            PermissionAction::ReadFile => ResourceKind::ReadFile,
            PermissionAction::WriteFile => ResourceKind::WriteFile,
            PermissionAction::Command => ResourceKind::Command,
            PermissionAction::ReadUrl => ResourceKind::ReadUrl,
        };
        let grant = self.grants.asked_for(kind, &args.target)?;
        let resource = grant.resource.clone();
        let _one_at_a_time = self.asking.lock().await;
        let asked = self.person.permit(&resource, &args.reason);
        match tokio::time::timeout(self.limits.person, asked).await {
            Ok(Consent::Once | Consent::ForSession) => {
                let what = grant.explained();
                self.grants.put(grant);
                Ok(Value::from(format!("{resource} is granted for this session ({what})")))
            }
            Ok(Consent::No { reason }) => Err(format!("{resource} is not granted: {reason}")),
            Err(_) => Err(format!("{resource} is not granted: nobody answered in time")),
        }
    }
}

fn refused(why: &str) -> String {
    format!("the questions were refused: {why}")
}

fn read<A: serde::de::DeserializeOwned>(
    spec: &Spec,
    args: &Map<String, Value>,
) -> Result<A, String> {
    read_args(spec, args).map_err(|error| error.to_string())
}

/// The answers as the model reads them.
fn answers(questions: &[Question], responses: &Responses) -> Value {
    if responses.cancelled {
        return Value::from("the user broke the questions off");
    }
    let answered = questions.iter().zip(&responses.responses).map(|(question, response)| {
        let chosen = response.selected_option_ids.iter().flatten();
        let text = |id: &String| {
            let option = question.options.iter().find(|option| option.id == *id);
            option.map_or_else(|| id.clone(), |option| option.text.clone())
        };
        let chosen: Vec<_> = chosen.map(text).collect();
        let mut answer = Map::new();
        answer.insert("question".to_owned(), question.question.as_str().into());
        if response.skipped {
            answer.insert("skipped".to_owned(), true.into());
        }
        if !chosen.is_empty() {
            answer.insert("chosen".to_owned(), json!(chosen));
        }
        if !response.freeform_response.is_empty() {
            answer.insert("answer".to_owned(), response.freeform_response.as_str().into());
        }
        Value::Object(answer)
    });
    Value::Array(answered.collect())
}
