//! Keepers of versions other than git.

use crate::effects::Thing;
use crate::effects::row::{
    Act, DELETE, DRY, FORCE, LOOK, NONE, Tool, Which, changes, destroys, flag, may_fill, net, tool,
    value, writes,
};
use crate::effects::special::git;

const FILES_CHANGE: Act = may_fill(".");
const LOOKS: Tool = tool(&[
    "status", "st", "log", "diff", "info", "cat", "blame", "annotate", "list", "ls", "show",
    "heads", "timeline", "opened", "changes", "whatsnew",
]);
const GONE: &[Act] = &[destroys(Thing::Repository)];
const REWRITTEN: &[Act] = &[destroys(Thing::History)];

/// Back to what was there before: all of it, or some files.
const REVERT: Tool = tool(&["revert", "restore"])
    .options(&[flag("Ra", &["recursive", "all"], FORCE), flag("n", &["dry-run"], DRY)])
    .valued("r", &["revision", "from", "to", "changes-in"])
    .acts(&[
        destroys(Thing::Repository).when(FORCE),
        destroys(Thing::Repository).when(NONE).unless(FORCE),
        writes(Which::All).unless(FORCE),
        changes(Thing::Repository).unless(FORCE | NONE),
    ]);

const MOVES: Tool = tool(&[
    "pull", "commit", "update", "up", "checkout", "co", "clone", "switch", "sync", "submit",
])
.valued("mrb", &["message", "revision", "bookmark"])
.acts(&[
    net("remote"),
    FILES_CHANGE,
    destroys(Thing::Repository).when(FORCE),
    changes(Thing::Repository).unless(FORCE),
]);

const JJ: &[Tool] = &[
    LOOKS,
    REVERT,
    tool(&["abandon"]).acts(GONE),
    tool(&["op", "operation"]).subs(&[
        tool(&["restore", "abandon"]).acts(GONE),
        tool(&["undo", "revert"]).acts(&[changes(Thing::Repository)]),
        tool(&["log", "show", "diff"]),
    ]),
    tool(&["util"]).subs(&[tool(&["gc"])
        .options(&[value("", &["expire"], FORCE)])
        .acts(&[destroys(Thing::History).when(FORCE)])]),
    tool(&["git"]).subs(&[
        tool(&["push"])
            .options(&[flag("", &["deleted"], DELETE), flag("", &["dry-run"], DRY)])
            .valued("bcr", &["bookmark", "branch", "remote", "change", "revisions"])
            .acts(&[
                net("remote"),
                destroys(Thing::History).when(DELETE),
                changes(Thing::History).unless(DELETE),
            ]),
        tool(&["fetch", "clone", "init", "import", "export", "remote"])
            .acts(&[net("remote"), changes(Thing::Repository)]),
    ]),
];

const OTHERS: &[Tool] = &[
    LOOKS,
    REVERT,
    tool(&["purge", "clean", "clean-tree"])
        .options(&[flag("p", &["print", "dry-run"], DRY)])
        .acts(GONE),
    tool(&["strip", "obliterate", "rollback", "prune", "debugobsolete", "unpull"])
        .options(&[flag("n", &["dry-run"], DRY)])
        .acts(REWRITTEN),
    tool(&["push"])
        .options(&[flag("f", &["force"], FORCE)])
        .valued("rb", &["rev", "branch", "bookmark"])
        .acts(&[
            net("remote"),
            destroys(Thing::History).when(FORCE),
            FILES_CHANGE,
            changes(Thing::Repository).unless(FORCE),
        ]),
    tool(&["delete", "rm", "remove", "del"])
        .options(&[flag("f", &["force"], FORCE)])
        .valued("mF", &["message", "file"])
        .special(git::published),
    MOVES,
];

pub(super) const ROWS: &[Tool] = &[
    tool(&["jj"])
        .valued("R", &["repository", "at-op", "config"])
        .subs(JJ)
        .acts(&[changes(Thing::Repository)]),
    tool(&["svn", "hg", "fossil", "bzr", "sl", "darcs", "pijul"])
        .options(&[flag("C", &["clean", "remove-unversioned", "discard"], FORCE)])
        .subs(OTHERS)
        .acts(&[destroys(Thing::Repository).when(FORCE), changes(Thing::Repository).unless(FORCE)]),
    tool(&["p4"]).valued("cpuP", &[]).subs(&[
        LOOKS,
        tool(&["obliterate"]).options(&[flag("y", &[], FORCE)]).acts(REWRITTEN),
        tool(&["revert", "clean"])
            .options(&[flag("n", &[], DRY), flag("a", &[], LOOK)])
            .acts(&[destroys(Thing::Repository).unless(LOOK)]),
        tool(&["sync"]).options(&[flag("n", &[], DRY), flag("f", &[], FORCE)]).acts(&[
            net("remote"),
            FILES_CHANGE,
            destroys(Thing::Repository).when(FORCE),
        ]),
    ]),
    tool(&["cvs"]).subs(&[
        LOOKS,
        tool(&["update", "up"]).options(&[flag("C", &[], FORCE)]).acts(&[
            net("remote"),
            FILES_CHANGE,
            destroys(Thing::Repository).when(FORCE),
        ]),
    ]),
    tool(&["repo"]).subs(&[
        tool(&["sync"])
            .options(&[flag("", &["force-sync", "force-remove-dirty"], FORCE)])
            .valued("j", &["jobs"])
            .acts(&[net("remote"), FILES_CHANGE, destroys(Thing::Repository).when(FORCE)]),
        tool(&["abandon", "prune"]).acts(GONE),
        tool(&["status", "info", "list", "diff"]),
    ]),
];
