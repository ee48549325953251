//! Paths as texts. What links lead to is not known here.

/// The path without `.`, `..` and double slashes, as far as its text tells.
pub(crate) fn normalize(path: &str) -> String {
    let is_absolute = path.starts_with('/');
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." => match parts.last() {
                Some(&last) if last != ".." => {
                    parts.pop();
                }
                // Above the root is the root.
                _ if is_absolute => {}
                _ => parts.push(".."),
            },
            part => parts.push(part),
        }
    }
    let joined = parts.join("/");
    match (is_absolute, joined.is_empty()) {
        (true, _) => format!("/{joined}"),
        (false, true) => ".".to_owned(),
        (false, false) => joined,
    }
}

/// Whether the path is the folder or below it. A relative path counts from the folder; one that
/// begins with `~`, or has a NUL in it, is nowhere that could be told.
pub(crate) fn is_inside(path: &str, root: &str) -> bool {
    if path.starts_with('~') || path.contains('\0') || root.is_empty() {
        return false;
    }
    let root = normalize(root);
    let path = match path.strip_prefix('/') {
        Some(_) => normalize(path),
        None => normalize(&format!("{root}/{path}")),
    };
    let rest = match &*root {
        "/" => path.strip_prefix('/'),
        // What is relative and does not lead upwards.
        "." => (!path.starts_with('/')).then_some(&*path),
        root if path == root => return true,
        root => path.strip_prefix(root).and_then(|rest| rest.strip_prefix('/')),
    };
    // Behind a root that itself leads upwards, a path may go on doing so.
    rest.is_some_and(|rest| rest != ".." && !rest.starts_with("../"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn paths_are_normalized() {
        for (path, normal) in [
            ("/a/./b//../c/", "/a/c"),
            ("/../..", "/"),
            ("../a/../../b", "../../b"),
            ("", "."),
            ("a/..", "."),
            ("./x", "x"),
        ] {
            assert_eq!(normalize(path), normal, "{path}");
        }
    }

    #[test]
    fn inside_is_inside() {
        for (path, root, inside) in [
            ("/work/a", "/work", true),
            ("/work", "/work/", true),
            ("/work/../etc", "/work", false),
            ("/workshop/a", "/work", false),
            ("a/b", "/work", true),
            ("../a", "/work", false),
            ("a/../../etc", "/work", false),
            ("/etc", "/", true),
            ("~/x", "/work", false),
            ("a\0", "/work", false),
            ("/work/a", "", false),
            ("a", ".", true),
            ("../a", ".", false),
            ("/a", ".", false),
            ("a", "sub", true),
            ("..", "sub", false),
            ("../../etc/passwd", "..", false),
            ("a", "..", true),
            ("/", "/", true),
            ("..x", ".", true),
        ] {
            assert_eq!(is_inside(path, root), inside, "{path} in {root}");
        }
    }
}
