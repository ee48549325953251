//! Programs that download code and run it in one go.

use super::hosts::{Reach, reach};
use super::run::{Call, host_of};
use crate::value::Value;

/// Registries that everybody gets images from.
const REGISTRIES: &[&str] = &[
    "docker.io",
    "ghcr.io",
    "quay.io",
    "gcr.io",
    "mcr.microsoft.com",
    "public.ecr.aws",
    "registry.k8s.io",
    "nvcr.io",
    "registry.gitlab.com",
    "registry.access.redhat.com",
    "lscr.io",
    "cgr.dev",
    "docker.elastic.co",
    "localhost",
];

/// Notes code that a command fetches and runs, and that nothing pins.
pub(super) fn look(call: &mut Call<'_, '_>, name: &str, words: &[Value]) {
    // `python -m pip` is pip.
    if let (true, [m, module, rest @ ..]) = (name.starts_with("python"), words)
        && m.known() == Some("-m")
        && let Some(module) =
            module.known().filter(|module| matches!(*module, "pip" | "pipx" | "uv"))
    {
        return look(call, module, rest);
    }
    let known: Vec<&str> = words.iter().map(Value::prefix).collect();
    indexes(call, name, &known);
    let operands =
        || known.iter().copied().filter(|word| !word.starts_with('-') && !word.is_empty());
    let sub = operands().next().unwrap_or_default();
    let what = match name {
        "npx" if known.iter().any(|word| matches!(*word, "-y" | "--yes")) => {
            package(&known, &["-y", "--yes", "-q", "--quiet"])
        }
        "pnpm" | "yarn" if sub == "dlx" => package(known.get(1..).unwrap_or_default(), &[]),
        "npm"
            if matches!(sub, "exec" | "x")
                && known.iter().any(|word| matches!(*word, "-y" | "--yes")) =>
        {
            operands().nth(1)
        }
        "bunx" | "uvx" | "pnpx" => package(&known, &[]),
        "uv" if sub == "tool" && operands().nth(1) == Some("run") => operands().nth(2),
        "pipx" if sub == "run" => operands().nth(1),
        "go" if sub == "run" => {
            operands().nth(1).filter(|module| module.contains('@') && is_remote(module))
        }
        "deno" if matches!(sub, "run" | "eval" | "install") => {
            operands().find(|word| word.contains("://"))
        }
        "cargo" if sub == "install" && known.iter().any(|word| word.starts_with("--git")) => {
            known.iter().copied().find(|word| word.contains("://")).or(Some("a repository"))
        }
        "pip" | "pip3" if sub == "install" => given(&known),
        "docker" | "podman" | "nerdctl" if matches!(sub, "run" | "create") => image(&known),
        "nix" if sub == "run" => {
            operands().nth(1).filter(|flake| flake.contains(':') && !flake.starts_with("nixpkgs"))
        }
        _ => None,
    };
    if let Some(what) = what.filter(|what| !is_pinned(what)) {
        let with = match name {
            "docker" | "podman" | "nerdctl" | "pipx" | "go" | "deno" => format!(" {sub}"),
            "cargo" => " install --git".to_owned(),
            "pnpm" | "yarn" => " dlx".to_owned(),
            "pip" | "pip3" => " install".to_owned(),
            _ => String::new(),
        };
        let what = format!("`{name}{with} {what}`");
        call.fetches_code(what);
    }
}

/// What is installed from an address, and not from an index.
fn given<'a>(words: &[&'a str]) -> Option<&'a str> {
    let indexes = [
        "-i",
        "--index-url",
        "--extra-index-url",
        "-f",
        "--find-links",
        "--trusted-host",
        "--proxy",
    ];
    let mut before = "";
    for word in words.iter().copied() {
        if (word.contains("://") || word.starts_with("git+"))
            && !indexes.contains(&before)
            && !word.starts_with("--")
        {
            return Some(word);
        }
        before = word;
    }
    None
}

/// The package that is run: the value of an option that names it, or the first operand.
fn package<'a>(words: &[&'a str], flags: &[&str]) -> Option<&'a str> {
    let mut words = words.iter();
    while let Some(word) = words.next() {
        match *word {
            "-p" | "--package" | "--from" | "--with" | "--python" | "-c" => {
                let value = words.next().copied();
                if matches!(*word, "-p" | "--package" | "--from") {
                    return value;
                }
            }
            word if flags.contains(&word) || word.starts_with('-') => {}
            "dlx" => {}
            word => return Some(word),
        }
    }
    None
}

