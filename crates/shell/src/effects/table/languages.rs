//! Builders of languages that are managers of packages, too.

use crate::effects::row::{
    A, Act, DELETE, DRY, LOOK, RUNS, Role, Style, Tool, Which, attached, changes, changes_each,
    destroys_each, fixed, fixed_tree, flag, may_fill, net, plays, tool, value,
};
use crate::effects::special::packages;
use crate::effects::{Kind, Thing};

const INSTALLS: &[Act] = &[changes_each(Thing::Package, Which::All), net("registry")];

const CARGO: &[Tool] = &[
    tool(&[
        "build",
        "b",
        "check",
        "c",
        "clippy",
        "test",
        "t",
        "run",
        "r",
        "bench",
        "doc",
        "d",
        "fix",
        "nextest",
        "fmt",
        "rustc",
        "rustdoc",
        "miri",
        "llvm-cov",
        "tarpaulin",
        "watch",
        "xtask",
        "expand",
        "audit",
        "deny",
    ])
    .style(Style::Leading)
    .options(&[
        plays("", &["target-dir"], Role::WriteTree),
        plays("", &["manifest-path"], Role::Read),
    ])
    .acts(&[RUNS]),
    tool(&["install"])
        .options(&[plays("", &["root"], Role::WriteTree), plays("", &["path"], Role::ReadTree)])
        .valued(
            "j",
            &[
                "version", "git", "branch", "tag", "rev", "features", "registry", "profile",
                "target",
            ],
        )
        .acts(&[changes_each(Thing::Package, Which::All), net("crates.io")]),
    tool(&["uninstall"]).acts(&[changes_each(Thing::Package, Which::All)]),
    tool(&["publish", "login"])
        .options(&[flag("", &["dry-run"], DRY)])
        .acts(&[net("crates.io"), changes(Thing::Cloud)]),
    tool(&["yank"])
        .options(&[flag("", &["undo"], LOOK)])
        .valued("", &["version", "vers", "registry"])
        .acts(&[
            net("crates.io"),
            destroys_each(Thing::Cloud, Which::First).unless(LOOK),
            changes(Thing::Cloud).when(LOOK),
        ]),
    tool(&["owner"]).options(&[value("r", &["remove"], DELETE), value("a", &["add"], 0)]).acts(&[
        net("crates.io"),
        destroys_each(Thing::Cloud, Which::First).when(DELETE),
        changes(Thing::Cloud).unless(DELETE),
    ]),
    tool(&["clean"])
        .options(&[
            flag("n", &["dry-run"], DRY),
            value("", &["target-dir"], A),
            value("p", &["package", "profile", "target", "manifest-path"], 0),
        ])
        .special(packages::cargo_clean),
    tool(&["fetch", "update", "search", "info"]).acts(&[net("crates.io")]),
    tool(&["add"])
        .acts(&[fixed(Kind::Write, "Cargo.toml"), changes_each(Thing::Package, Which::All)]),
    tool(&["remove", "rm", "generate-lockfile", "vendor", "new", "init"])
        .acts(&[fixed(Kind::Write, "Cargo.toml")]),
    tool(&[
        "tree",
        "metadata",
        "pkgid",
        "locate-project",
        "read-manifest",
        "verify-project",
        "version",
        "help",
        "package",
    ]),
];

const GO: &[Tool] = &[
    tool(&["build", "test", "run", "vet", "generate", "tool", "fix", "bug"])
        .options(&[plays("", &["o", "coverprofile", "cpuprofile", "memprofile"], Role::Write)])
        .style(Style::LeadingWords)
        .acts(&[RUNS]),
    tool(&["install"])
        .style(Style::Words)
        .acts(&[changes_each(Thing::Package, Which::All), net("proxy.golang.org")]),
    tool(&["get"])
        .style(Style::Words)
        .acts(&[net("proxy.golang.org"), fixed(Kind::Write, "go.mod")]),
    tool(&["mod", "work"]).acts(&[net("proxy.golang.org"), fixed(Kind::Write, "go.mod")]),
    tool(&["clean"]).style(Style::Words),
    tool(&["fmt"]).acts(&[may_fill(".")]),
    tool(&["list", "env", "version", "doc", "help"]),
];

const GEM: &[Tool] = &[
    tool(&["install", "update", "i"]).acts(INSTALLS),
    tool(&["uninstall", "cleanup"]).acts(&[changes_each(Thing::Package, Which::All)]),
    tool(&["push", "owner"]).acts(&[net("rubygems.org"), changes(Thing::Cloud)]),
    tool(&["yank"])
        .valued("v", &["version", "platform"])
        .acts(&[net("rubygems.org"), destroys_each(Thing::Cloud, Which::First)]),
    tool(&["list", "search", "info", "env", "which", "contents", "build"]),
];

const BUNDLE: &[Tool] = &[
    tool(&["install", "update", "add", "remove"])
        .acts(&[net("rubygems.org"), changes(Thing::Package)]),
    tool(&["exec"]).style(Style::Leading).acts(&[RUNS]),
    tool(&["show", "list", "info", "outdated", "check", "config"]),
];

const COMPOSER: &[Tool] = &[
    tool(&["install", "update", "require", "remove", "create-project", "i", "u"])
        .options(&[flag("", &["dry-run"], DRY)])
        .acts(&[fixed_tree(Kind::Write, "vendor"), net("packagist.org")]),
    tool(&["global"]).acts(INSTALLS),
    tool(&["run", "run-script", "exec", "test"]).style(Style::Leading).acts(&[RUNS]),
    tool(&["show", "info", "search", "validate", "dump-autoload", "outdated", "diagnose", "audit"]),
];

pub(super) const ROWS: &[Tool] = &[
    tool(&["cargo"])
        .options(&[plays("C", &[], Role::Base), attached("", &["color"], 0)])
        .valued("Z", &["config"])
        .subs(CARGO)
        .acts(&[RUNS]),
    tool(&["go"]).options(&[plays("C", &[], Role::Base)]).subs(GO),
    tool(&["gem"]).subs(GEM),
    tool(&["bundle", "bundler"]).subs(BUNDLE),
    tool(&["composer"]).options(&[plays("d", &["working-dir"], Role::Base)]).subs(COMPOSER),
    tool(&["pod"])
        .subs(&[tool(&["trunk"]).subs(&[
            tool(&["delete", "deprecate", "remove-owner"])
                .acts(&[net("registry"), destroys_each(Thing::Cloud, Which::First)]),
            tool(&["push", "add-owner", "register"])
                .acts(&[net("registry"), changes(Thing::Cloud)]),
        ])])
        .acts(&[RUNS]),
    tool(&["swift"]).special(packages::swift),
    tool(&["deno"]).style(Style::Leading).acts(&[RUNS]),
];
