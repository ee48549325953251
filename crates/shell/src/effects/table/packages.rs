//! Package managers.

use crate::effects::row::{
    A, ALL, Act, B, C, D, DELETE, DRY, FORCE, GLOBAL, LOOK, NONE, Opt, RUNS, Role, Style, Tool,
    Which, attached, changes, changes_each, destroys, destroys_each, fills, fixed, fixed_tree,
    flag, net, plays, reads, tool, value,
};
use crate::effects::special::packages;
use crate::effects::{Kind, Thing};

const SIMULATE: Opt = flag("s", &["simulate", "just-print", "dry-run", "recon", "no-act"], DRY);
const ESSENTIAL: Opt =
    flag("", &["allow-remove-essential", "force-yes", "force-remove-essential"], FORCE);
const INSTALLS: &[Act] = &[changes_each(Thing::Package, Which::All), net("registry")];
const REFRESHES: &[Act] = &[net("registry")];
const NODE: &str = "registry.npmjs.org";

const APT: &[Tool] = &[
    tool(&[
        "install",
        "reinstall",
        "upgrade",
        "full-upgrade",
        "dist-upgrade",
        "build-dep",
        "safe-upgrade",
    ])
    .valued("t", &["target-release"])
    .special(packages::install),
    tool(&["remove", "purge", "autoremove", "autopurge"]).special(packages::remove),
    tool(&["update", "source", "download", "changelog"]).acts(REFRESHES),
    tool(&["clean", "autoclean"]).acts(&[fixed_tree(Kind::Delete, "/var/cache/apt/archives")]),
    tool(&["edit-sources"]).acts(&[fixed(Kind::Write, "/etc/apt/sources.list")]),
    tool(&["list", "search", "show", "policy", "depends", "rdepends", "check", "showsrc"]),
];

const YUM: &[Tool] = &[
    tool(&[
        "install",
        "reinstall",
        "upgrade",
        "update",
        "downgrade",
        "groupinstall",
        "localinstall",
        "in",
        "dup",
        "up",
    ])
    .acts(INSTALLS),
    tool(&["remove", "erase", "autoremove", "groupremove", "rm", "swap"]).special(packages::remove),
    tool(&["makecache", "check-update", "refresh", "ref"]).acts(REFRESHES),
    tool(&["clean"]),
    tool(&["list", "search", "info", "provides", "repolist", "history", "repoquery", "se"]),
];

const BREW: &[Tool] = &[
    tool(&["install", "upgrade", "reinstall", "tap", "bundle"]).acts(INSTALLS),
    tool(&["uninstall", "remove", "rm", "untap", "autoremove", "cleanup"])
        .options(&[flag("n", &["dry-run"], DRY)])
        .acts(&[changes_each(Thing::Package, Which::All)]),
    tool(&["update", "fetch"]).acts(REFRESHES),
    tool(&["services"]).acts(&[changes_each(Thing::Service, Which::Rest)]),
    tool(&[
        "list", "search", "info", "ls", "leaves", "outdated", "doctor", "config", "deps", "home",
    ]),
];

const SNAP: &[Tool] = &[
    tool(&["install", "refresh", "update"]).acts(INSTALLS),
    tool(&["remove", "uninstall"])
        .options(&[flag("", &["purge", "delete-data", "all"], FORCE)])
        .acts(&[
            destroys_each(Thing::Package, Which::All).when(FORCE),
            changes_each(Thing::Package, Which::All).unless(FORCE),
        ]),
    tool(&["list", "find", "search", "info", "run"]),
];

const APK: &[Tool] = &[
    tool(&["add", "upgrade", "fix"]).valued("tXp", &["virtual", "repository"]).acts(INSTALLS),
    tool(&["del"]).special(packages::remove),
    tool(&["update", "fetch"]).acts(REFRESHES),
    tool(&["info", "search", "list", "policy"]),
];

