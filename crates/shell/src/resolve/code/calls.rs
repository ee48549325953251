//! Names of functions, over all languages, and what a call of them does.

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Meaning {
    /// Runs a program or a script.
    Runs,
    Deletes,
    DeletesTree,
    Writes,
    /// Reads or writes, as its second argument says.
    Opens,
    Moves,
    Connects,
    /// Runs code, or reaches for something by a name that is put together.
    Opaque,
    /// Starts itself again.
    Forks,
}

/// By the last part of a name.
const BY_LAST: &[(Meaning, &[&str])] = &[
    (
        Meaning::Runs,
        &[
            "system",
            "popen",
            "Popen",
            "popen2",
            "popen3",
            "check_call",
            "check_output",
            "getoutput",
            "getstatusoutput",
            "execSync",
            "execFile",
            "execFileSync",
            "spawn",
            "spawnSync",
            "passthru",
            "shell_exec",
            "proc_open",
            "pcntl_exec",
            "capture2",
            "capture2e",
            "capture3",
            "execl",
            "execle",
            "execlp",
            "execlpe",
            "execv",
            "execve",
            "execvp",
            "execvpe",
            "spawnl",
            "spawnlp",
            "spawnv",
            "spawnvp",
            "posix_spawn",
            "system2",
            "create_subprocess_shell",
            "create_subprocess_exec",
            "os.execute",
        ],
    ),
    (
        Meaning::DeletesTree,
        &[
            "rmtree",
            "rm_rf",
            "rm_r",
            "remove_tree",
            "rimraf",
            "rimrafSync",
            "rmSync",
            "removeSync",
            "emptyDirSync",
            "remove_entry_secure",
            "remove_entry",
            "removedirs",
            "remove_dir_all",
            "deleteDir",
        ],
    ),
    (
        Meaning::Deletes,
        &["unlink", "unlinkSync", "rmdir", "rmdirSync", "rm_f", "file.remove", "DelTree"],
    ),
    (
        Meaning::Writes,
        &[
            "write_text",
            "write_bytes",
            "writeFileSync",
            "writeFile",
            "appendFileSync",
            "appendFile",
            "createWriteStream",
            "file_put_contents",
            "truncate",
            "truncateSync",
            "writeTextFile",
            "writeTextFileSync",
            "binwrite",
            "chmod",
            "chown",
            "symlink_to",
            "chmodSync",
            "copyfile",
            "writeLines",
        ],
    ),
    (Meaning::Moves, &["rename", "renameSync", "move", "mv", "copytree", "copy2", "cpSync"]),
    (
        Meaning::Connects,
        &[
            "urlopen",
            "urlretrieve",
            "create_connection",
            "fetch",
            "XMLHttpRequest",
            "TCPSocket",
            "get_response",
            "curl_exec",
            "curl_init",
            "fsockopen",
            "create_server",
            "sendall",
            "download.file",
        ],
    ),
    (
        Meaning::Opaque,
        &[
            "__import__",
            "import_module",
            "__subclasses__",
            "__builtins__",
            "__getattribute__",
            "instance_eval",
            "class_eval",
            "module_eval",
            "public_send",
            "const_get",
            "create_function",
            "call_user_func",
            "call_user_func_array",
            "runInNewContext",
            "runInThisContext",
            "runInContext",
            "LoadLibrary",
            "CDLL",
            "dlopen",
            "syscall",
            "loadstring",
            "load_module",
            "exec_module",
            "binding",
            "dlsym",
        ],
    ),
];

