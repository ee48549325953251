//! Words in code that tell what it is after, where its calls do not.

use super::super::Why;

/// Whether code has no word by which programs are run or files are changed.
pub(super) fn only_prints(code: &str) -> bool {
    const WORDS: &[&str] = &[
        "system",
        "cmd",
        "rm",
        "delete",
        "remove",
        "unlink",
        "shell",
        "exec",
        "run",
        "process",
        "spawn",
        "write",
        "open",
        "file",
        "eval",
        "rename",
        "move",
        "do script",
        "kill",
        "popen",
    ];
    let code = code.to_lowercase();
    !WORDS.iter().any(|word| code.contains(word))
}

/// True if code works on a home, or on all files.
pub(super) fn names_home(text: &str) -> bool {
    const HOMES: &[&str] = &[
        "Path.home",
        "expanduser",
        "HOME",
        "homedir",
        "Dir.home",
        "\"/home",
        "'/home",
        "\"/\"",
        "'/'",
        "\"~",
        "'~",
    ];
    HOMES.iter().any(|home| text.contains(home))
}

/// True if code connects to another machine and runs a shell, or what it is told there.
pub(super) fn is_backdoor(text: &str) -> bool {
    const CONNECTS: &[&str] = &[
        "socket",
        "Socket",
        "/inet/tcp",
        "fsockopen",
        "net.connect",
        "require(\"net\")",
        "require('net')",
        "createServer",
        "/dev/tcp",
    ];
    const RUNS: &[&str] = &[
        "/bin/sh",
        "/bin/bash",
        "popen",
        "spawn",
        "exec",
        "system",
        "ProcessBuilder",
        "getline",
        "run(",
    ];
    CONNECTS.iter().any(|word| text.contains(word)) && RUNS.iter().any(|word| text.contains(word))
}

/// True if code takes all variables of the environment at once.
pub(super) fn dumps_environment(text: &str) -> bool {
    const ALL: &[&str] = &[
        "dict(os.environ",
        "(os.environ)",
        "os.environ.items",
        "os.environ.copy",
        "stringify(process.env",
        "entries(process.env",
        "ENV.to_h",
        "ENV.to_a",
        "getenv())",
        "$_ENV)",
        "%ENV",
    ];
    ALL.iter().any(|word| text.contains(word))
}

/// Tells code that hides what it runs from code that only computes it: it decodes a text, or
/// fetches one, and runs that.
pub(super) fn hides(text: &str) -> Why {
    const DECODES: &[&str] = &[
        "b64decode",
        "base64",
        "atob(",
        "unhexlify",
        "fromhex",
        "decompress",
        "marshal",
        "rot13",
        "unpack(",
        "pack(",
        "fromCharCode",
        "chr(",
        "urlopen",
        "urllib",
        "requests.",
        "http.get",
        "https.get",
        "fetch(",
        "socket",
        "Net::HTTP",
        "open-uri",
        "URI.open",
        "getattr",
        "__import__",
        "__builtins__",
        "__subclasses__",
        "\\x",
        "[::-1]",
        "reverse(",
        ".join(",
        "globals(",
        "Buffer.from",
    ];
    if DECODES.iter().any(|word| text.contains(word)) { Why::Code } else { Why::Opaque }
}