const PIP: &[Tool] = &[
    tool(&["install", "sync"])
        .options(&[
            plays("rc", &["requirement", "constraint"], Role::Read),
            plays("t", &["target", "prefix", "root"], Role::WriteTree),
            flag("", &["dry-run"], DRY),
            plays("e", &["editable"], Role::ReadTree).bits(A),
        ])
        .valued("if", &["index-url", "extra-index-url", "find-links", "python", "timeout", "proxy"])
        .acts(&[changes_each(Thing::Package, Which::All), net("pypi.org")]),
    tool(&["uninstall"])
        .options(&[plays("r", &["requirement"], Role::Read)])
        .special(packages::uninstall),
    tool(&["compile"]).acts(&[changes_each(Thing::Package, Which::All)]),
    tool(&["download", "wheel"])
        .options(&[
            plays("dw", &["dest", "wheel-dir"], Role::WriteTree),
            plays("r", &["requirement"], Role::Read),
        ])
        .acts(&[net("pypi.org")]),
    tool(&[
        "list", "freeze", "show", "check", "config", "cache", "index", "debug", "help", "inspect",
        "tree",
    ]),
];

const UV: &[Tool] = &[
    tool(&["pip"]).subs(PIP),
    tool(&["add", "remove", "sync", "lock", "tool", "python", "init", "self"])
        .acts(&[net("pypi.org"), changes(Thing::Package)]),
    tool(&["run", "build"])
        .style(Style::Leading)
        .valued("p", &["with", "python", "env-file", "extra", "group"])
        .acts(&[RUNS]),
    tool(&["publish"]).acts(&[net("pypi.org"), changes(Thing::Cloud)]),
    tool(&["venv"]).acts(&[fills(Which::First), fixed_tree(Kind::Write, ".venv").when(NONE)]),
    tool(&["cache"]),
];

const CONDA: &[Tool] = &[
    tool(&["install", "create", "update", "upgrade"])
        .options(&[flag("d", &["dry-run"], DRY), plays("f", &["file"], Role::Read)])
        .valued("ncp", &["name", "channel", "prefix"])
        .acts(INSTALLS),
    tool(&["remove", "uninstall"])
        .options(&[flag("", &["all"], ALL), value("n", &["name"], A), value("p", &["prefix"], A)])
        .valued("c", &["channel"])
        .special(packages::conda),
    tool(&["env"])
        .subs(&[tool(&["remove"])
            .options(&[value("n", &["name"], A), value("p", &["prefix"], A)])
            .special(packages::conda)])
        .acts(&[changes(Thing::Package), net("registry")]),
    tool(&["run"]).style(Style::Leading).acts(&[RUNS]),
    tool(&["list", "info", "search", "activate", "deactivate", "config", "clean", "init"]),
];

const NPM_CACHE: &[Tool] =
    &[tool(&["clean", "clear", "prune", "rm"]), tool(&["ls", "verify", "dir", "list", "path"])];

const NPM: &[Tool] = &[
    tool(&[
        "install",
        "i",
        "in",
        "ins",
        "add",
        "ci",
        "update",
        "up",
        "upgrade",
        "clean-install",
        "install-test",
        "it",
        "dedupe",
        "link",
        "rebuild",
        "audit",
        "patch",
        "import",
    ])
    .special(packages::node),
    tool(&["uninstall", "remove", "rm", "un", "unlink", "prune"]).special(packages::node),
    tool(&[
        "run",
        "run-script",
        "rum",
        "test",
        "t",
        "tst",
        "start",
        "stop",
        "restart",
        "build",
        "exec",
        "x",
        "dlx",
        "create",
        "init",
        "dev",
        "lint",
        "explore",
        "workspace",
        "workspaces",
        "foreach",
    ])
    .style(Style::Leading)
    .acts(&[RUNS]),
    tool(&["publish"]).acts(&[changes(Thing::Cloud)]).special(packages::publish),
    tool(&["unpublish"]).acts(&[net(NODE), destroys_each(Thing::Cloud, Which::All)]),
    tool(&["owner", "access", "dist-tag", "token", "team"])
        .acts(&[net(NODE)])
        .special(packages::published),
    tool(&["deprecate", "adduser", "login", "logout"]).acts(&[net(NODE), changes(Thing::Cloud)]),
    tool(&["view", "info", "show", "search", "outdated", "ping", "whoami", "v"]).acts(&[net(NODE)]),
    tool(&["config", "set"]).special(packages::node_config),
    tool(&["cache", "store"]).subs(NPM_CACHE),
    tool(&[
        "ls", "list", "ll", "help", "root", "prefix", "bin", "why", "explain", "fund", "doctor",
        "version", "pkg", "licenses", "get",
    ]),
    tool(&["pack"]).acts(&[fixed(Kind::Write, ".")]),
];

