//! `generate_image`.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use schemars::JsonSchema;
use serde::Deserialize;
use serde_json::json;
use tollgate_fetch::{Client, Limits as FetchLimits, Request, Response};
use url::Url;

use super::{EndpointError, client_for, endpoint};
use crate::atomic::{self, Expect};
use crate::blocking::blocking;
use crate::built_in;
use crate::config::Limits;
use crate::text::head;
use crate::tool::{Cx, Output, Tool, ToolFailure};
use crate::workspace::{Missing, own_directory};

/// How large an image may be, in either direction.
const IMAGE: usize = 24 * 1024 * 1024;

/// How many images may be edited at once.
const IMAGES: usize = 8;

/// How much of an answer that is an error is shown.
const ERROR: usize = 1000;

/// How long a prompt may be.
const PROMPT: usize = 32 * 1024;

/// A service that makes images like `OpenAI`'s: `images/generations` and `images/edits`.
///
/// ```
/// use tollgate_tools::Images;
///
/// let images = Images::new("https://api.openai.com/v1", "gpt-image-1")?.key_from("OPENAI_API_KEY");
/// assert!(format!("{images:?}").contains("OPENAI_API_KEY"), "the name of it, not the key");
/// # Ok::<(), tollgate_tools::EndpointError>(())
/// ```
#[derive(Clone)]
pub struct Images {
    url: Url,
    model: String,
    key: Option<String>,
    client: Client,
}

impl Images {
    /// The service at this address, which is what comes before `/images/generations`. Requests go
    /// to its host and nowhere else.
    pub fn new(address: &str, model: impl Into<String>) -> Result<Self, EndpointError> {
        let mut url = endpoint(address)?;
        if !url.path().ends_with('/') {
            let path = format!("{}/", url.path());
            url.set_path(&path);
        }
        let limits = FetchLimits {
            time: Duration::from_mins(10),
            // As base64, and more than one of them in a request.
            body: 2 * IMAGE,
            request_body: 2 * IMAGE,
            ..FetchLimits::default()
        };
        let client = client_for(&url, limits);
        Ok(Self { url, model: model.into(), key: None, client })
    }

    /// The same, with the key that is in this environment variable when it is needed.
    pub fn key_from(mut self, variable: impl Into<String>) -> Self {
        self.key = Some(variable.into());
        self
    }
}

impl fmt::Debug for Images {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Images")
            .field("url", &self.url.as_str())
            .field("model", &self.model)
            .field("key_from", &self.key)
            .finish_non_exhaustive()
    }
}

/// Arguments of `generate_image`.
#[derive(Debug, Clone, Deserialize, JsonSchema)]
#[serde(rename_all = "PascalCase")]
struct GenerateImage {
    /// What the image is to show, or how to change those in `ImagePaths`.
    prompt: String,
    /// Name of the file without its extension: letters, digits, `_` and `-`. Default: image.
    image_name: Option<String>,
    /// Absolute paths of images to edit or combine. Default: none, and a new one is made.
    image_paths: Option<Vec<String>>,
}

#[derive(Deserialize)]
struct Answer {
    #[serde(default)]
    data: Vec<Made>,
}

#[derive(Deserialize)]
struct Made {
    #[serde(default)]
    b64_json: Option<String>,
    #[serde(default)]
    url: Option<String>,
}

pub(super) fn tool(images: &Images, fetch: Option<&Client>, limits: &Arc<Limits>) -> Arc<dyn Tool> {
    let (images, fetch, time) = (Arc::new(images.clone()), fetch.cloned(), limits.image_time);
    built_in::tool(
        "generate_image",
        "Makes an image from a description, or edits images. It is saved among the artifacts; the \
         answer has its path.",
        move |cx, args: GenerateImage| {
            let (images, fetch) = (Arc::clone(&images), fetch.clone());
            async move { images.make(cx, args, fetch, time).await.map(Output::new) }
        },
    )
}

