//! git and its neighbours.

use crate::effects::row::{
    A, ALL, Act, B, C, DELETE, DRY, FORCE, GLOBAL, INPLACE, LOOK, NONE, Opt, RUNS, Role, Style,
    TREE, Tool, Which, attached, changes, changes_each, deletes, destroys, destroys_each, fills,
    fixed_tree, flag, may_fill, net, plays, reads, sweeps, tool, value, writes,
};
use crate::effects::special::git;
use crate::effects::{Kind, Thing};

const FILES_CHANGE: Act = may_fill(".");
const DRY_N: Opt = flag("n", &["dry-run"], DRY);

const STASH: &[Tool] = &[
    tool(&["drop", "clear"]).acts(&[destroys(Thing::Repository)]),
    tool(&["list", "show"]),
    tool(&["push", "save", "pop", "apply", "branch"])
        .valued("m", &["message"])
        .acts(&[FILES_CHANGE, changes(Thing::Repository)]),
];

const REMOTE: &[Tool] = &[
    tool(&["add", "remove", "rm", "rename", "set-url", "set-head", "set-branches"])
        .acts(&[changes_each(Thing::Setting, Which::First)]),
    tool(&["update", "prune"]).acts(&[net("remote")]),
    tool(&["show"]).acts(&[net("remote")]),
];

const WORKTREE: &[Tool] = &[
    tool(&["add"])
        .valued("bB", &["reason"])
        .acts(&[fills(Which::First), changes(Thing::Repository)]),
    // Without force it does not touch a tree that has changes in it.
    tool(&["remove"]).options(&[flag("f", &["force"], FORCE)]).acts(&[
        sweeps(Which::First).when(FORCE),
        destroys(Thing::Repository).when(FORCE),
        changes(Thing::Repository).unless(FORCE),
    ]),
    tool(&["move"]).acts(&[fills(Which::Second)]),
    tool(&["list", "prune", "lock", "unlock", "repair"]),
];

const SUBMODULE: &[Tool] = &[
    tool(&["add", "update", "init", "sync"]).acts(&[
        FILES_CHANGE,
        net("remote"),
        changes(Thing::Repository),
    ]),
    tool(&["deinit"])
        .options(&[flag("f", &["force"], FORCE)])
        .acts(&[destroys(Thing::Repository).when(FORCE), changes(Thing::Repository).unless(FORCE)]),
    tool(&["status", "summary", "foreach"]),
];

const REFLOG: &[Tool] = &[
    tool(&["expire", "delete"]).options(&[DRY_N]).acts(&[destroys(Thing::History)]),
    tool(&["show", "exists", "list"]),
];