const POETRY: &[Tool] = &[
    tool(&["install", "add", "update", "remove", "lock", "sync"])
        .options(&[flag("", &["dry-run"], DRY)])
        .acts(&[net("pypi.org"), changes(Thing::Package)]),
    tool(&["run", "build", "shell"]).style(Style::Leading).acts(&[RUNS]),
    tool(&["publish"]).acts(&[net("pypi.org"), changes(Thing::Cloud)]),
    tool(&["show", "check", "config", "env", "version", "export"]),
];

const NIX: &[Tool] = &[
    tool(&["build", "develop", "run", "shell", "flake", "profile"]).acts(&[RUNS, net("registry")]),
    tool(&["store", "eval", "search", "show-config", "hash", "repl"]),
];

pub(super) const ROWS: &[Tool] = &[
    tool(&["apt", "apt-get", "aptitude", "nala"])
        .options(&[
            SIMULATE,
            ESSENTIAL,
            flag("y", &["yes", "assume-yes"], 0),
            plays("c", &["config-file"], Role::Read),
            value("o", &["option"], C),
        ])
        .valued("t", &["target-release"])
        .subs(APT),
    tool(&["apt-key", "add-apt-repository", "apt-add-repository", "apt-mark"])
        .acts(&[changes(Thing::Package)]),
    tool(&["apt-cache", "apt-file", "apt-config", "dpkg-query", "rpm2cpio", "needrestart"]),
    tool(&["dpkg"])
        .options(&[
            flag("iA", &["install", "unpack", "configure"], A),
            flag("rP", &["remove", "purge"], DELETE),
            attached(
                "",
                &["force-all", "force-remove-essential", "force-depends", "force-remove-reinstreq"],
                FORCE,
            ),
            flag("", &["dry-run", "no-act", "simulate"], DRY),
        ])
        .special(packages::dpkg),
    tool(&["yum", "dnf", "dnf5", "microdnf", "zypper", "tdnf"])
        .options(&[flag("", &["dry-run"], DRY)])
        .valued(
            "cx",
            &["enablerepo", "disablerepo", "exclude", "installroot", "releasever", "setopt"],
        )
        .subs(YUM),
    tool(&["rpm"])
        .options(&[
            flag("q", &["query", "verify", "checksig"], LOOK),
            flag("e", &["erase"], DELETE),
            flag("iUF", &["install", "upgrade", "freshen", "import"], A),
            flag("", &["nodeps"], FORCE),
            flag("", &["test"], DRY),
        ])
        .special(packages::rpm),
    tool(&["pacman", "yay", "paru", "pamac"])
        .options(&[
            flag("S", &["sync"], A),
            flag("R", &["remove"], DELETE),
            flag("U", &["upgrade"], B),
            flag("QTF", &["query", "deptest", "files"], LOOK),
            flag("p", &["print"], DRY),
            flag("d", &["nodeps"], C),
            flag("c", &["cascade", "clean"], D),
            flag("is", &["info", "search"], 0),
        ])
        .valued("br", &["dbpath", "root", "config", "ignore", "overwrite"])
        .special(packages::pacman),
    tool(&["apk"]).options(&[flag("s", &["simulate"], DRY)]).subs(APK),
    tool(&["brew"]).subs(BREW),
    tool(&["port"])
        .subs(&[tool(&["uninstall"]).special(packages::remove)])
        .acts(&[changes_each(Thing::Package, Which::Rest), net("registry")]),
    tool(&["snap", "flatpak"]).subs(SNAP),
    tool(&["pip", "pip3", "pipenv", "pip-sync", "pip-compile"]).versions().subs(PIP),
    tool(&["pipx"]).subs(PIP),
    tool(&["uv"]).options(&[plays("", &["directory", "project"], Role::Base)]).subs(UV),
    tool(&["uvx", "npx", "bunx", "pnpx", "tsx", "ts-node"]).style(Style::Leading).acts(&[RUNS]),
    tool(&["conda", "mamba", "micromamba"]).subs(CONDA),
    tool(&["npm", "pnpm", "yarn", "bun", "cnpm"])
        .options(&[
            plays("", &["prefix", "cwd", "dir"], Role::Base),
            plays("C", &[], Role::Base),
            flag("g", &["global"], GLOBAL),
            flag("", &["dry-run"], DRY),
        ])
        .valued(
            "w",
            &["workspace", "registry", "loglevel", "filter", "userconfig", "cache", "tag", "otp"],
        )
        .subs(NPM)
        .special(packages::node_other),
    tool(&[
        "corepack", "nvm", "fnm", "volta", "n", "asdf", "mise", "rtx", "pyenv", "rbenv", "sdk",
        "rustup", "ghcup", "opam", "cabal", "stack", "rebar3", "luarocks", "cpan", "cpanm", "raco",
        "vcpkg", "conan",
    ])
    .acts(&[changes(Thing::Package), net("registry")]),
    tool(&["poetry", "pdm", "hatch", "rye"]).subs(POETRY),
    tool(&["nix-env"])
        .options(&[
            flag("e", &["uninstall"], DELETE),
            flag("q", &["query"], LOOK),
            flag("", &["dry-run"], DRY),
        ])
        .valued("fIpA", &["file", "profile", "attr"])
        .special(packages::erase),
    tool(&["nix", "nix-shell", "nix-build", "nixos-rebuild", "guix"])
        .subs(NIX)
        .acts(&[changes(Thing::Package), net("registry")]),
    tool(&["nix-collect-garbage", "nix-store"]),
    tool(&["emerge"])
        .options(&[
            flag("p", &["pretend"], DRY),
            flag("C", &["unmerge"], DELETE),
            flag("s", &["search"], LOOK),
        ])
        .special(packages::erase),
    tool(&["pkg", "opkg"])
        .options(&[
            flag("n", &["dry-run", "noaction"], DRY),
            flag("a", &["all", "force-depends", "force-removal-of-essential-packages"], FORCE),
        ])
        .subs(&[
            tool(&["delete", "remove"]).special(packages::remove),
            tool(&["info", "search", "list", "query", "version", "files", "status", "which"]),
            tool(&["install", "add", "upgrade", "update"]).acts(INSTALLS),
        ]),
    tool(&[
        "xbps-install",
        "eopkg",
        "pkg_add",
        "winget",
        "choco",
        "scoop",
        "softwareupdate",
        "mas",
    ])
    .options(&[flag("p", &["pretend"], DRY)])
    .acts(&[changes_each(Thing::Package, Which::All), net("registry")]),
    tool(&["xbps-remove", "pkg_delete"])
        .options(&[flag("n", &["dry-run"], DRY), flag("F", &["force-revdeps"], FORCE)])
        .special(packages::remove),
    tool(&["nuget"]).style(Style::Leading).acts(&[RUNS]),
    tool(&["xcodebuild", "fastlane", "flutter", "dart", "pub"]).style(Style::Leading).acts(&[RUNS]),
    tool(&["twine", "flit"]).acts(&[net("pypi.org"), reads(Which::Rest), changes(Thing::Cloud)]),
    tool(&["virtualenv"]).versions().acts(&[fills(Which::All)]),
    tool(&[
        "update-alternatives",
        "alternatives",
        "dracut",
        "mkinitcpio",
        "update-grub",
        "grub-mkconfig",
        "ldconfig",
        "depmod",
        "dkms",
        "update-ca-certificates",
    ])
    .options(&[plays("o", &["output"], Role::Write)])
    .acts(&[changes(Thing::Setting)]),
    tool(&["update-initramfs"])
        .options(&[flag("d", &[], DELETE), flag("uc", &[], 0)])
        .valued("k", &[])
        .acts(&[destroys(Thing::Kernel).when(DELETE), changes(Thing::Setting).unless(DELETE)]),
    tool(&["dpkg-reconfigure"]).acts(&[changes_each(Thing::Package, Which::All)]),
];