impl Images {
    async fn make(
        &self,
        cx: Cx,
        args: GenerateImage,
        fetch: Option<Client>,
        time: Duration,
    ) -> Result<String, ToolFailure> {
        let artifacts = cx.artifacts.clone().ok_or_else(|| {
            ToolFailure::Failed("there is no directory for artifacts to save images in".to_owned())
        })?;
        if args.prompt.trim().is_empty() || args.prompt.len() > PROMPT {
            let problem = format!("Prompt is empty, or longer than {PROMPT} bytes");
            return Err(ToolFailure::Failed(problem));
        }
        let name = file_name(args.image_name.as_deref())?;
        let paths = args.image_paths.unwrap_or_default();
        let request = if paths.is_empty() {
            let body = json!({"model": self.model, "prompt": args.prompt, "n": 1});
            self.request("images/generations")?
                .header("content-type", "application/json")
                .body(body.to_string())
        } else {
            let sources = blocking(move |_| read_images(&cx, &paths)).await?;
            let form = Form::new(&sources);
            let body = form.body(&self.model, &args.prompt, &sources);
            let kind = format!("multipart/form-data; boundary={}", form.boundary);
            self.request("images/edits")?.header("content-type", kind).body(body)
        };
        let response = self.client.send(request, time).await;
        let response = response.map_err(|error| self.failed(&error.to_string()))?;
        let image = self.read(response, fetch, time).await?;
        blocking(move |cancel| {
            let dir = own_directory(&artifacts)?;
            let extension = extension(&image).ok_or_else(|| {
                ToolFailure::Failed(
                    "the service answered with something that is no image".to_owned(),
                )
            })?;
            for number in 1..1000 {
                let number = if number == 1 { String::new() } else { format!("-{number}") };
                let place = dir.to_write(&format!("{name}{number}.{extension}"), Missing::Leave)?;
                if place.stat.is_some() {
                    continue;
                }
                atomic::write(&place, &image, &Expect::Nothing, cancel)?;
                let path = place.path.display();
                return Ok(format!("Saved the image as {path} ({} bytes).", image.len()));
            }
            Err(ToolFailure::Failed(format!("there are too many images called `{name}`")))
        })
        .await
    }

    fn request(&self, path: &str) -> Result<Request, ToolFailure> {
        let url = self.url.join(path).map_err(|error| self.failed(&error.to_string()))?;
        let request = Request::post(url, Vec::new()).header("accept", "application/json");
        let Some(variable) = &self.key else { return Ok(request) };
        match std::env::var(variable) {
            Ok(key) if !key.is_empty() => {
                Ok(request.header("authorization", format!("Bearer {key}")))
            }
            _ => {
                Err(self.failed(&format!("the environment variable `{variable}` has no key in it")))
            }
        }
    }

    async fn read(
        &self,
        response: Response,
        fetch: Option<Client>,
        time: Duration,
    ) -> Result<Vec<u8>, ToolFailure> {
        if response.status != 200 {
            let said = response.text();
            let said = head(said.trim(), ERROR);
            let status = response.status;
            return Err(self.failed(&format!("the service answered with status {status}: {said}")));
        }
        let answer: Answer = serde_json::from_slice(&response.body)
            .map_err(|error| self.failed(&format!("the answer is not as expected: {error}")))?;
        let none = || self.failed("the answer has no image in it");
        let made = answer.data.into_iter().next().ok_or_else(none)?;
        if let Some(text) = made.b64_json {
            let image = STANDARD.decode(text.trim());
            return image.map_err(|error| self.failed(&format!("the image is garbled: {error}")));
        }
        let url = made.url.ok_or_else(none)?;
        // It may be anywhere, so the rules for pages count; the service itself was named.
        let client = match (self.client.check(&url), fetch) {
            (Ok(()), _) => self.client.clone(),
            (Err(_), Some(fetch)) => fetch,
            (Err(error), None) => return Err(self.failed(&error.to_string())),
        };
        let response = client.send(Request::get(url), time).await;
        let response = response.map_err(|error| self.failed(&error.to_string()))?;
        if response.status != 200 {
            let status = response.status;
            return Err(self.failed(&format!("the image was answered with status {status}")));
        }
        Ok(response.body)
    }