const GIT: &[Tool] = &[
    tool(&[
        "status",
        "log",
        "diff",
        "show",
        "blame",
        "shortlog",
        "describe",
        "rev-parse",
        "rev-list",
        "ls-files",
        "ls-tree",
        "cat-file",
        "for-each-ref",
        "show-ref",
        "merge-base",
        "name-rev",
        "cherry",
        "range-diff",
        "whatchanged",
        "count-objects",
        "fsck",
        "check-ignore",
        "check-attr",
        "diff-tree",
        "diff-index",
        "diff-files",
        "var",
        "help",
        "annotate",
        "verify-commit",
        "verify-tag",
        "show-branch",
        "merge-tree",
        "grep",
        "difftool",
        "get-tar-commit-id",
    ])
    .options(&[plays("", &["output"], Role::Write)])
    .acts(&[fixed_tree(Kind::Read, ".")]),
    tool(&[
        "version",
        "bisect",
        "instaweb",
        "gui",
        "citool",
        "maintenance",
        "rerere",
        "column",
        "interpret-trailers",
        "stripspace",
        "check-ref-format",
        "credential",
    ]),
    tool(&["add", "stage"])
        .options(&[
            DRY_N,
            flag("Au", &["all", "update"], ALL),
            plays("", &["pathspec-from-file"], Role::Read),
        ])
        .valued("", &["chmod"])
        .acts(&[reads(Which::All), changes(Thing::Repository)]),
    tool(&[
        "commit",
        "notes",
        "update-index",
        "write-tree",
        "commit-tree",
        "hash-object",
        "mktag",
        "replace",
        "rerere-gc",
        "pack-refs",
        "repack",
        "sparse-checkout",
        "mktree",
        "pack-objects",
    ])
    .options(&[
        flag("", &["dry-run"], DRY),
        plays("Ft", &["file", "template"], Role::Read),
        flag("l", &["list"], LOOK),
    ])
    .valued(
        "mCcu",
        &["message", "author", "date", "reuse-message", "fixup", "squash", "cleanup", "trailer"],
    )
    .acts(&[changes(Thing::Repository).unless(LOOK)]),
    tool(&["tag"])
        .options(&[
            plays("F", &["file"], Role::Read),
            flag("ln", &["list", "contains", "points-at", "merged", "verify"], LOOK),
            flag("d", &["delete"], DELETE),
            flag("f", &["force"], FORCE),
        ])
        .valued("mu", &["message", "local-user", "cleanup", "sort", "format"])
        .special(git::tag),
    tool(&["symbolic-ref"]).options(&[flag("d", &["delete"], DELETE)]).valued("m", &[]).acts(&[
        destroys(Thing::Repository).when(DELETE),
        changes(Thing::Repository).unless(DELETE),
    ]),
    tool(&["push"])
        .options(&[
            DRY_N,
            flag("f", &["force"], FORCE),
            attached("", &["force-with-lease"], A),
            flag("", &["force-if-includes"], A),
            flag("d", &["delete"], DELETE),
            flag("", &["mirror", "prune"], FORCE),
        ])
        .valued("o", &["push-option", "receive-pack", "exec", "repo"])
        .special(git::push),
    tool(&["pull"])
        .options(&[flag("", &["dry-run"], DRY), flag("f", &["force"], 0)])
        .valued("sXjo", &["strategy", "strategy-option", "depth", "upload-pack"])
        .acts(&[FILES_CHANGE])
        .special(git::remote),
    tool(&["fetch"])
        .options(&[flag("", &["dry-run"], DRY), flag("f", &["force"], FORCE)])
        .valued("jo", &["depth", "upload-pack", "refmap", "shallow-since", "jobs"])
        .special(git::fetch),
    tool(&["ls-remote"]).valued("o", &["sort", "upload-pack"]).special(git::remote),
    tool(&["clone"])
        .options(&[plays("", &["reference", "template"], Role::ReadTree)])
        .valued(
            "bojuc",
            &[
                "branch",
                "origin",
                "depth",
                "upload-pack",
                "config",
                "filter",
                "jobs",
                "separate-git-dir",
                "shallow-since",
            ],
        )
        .special(git::clone),
    tool(&["checkout", "switch"])
        .options(&[
            flag("f", &["force", "discard-changes"], FORCE),
            value("bc", &["orphan", "create"], A),
            value("BC", &["force-create"], A | C),
            plays("", &["pathspec-from-file"], Role::Read),
        ])
        .valued("", &["conflict"])
        .special(git::checkout),
    tool(&["restore"])
        .options(&[
            flag("S", &["staged"], A),
            flag("W", &["worktree"], B),
            plays("", &["pathspec-from-file"], Role::Read),
        ])
        .valued("s", &["source", "conflict"])
        .special(git::restore),
    tool(&["reset"])
        .options(&[flag("", &["hard", "merge"], FORCE), flag("", &["keep"], A)])
        .says("--hard", FORCE)
        .acts(&[
            destroys(Thing::Repository).when(FORCE),
            FILES_CHANGE.when(FORCE),
            changes(Thing::Repository).unless(FORCE),
        ]),
    tool(&["clean"])
        .options(&[DRY_N, flag("f", &["force"], FORCE), flag("i", &["interactive"], A)])
        .valued("e", &["exclude"])
        .special(git::clean),
    tool(&["stash"])
        .subs(STASH)
        .valued("m", &["message"])
        .acts(&[FILES_CHANGE, changes(Thing::Repository)]),
    tool(&["branch"])
        .options(&[
            flag("D", &[], FORCE),
            flag("d", &["delete"], DELETE),
            flag("f", &["force"], C),
            flag("MC", &[], B),
            flag(
                "larv",
                &["list", "all", "remotes", "show-current", "contains", "merged", "no-merged"],
                LOOK,
            ),
        ])
        .valued("u", &["set-upstream-to", "sort", "format", "points-at"])
        .special(git::branch),
    tool(&["merge", "rebase", "cherry-pick", "revert", "read-tree", "merge-file", "mergetool"])
        .options(&[flag("", &["reset"], FORCE), plays("F", &["file"], Role::Read)])
        .valued("smX", &["strategy", "strategy-option", "onto", "exec", "message", "mainline"])
        .acts(&[FILES_CHANGE, changes(Thing::Repository), destroys(Thing::Repository).when(FORCE)]),
    tool(&["checkout-index"])
        .options(&[flag("f", &["force"], FORCE), flag("a", &["all"], ALL)])
        .valued("", &["prefix", "stage"])
        .acts(&[
            destroys(Thing::Repository).when(FORCE | ALL),
            writes(Which::All),
            FILES_CHANGE.when(ALL),
        ]),
    tool(&["am", "apply"])
        .options(&[
            flag("", &["check", "stat", "numstat", "summary"], DRY),
            plays("", &["directory"], Role::Base),
        ])
        .valued("pC", &["whitespace", "exclude", "include"])
        .acts(&[reads(Which::All), FILES_CHANGE]),
    tool(&["rm"])
        .options(&[
            DRY_N,
            flag("r", &[], TREE),
            flag("f", &["force"], FORCE),
            flag("", &["cached"], LOOK),
        ])
        .acts(&[deletes(Which::All).unless(LOOK), changes(Thing::Repository)]),
    tool(&["mv"]).options(&[DRY_N]).special(git::mv),
    tool(&["filter-branch", "filter-repo"])
        .options(&[flag("", &["dry-run", "analyze"], DRY)])
        .style(Style::Leading)
        .acts(&[destroys(Thing::History)]),
    tool(&["reflog"]).subs(REFLOG),
    tool(&["gc"]).options(&[attached("", &["prune"], A)]).special(git::gc),
    tool(&["prune"]).options(&[DRY_N]).acts(&[destroys(Thing::History)]),
    tool(&["update-ref"])
        .options(&[flag("d", &[], DELETE), flag("", &["stdin"], DELETE)])
        .valued("m", &[])
        .special(git::update_ref),
    tool(&["config"])
        .options(&[
            flag("", &["global"], GLOBAL),
            flag("", &["system"], ALL),
            flag(
                "l",
                &[
                    "list",
                    "get",
                    "get-all",
                    "get-regexp",
                    "get-urlmatch",
                    "show-origin",
                    "name-only",
                ],
                LOOK,
            ),
            plays("f", &["file"], Role::Write),
            flag("", &["unset", "unset-all", "add", "replace-all", "edit"], INPLACE),
        ])
        .valued("", &["type", "default"])
        .special(git::config),
    tool(&["remote"]).subs(REMOTE),
    tool(&["worktree"]).subs(WORKTREE),
    tool(&["submodule"]).subs(SUBMODULE),
    tool(&["init"])
        .valued("b", &["initial-branch", "template", "separate-git-dir"])
        .acts(&[changes(Thing::Repository), writes(Which::First)]),
    tool(&["bundle"]).special(git::bundle),
    tool(&["archive", "format-patch", "fast-export", "request-pull"])
        .options(&[plays("o", &["output", "output-directory"], Role::Write)])
        .acts(&[fixed_tree(Kind::Read, ".")]),
    tool(&["fast-import", "unpack-objects", "index-pack"])
        .options(&[flag("", &["force"], FORCE)])
        .acts(&[destroys(Thing::History).when(FORCE), changes(Thing::Repository).unless(FORCE)]),
    tool(&["send-email", "imap-send"]).acts(&[reads(Which::All), net("remote")]),
    tool(&["lfs"])
        .subs(&[tool(&["migrate"]).subs(&[
            tool(&["import", "export"]).acts(&[destroys(Thing::History)]),
            tool(&["info"]),
        ])])
        .acts(&[net("remote").unless(NONE), changes(Thing::Repository)]),
    tool(&["annex"])
        .subs(&[tool(&["drop", "dropunused"]).options(&[flag("", &["force"], FORCE)]).acts(&[
            destroys_each(Thing::Repository, Which::All).when(FORCE),
            changes(Thing::Repository).unless(FORCE),
        ])])
        .acts(&[net("remote").unless(NONE), changes(Thing::Repository)]),
    tool(&["svn", "p4", "cvsimport"]).acts(&[net("remote"), FILES_CHANGE]),
];

