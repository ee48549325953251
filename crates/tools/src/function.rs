//! Functions of the host as tools.

use std::fmt;
use std::future::poll_fn;
use std::marker::PhantomData;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::pin;
use std::task::Poll;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value};
use tollgate_core::context::ToolContext;
use tollgate_core::hook::BoxFuture;

use crate::args::read_args;
use crate::tool::{Cx, Output, Spec, Tool, ToolFailure};

/// A function as a tool. Its arguments are a struct: the schema is derived from it, and arguments
/// that do not fit are an error that names the field. A function that panics has failed; the
/// agent goes on.
///
/// ```
/// use schemars::JsonSchema;
/// use serde::Deserialize;
/// use tollgate_core::context::ToolContext;
/// use tollgate_tools::{Tool, function};
///
/// #[derive(Deserialize, JsonSchema)]
/// struct Weather {
///     /// The city, in English.
///     city: String,
/// }
///
/// let tool = function("weather", "The weather of a city.", |args: Weather, cx: ToolContext| async move {
///     cx.set("last_city", &args.city).map_err(|error| error.to_string())?;
///     if args.city == "Atlantis" {
///         return Err(format!("there is no weather in {}", args.city));
///     }
///     Ok(serde_json::json!({"city": args.city, "degrees": 21}))
/// });
/// assert_eq!(tool.spec().parameters["required"][0], "city");
/// ```
pub fn function<A, R, E, F, Fut>(
    name: impl Into<String>,
    description: impl Into<String>,
    f: F,
) -> impl Tool
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    R: Serialize + 'static,
    E: fmt::Display + 'static,
    F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, E>> + Send + 'static,
{
    Function { spec: Spec::of::<A>(name, description), f, takes: PhantomData::<fn(A)> }
}

struct Function<A, F> {
    spec: Spec,
    f: F,
    takes: PhantomData<fn(A)>,
}

impl<A, R, E, F, Fut> Tool for Function<A, F>
where
    A: DeserializeOwned + JsonSchema + Send + 'static,
    R: Serialize + 'static,
    E: fmt::Display + 'static,
    F: Fn(A, ToolContext) -> Fut + Send + Sync + 'static,
    Fut: Future<Output = Result<R, E>> + Send + 'static,
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
            let call = async {
                let result = (self.f)(args, cx.tools.clone()).await;
                let result = result.map_err(|error| ToolFailure::Failed(error.to_string()))?;
                serde_json::to_value(result).map(Output::new).map_err(|error| {
                    ToolFailure::Failed(format!(
                        "the result of `{}` is no JSON: {error}",
                        self.spec.name
                    ))
                })
            };
            without_panic(&self.spec.name, call).await
        })
    }
}

/// A panic of somebody else's code is a failure of that code.
async fn without_panic<T>(
    name: &str,
    call: impl Future<Output = Result<T, ToolFailure>>,
) -> Result<T, ToolFailure> {
    let mut call = pin!(call);
    poll_fn(|cx| {
        catch_unwind(AssertUnwindSafe(|| call.as_mut().poll(cx))).unwrap_or_else(|_| {
            Poll::Ready(Err(ToolFailure::Failed(format!("`{name}` broke off: it has a bug"))))
        })
    })
    .await
}