    /// A service may repeat the key in what it says.
    fn failed(&self, problem: &str) -> ToolFailure {
        let key = self.key.as_ref().and_then(|variable| std::env::var(variable).ok());
        let problem = match key.filter(|key| !key.is_empty()) {
            Some(key) => problem.replace(&key, "[masked]"),
            None => problem.to_owned(),
        };
        ToolFailure::Failed(format!("the image could not be made: {problem}"))
    }
}

/// An image to be sent along.
struct Source {
    name: String,
    kind: &'static str,
    bytes: Vec<u8>,
}

fn read_images(cx: &Cx, paths: &[String]) -> Result<Vec<Source>, ToolFailure> {
    if paths.len() > IMAGES {
        return Err(ToolFailure::Failed(format!("ImagePaths has more than {IMAGES} entries")));
    }
    let mut sources = Vec::new();
    let mut room = IMAGE;
    for path in paths {
        // What was made before may be changed again.
        let own = cx.artifacts.as_deref().filter(|dir| std::path::Path::new(path).starts_with(dir));
        let place = match own {
            Some(dir) => own_directory(dir)?.to_read(path, false)?,
            None => cx.workspaces.to_read(path, cx.read_outside)?,
        };
        let (bytes, _) = place.read(room)?;
        room -= bytes.len();
        let extension = extension(&bytes)
            .ok_or_else(|| ToolFailure::path(&place.path, "is no PNG, JPEG, GIF or WebP image"))?;
        let kind = match extension {
            "jpg" => "image/jpeg",
            "gif" => "image/gif",
            "webp" => "image/webp",
            _ => "image/png",
        };
        let name = format!("image-{}.{extension}", sources.len() + 1);
        sources.push(Source { name, kind, bytes });
    }
    Ok(sources)
}

/// A form with files in it.
struct Form {
    boundary: String,
}

impl Form {
    /// With a boundary that is in none of the images.
    fn new(sources: &[Source]) -> Self {
        let mut number = 0_u64;
        loop {
            let boundary = format!("tollgate-{number:016x}-boundary");
            let finder = memchr::memmem::Finder::new(&boundary);
            if sources.iter().all(|source| finder.find(&source.bytes).is_none()) {
                return Self { boundary };
            }
            number += 1;
        }
    }

    fn body(&self, model: &str, prompt: &str, sources: &[Source]) -> Vec<u8> {
        let boundary = &self.boundary;
        let mut body = Vec::new();
        for (name, value) in [("model", model), ("prompt", prompt)] {
            let part = format!(
                "--{boundary}\r\ncontent-disposition: form-data; name=\"{name}\"\r\n\r\n{}\r\n",
                // A prompt cannot end its part.
                value.replace(boundary, "")
            );
            body.extend_from_slice(part.as_bytes());
        }
        // One image has its old name, which every such service knows.
        let field = if sources.len() == 1 { "image" } else { "image[]" };
        for Source { name, kind, bytes } in sources {
            let part = format!(
                "--{boundary}\r\ncontent-disposition: form-data; name=\"{field}\"; \
                 filename=\"{name}\"\r\ncontent-type: {kind}\r\n\r\n"
            );
            body.extend_from_slice(part.as_bytes());
            body.extend_from_slice(bytes);
            body.extend_from_slice(b"\r\n");
        }
        body.extend_from_slice(format!("--{boundary}--\r\n").as_bytes());
        body
    }
}

/// The extension of an image, by its first bytes.
fn extension(image: &[u8]) -> Option<&'static str> {
    match image {
        [0x89, b'P', b'N', b'G', ..] => Some("png"),
        [0xff, 0xd8, 0xff, ..] => Some("jpg"),
        [b'G', b'I', b'F', b'8', ..] => Some("gif"),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some("webp"),
        _ => None,
    }
}

fn file_name(given: Option<&str>) -> Result<String, ToolFailure> {
    let name = given.map(str::trim).filter(|name| !name.is_empty()).unwrap_or("image");
    let fits = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-');
    if name.len() > 100 || !name.chars().all(fits) {
        return Err(ToolFailure::Failed(
            "ImageName may have letters, digits, `_` and `-`, and no more than 100 of them"
                .to_owned(),
        ));
    }
    Ok(name.to_owned())
}
