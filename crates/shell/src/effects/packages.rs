//! Names of packages that are nearly those of packages everybody uses.

/// Packages that many install, of all registries.
const POPULAR: &[&str] = &[
    "requests",
    "numpy",
    "pandas",
    "flask",
    "django",
    "fastapi",
    "pydantic",
    "pytest",
    "boto3",
    "botocore",
    "urllib3",
    "setuptools",
    "certifi",
    "cryptography",
    "pyyaml",
    "scipy",
    "matplotlib",
    "pillow",
    "sqlalchemy",
    "tensorflow",
    "torch",
    "torchvision",
    "transformers",
    "openai",
    "anthropic",
    "langchain",
    "beautifulsoup4",
    "selenium",
    "celery",
    "redis",
    "psycopg2",
    "python-dateutil",
    "jinja2",
    "click",
    "aiohttp",
    "httpx",
    "uvicorn",
    "gunicorn",
    "paramiko",
    "colorama",
    "tqdm",
    "scikit-learn",
    "jupyter",
    "notebook",
    "virtualenv",
    "opencv-python",
    "discord.py",
    "tweepy",
    "react",
    "react-dom",
    "express",
    "lodash",
    "axios",
    "typescript",
    "webpack",
    "eslint",
    "prettier",
    "jest",
    "mocha",
    "chalk",
    "commander",
    "moment",
    "dotenv",
    "cross-env",
    "mongoose",
    "next",
    "vite",
    "vitest",
    "tailwindcss",
    "nodemon",
    "socket.io",
    "electron",
    "puppeteer",
    "playwright",
    "jsonwebtoken",
    "bcrypt",
    "body-parser",
    "underscore",
    "bluebird",
    "request",
    "async",
    "rxjs",
    "redux",
    "graphql",
    "sequelize",
    "prisma",
    "ethers",
    "web3",
    "serde",
    "serde_json",
    "tokio",
    "reqwest",
    "anyhow",
    "thiserror",
    "clap",
    "regex",
    "rayon",
    "hyper",
    "tracing",
    "chrono",
    "itertools",
    "rand",
    "rails",
    "nokogiri",
    "sidekiq",
    "devise",
    "rspec",
    "puma",
    "bundler",
];

/// Returns the package that a name is nearly: one letter more, less or other, or two of them swapped.
///
/// ```
/// use tollgate_shell::effects::packages::nearly;
///
/// assert_eq!(nearly("reqeusts"), Some("requests"));
/// assert_eq!(nearly("requests"), None);
/// assert_eq!(nearly("left-pad"), None);
/// ```
pub fn nearly(name: &str) -> Option<&'static str> {
    let name = name
        .split(['=', '<', '>', '~', '!', '[', '@', ';'])
        .next()
        .unwrap_or(name)
        .to_ascii_lowercase();
    let name = name.as_str();
    if name.len() < 5 || POPULAR.contains(&name) {
        return None;
    }
    POPULAR
        .iter()
        .copied()
        .find(|popular| popular.len() >= 5 && is_near(name.as_bytes(), popular.as_bytes()))
}

fn is_near(one: &[u8], other: &[u8]) -> bool {
    let same = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    let (rest, others) =
        (one.get(same..).unwrap_or_default(), other.get(same..).unwrap_or_default());
    match (rest, others) {
        ([a, b, rest @ ..], [c, d, others @ ..]) if a == d && b == c && a != b => rest == others,
        ([_, rest @ ..], [_, others @ ..]) if rest.len() == others.len() => {
            rest == others && !is_number(one, other)
        }
        ([_, rest @ ..], others) if rest == others => !is_number(one, other),
        (rest, [_, others @ ..]) if rest == others => true,
        _ => false,
    }
}

/// True if the names differ by a number: `web3` and `web4`, `psycopg2` and `psycopg`.
fn is_number(one: &[u8], other: &[u8]) -> bool {
    one.iter().chain(other).filter(|byte| byte.is_ascii_digit()).count() % 2 == 1
        || one.iter().zip(other).any(|(a, b)| a != b && a.is_ascii_digit() && b.is_ascii_digit())
}
