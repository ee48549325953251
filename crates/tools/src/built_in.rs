//! The built-in tools, put together.

use std::marker::PhantomData;
use std::sync::Arc;

use schemars::JsonSchema;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tollgate_core::hook::BoxFuture;

use crate::args::read_args;
use crate::config::Config;
use crate::tool::{Cx, Output, Spec, Tool, ToolFailure};
use crate::{command, files, network, search};

/// The built-in tools that are configured.
///
/// The tools that direct the agent itself are the agent's; what a model is told about them is in
/// [`control`](crate::control).
pub fn built_in(config: &Config) -> Vec<Arc<dyn Tool>> {
    let limits = Arc::new(config.limits.clone());
    let mut tools = files::tools(&limits);
    tools.extend(search::tools(&limits));
    tools.extend(command::tools(&config.variables));
    tools.extend(network::tools(config, &limits));
    tools
}

/// A built-in tool: what it does with its arguments.
struct BuiltIn<A, F> {
    spec: Spec,
    run: F,
    preview: Option<Preview<A>>,
    takes: PhantomData<fn(A)>,
}

/// What a call would change.
type Preview<A> =
    Box<dyn Fn(Cx, A) -> BoxFuture<'static, Result<String, ToolFailure>> + Send + Sync>;

/// Makes a tool of a function that gets the context and the arguments.
pub(crate) fn tool<A, F, Fut>(name: &str, description: &str, run: F) -> Arc<dyn Tool>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(Cx, A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Output, ToolFailure>> + Send + 'static,
{
    made(name, description, run, None)
}

/// The same, with a function that tells what the other one would change.
pub(crate) fn editing_tool<A, F, Fut, P, Seen>(
    name: &str,
    description: &str,
    run: F,
    preview: P,
) -> Arc<dyn Tool>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(Cx, A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Output, ToolFailure>> + Send + 'static,
    P: Fn(Cx, A) -> Seen + Send + Sync + 'static,
    Seen: Future<Output = Result<String, ToolFailure>> + Send + 'static,
{
    let preview = move |cx: Cx, args: A| -> BoxFuture<'static, _> { Box::pin(preview(cx, args)) };
    made(name, description, run, Some(Box::new(preview)))
}

fn made<A, F, Fut>(
    name: &str,
    description: &str,
    run: F,
    preview: Option<Preview<A>>,
) -> Arc<dyn Tool>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(Cx, A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Output, ToolFailure>> + Send + 'static,
{
    let spec = Spec::of::<A>(name, description);
    Arc::new(BuiltIn { spec, run, preview, takes: PhantomData::<fn(A)> })
}

impl<A, F, Fut> Tool for BuiltIn<A, F>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    F: Fn(Cx, A) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<Output, ToolFailure>> + Send + 'static,
{
    fn spec(&self) -> &Spec {
        &self.spec
    }

    fn call<'a>(
        &'a self,
        cx: &'a Cx,
        args: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Result<Output, ToolFailure>> {
        Box::pin(async move {
            let args = read_args::<A>(&self.spec, args)?;
            (self.run)(cx.clone(), args).await
        })
    }

    fn preview<'a>(
        &'a self,
        cx: &'a Cx,
        args: &'a Map<String, Value>,
    ) -> BoxFuture<'a, Option<Result<String, ToolFailure>>> {
        Box::pin(async move {
            let preview = self.preview.as_ref()?;
            match read_args::<A>(&self.spec, args) {
                Ok(args) => Some(preview(cx.clone(), args).await),
                Err(error) => Some(Err(error.into())),
            }
        })
    }
}