const GH_REPO: &[Tool] = &[
    tool(&["delete", "archive"])
        .acts(&[destroys_each(Thing::Cloud, Which::First), net("github.com")]),
    tool(&["clone"]).acts(&[net("github.com")]).special(git::clone),
    tool(&["create", "edit", "rename", "fork", "sync"])
        .options(&[flag("", &["force"], FORCE), value("", &["visibility"], A)])
        .acts(&[
            changes_each(Thing::Cloud, Which::First),
            net("github.com"),
            destroys(Thing::History).when(FORCE),
        ])
        .special(git::visibility),
];

const GH_REMOVE: &[Tool] = &[
    tool(&["delete", "remove", "delete-asset"])
        .acts(&[destroys_each(Thing::Cloud, Which::First), net("github.com")]),
    tool(&["download"])
        .options(&[plays("D", &["dir"], Role::WriteTree)])
        .valued("pRO", &["pattern", "repo"])
        .acts(&[net("github.com")]),
];

const GH_SECRET: &[Tool] = &[
    tool(&["delete", "remove"])
        .acts(&[destroys_each(Thing::Secret, Which::First), net("github.com")]),
    tool(&["set"]).acts(&[changes_each(Thing::Secret, Which::First), net("github.com")]),
];

const GH: &[Tool] = &[
    tool(&["repo"]).subs(GH_REPO).acts(&[net("github.com")]),
    tool(&["release", "issue", "gist", "project", "label", "codespace", "cache", "run", "ruleset"])
        .subs(GH_REMOVE)
        .acts(&[net("github.com")]),
    tool(&["secret", "variable", "ssh-key", "gpg-key"]).subs(GH_SECRET).acts(&[net("github.com")]),
    tool(&["api"])
        .options(&[value("X", &["method"], A), plays("", &["input"], Role::Read)])
        .valued("fFHqt", &["field", "raw-field", "header", "jq", "template", "hostname"])
        .special(git::gh_api),
    tool(&["delete"]).acts(&[destroys_each(Thing::Cloud, Which::First), net("github.com")]),
    tool(&["auth", "pr", "workflow", "search", "browse", "status", "extension", "co"])
        .acts(&[net("github.com")]),
    tool(&["config", "alias", "completion"]),
];

pub(super) const ROWS: &[Tool] = &[
    tool(&["git"])
        .options(&[
            plays("C", &[], Role::Base),
            plays("", &["work-tree"], Role::Base),
            value("", &["git-dir", "namespace", "exec-path"], 0),
        ])
        .valued("c", &["config-env", "super-prefix"])
        .subs(GIT)
        .special(git::other),
    tool(&["git-filter-repo", "git-filter-branch", "bfg"])
        .options(&[flag("", &["dry-run", "analyze"], DRY)])
        .acts(&[destroys(Thing::History)]),
    tool(&["gh", "hub"]).subs(GH).acts(&[net("github.com")]),
    tool(&["pre-commit", "husky", "lint-staged", "lefthook", "tig", "lazygit", "gitk", "git-lfs"])
        .acts(&[RUNS]),
];