/// By the whole name.
const BY_WHOLE: &[(Meaning, &[&str])] = &[
    (Meaning::Forks, &["fork", "os.fork", "Process.fork", "pcntl_fork"]),
    (
        Meaning::Runs,
        &[
            "subprocess.run",
            "subprocess.call",
            "sp.run",
            "sp.call",
            "Kernel.exec",
            "os.execute",
            "io.popen",
            "pty.spawn",
            "child_process.exec",
            "cp.exec",
            "Bun.$",
            "Deno.run",
            "Deno.Command",
            "Kernel.spawn",
            "IO.popen",
            "Open3.capture3",
            "process.execve",
        ],
    ),
    (
        Meaning::DeletesTree,
        &[
            "fs.rm",
            "fsp.rm",
            "fs.promises.rm",
            "Deno.remove",
            "Deno.removeSync",
            "FileUtils.rm",
            "FileUtils.rm_rf",
        ],
    ),
    (
        Meaning::Deletes,
        &[
            "os.remove",
            "os.unlink",
            "File.delete",
            "File::unlink",
            "Dir.delete",
            "Dir.rmdir",
            "FileUtils.rm_f",
            "fs.unlink",
        ],
    ),
    (
        Meaning::Writes,
        &["File.write", "IO.write", "Bun.write", "fs.truncate", "os.truncate", "Deno.writeFile"],
    ),
    (
        Meaning::Opens,
        &[
            "open",
            "io.open",
            "File.open",
            "fopen",
            "codecs.open",
            "fs.openSync",
            "io.output",
            "File.new",
        ],
    ),
    (Meaning::Moves, &["os.rename", "os.replace", "shutil.move", "fs.rename", "FileUtils.mv"]),
    (
        Meaning::Connects,
        &[
            "requests.get",
            "requests.post",
            "requests.put",
            "requests.delete",
            "requests.request",
            "http.get",
            "https.get",
            "http.request",
            "https.request",
            "axios",
            "axios.get",
            "axios.post",
            "socket.socket",
            "socket.connect",
            "s.connect",
            "net.connect",
            "Net::HTTP.get",
            "Net::HTTP.post",
            "URI.open",
            "httpx.get",
            "httpx.post",
            "http.client.HTTPSConnection",
            "http.client.HTTPConnection",
            "dns.lookup",
        ],
    ),
    (
        Meaning::Opaque,
        &[
            "eval",
            "exec",
            "compile",
            "getattr",
            "globals",
            "vars",
            "locals",
            "Function",
            "new.Function",
            "assert",
            "marshal.loads",
            "pickle.loads",
            "Marshal.load",
            "load",
            "builtins.exec",
            "builtins.eval",
            "runpy.run_path",
            "runpy.run_module",
            "execfile",
            "vm.runInNewContext",
            "process.mainModule",
            "globalThis.eval",
            "window.eval",
            "importlib.import_module",
            "send",
            "Object.send",
        ],
    ),
];

/// What a call of a name does in a language.
pub(super) fn meaning(language: &str, name: &str) -> Option<Meaning> {
    let last = name.rsplit(['.', ':', '>']).next().unwrap_or(name);
    // In most languages these run programs; Python's runs code.
    let is_python = super::is_python(language);
    let is_script = ["node", "bun", "deno", "ts"].iter().any(|l| language.starts_with(l));
    let is_awk = language.ends_with("awk");
    if last == "exec" && name == "exec" && !is_python {
        return Some(Meaning::Runs);
    }
    // Regular expressions have an `exec` too.
    if is_script && last == "exec" && name.starts_with("require") {
        return Some(Meaning::Runs);
    }
    // Tasks of Ruby.
    if language.starts_with("ruby") && name == "sh" {
        return Some(Meaning::Runs);
    }
    if is_script && name == "rm" {
        return Some(Meaning::DeletesTree);
    }
    if is_awk {
        return (name == "system").then_some(Meaning::Runs);
    }
    if is_script
        && matches!(name, "open" | "compile" | "load" | "vars" | "locals" | "send" | "assert")
    {
        return None;
    }
    // Only where they are what their name says elsewhere.
    if !is_python && matches!(name, "compile" | "getattr" | "globals" | "vars" | "locals") {
        return None;
    }
    if is_python && matches!(name, "load" | "send" | "assert") {
        return None;
    }
    let in_table = |table: &[(Meaning, &[&str])], name: &str| {
        table.iter().find(|(_, names)| names.contains(&name)).map(|(meaning, _)| *meaning)
    };
    in_table(BY_WHOLE, name).or_else(|| match last {
        // Of text, numbers and lists.
        "move" | "mv" | "binding" if !name.contains(['.', ':']) => None,
        last => in_table(BY_LAST, last),
    })
}