/// True for a package with its version written out: what runs is what ran before.
fn is_pinned(package: &str) -> bool {
    let version = package
        .rsplit_once('@')
        .map(|(_, version)| version)
        .or_else(|| package.split_once("==").map(|(_, version)| version));
    let is_exact =
        |version: &str| version.starts_with(|c: char| c.is_ascii_digit()) && !package.contains('/');
    version.is_some_and(is_exact)
}

fn is_remote(module: &str) -> bool {
    module.split('/').next().is_some_and(|host| host.contains('.') && !host.starts_with('.'))
}

/// Indexes of packages that everybody uses.
const INDEXES: &[&str] = &[
    "pypi.org",
    "pypi.python.org",
    "pythonhosted.org",
    "download.pytorch.org",
    "pypi.nvidia.com",
    "nvidia.com",
    "registry.npmjs.org",
    "npmjs.org",
    "registry.yarnpkg.com",
    "npmmirror.com",
    "crates.io",
    "rubygems.org",
    "proxy.golang.org",
    "goproxy.io",
    "goproxy.cn",
    "npm.pkg.github.com",
    "pkg.github.com",
    "gitlab.com",
    "pkg.dev",
    "jfrog.io",
    "amazonaws.com",
    "azure.com",
    "anaconda.org",
    "conda.io",
    "tuna.tsinghua.edu.cn",
    "aliyun.com",
    "ustc.edu.cn",
    "google.com",
    "jsr.io",
    "huggingface.co",
    "cloudsmith.io",
    "gemfury.com",
    "pkgs.dev.azure.com",
];

/// Notes an index of packages that is not everybody's: what it serves is run.
pub(super) fn index(call: &mut Call<'_, '_>, url: &str) {
    let host = host_of(url);
    let is_usual = |index: &&str| {
        host.strip_suffix(*index).is_some_and(|sub| sub.is_empty() || sub.ends_with('.'))
    };
    let is_near = matches!(reach(host), Reach::Local | Reach::Private | Reach::Unknown);
    if host.is_empty() || is_near || INDEXES.iter().any(is_usual) || matches!(url, "direct" | "off")
    {
        return;
    }
    call.fetches_code(format!("packages from {host}"));
}

/// Options that name an index of packages.
fn indexes(call: &mut Call<'_, '_>, name: &str, words: &[&str]) {
    let manager = matches!(
        name,
        "npm"
            | "pnpm"
            | "yarn"
            | "bun"
            | "pip"
            | "pip3"
            | "uv"
            | "gem"
            | "bundle"
            | "cargo"
            | "poetry"
            | "python"
            | "python3"
    );
    if !manager {
        return;
    }
    let options = [
        "--registry",
        "-i",
        "--index-url",
        "--extra-index-url",
        "--index",
        "--default-index",
        "--source",
        "-f",
        "--find-links",
    ];
    for (at, word) in words.iter().enumerate() {
        let value = match word.split_once('=') {
            Some((option, value)) if options.contains(&option) => Some(value),
            _ if options.contains(word) => words.get(at + 1).copied(),
            _ => None,
        };
        if let Some(value) = value.filter(|value| value.contains("://")) {
            index(call, value);
        }
    }
}

/// The image of `docker run`, where it comes from a registry that is not everybody's.
fn image<'a>(words: &[&'a str]) -> Option<&'a str> {
    let named = |word: &&&str| {
        let (host, rest) = word.split_once('/').unwrap_or((word, ""));
        let is_host = host.contains('.') || host.contains(':');
        !word.starts_with(['-', '/', '.', '~'])
            && is_host
            && !rest.is_empty()
            && !word.contains('=')
            && !host.contains('$')
            && !word.contains("://")
            && !word.contains(":/")
    };
    let image = words.iter().find(named)?;
    let host = image.split('/').next().unwrap_or(image);
    let host = host.split(':').next().unwrap_or(host);
    let is_usual = REGISTRIES.contains(&host)
        || host.ends_with(".amazonaws.com")
        || host.ends_with(".azurecr.io")
        || host.ends_with(".pkg.dev")
        || host.ends_with(".gcr.io");
    (!is_usual).then_some(*image)
}
