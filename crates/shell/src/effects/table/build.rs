//! Builds and tests.

use crate::effects::row::{
    DRY, INPLACE, RUNS, Role, Style, Tool, Which, attached, flag, plays, reads, tool, value,
    writes_flat,
};
use crate::effects::special::build;

pub(super) const ROWS: &[Tool] = &[
    tool(&["make", "gmake", "bmake", "mingw32-make", "remake"])
        .options(&[
            flag("nq", &["just-print", "dry-run", "recon", "question"], DRY),
            plays("C", &["directory"], Role::Base),
            plays("f", &["file", "makefile"], Role::Execute),
            plays("I", &["include-dir"], Role::ReadTree),
            attached("jlO", &["jobs", "load-average"], 0),
        ])
        .valued("oWE", &["old-file", "assume-old", "eval"])
        .acts(&[RUNS]),
    tool(&["ninja", "samu", "ninja-build"])
        .options(&[
            flag("n", &[], DRY),
            plays("C", &[], Role::Base),
            plays("f", &[], Role::Execute),
        ])
        .valued("jkldtw", &[])
        .acts(&[RUNS]),
    tool(&["cmake"])
        .style(Style::Words)
        .options(&[
            plays("", &["B"], Role::WriteTree),
            plays("", &["S"], Role::ReadTree),
            plays("", &["P"], Role::Execute),
            plays("", &["build", "install"], Role::WriteTree),
            flag("", &["E"], INPLACE),
        ])
        .valued(
            "",
            &[
                "G",
                "D",
                "U",
                "C",
                "T",
                "A",
                "target",
                "config",
                "preset",
                "parallel",
                "j",
                "prefix",
                "component",
            ],
        )
        .special(build::cmake),
    tool(&["ctest", "cpack"])
        .style(Style::Words)
        .options(&[plays("", &["test-dir"], Role::Base)])
        .acts(&[RUNS]),
    tool(&["meson"]).acts(&[RUNS]),
    tool(&[
        "autoconf",
        "automake",
        "autoreconf",
        "aclocal",
        "libtoolize",
        "configure",
        "qmake",
        "scons",
        "waf",
        "premake5",
        "xmake",
        "bear",
    ])
    .options(&[plays("", &["prefix"], Role::Read)])
    .acts(&[RUNS]),
    tool(&[
        "gcc", "g++", "cc", "c++", "clang", "clang++", "gfortran", "rustc", "ld", "as", "tcc",
        "nvcc", "ghc", "ocamlopt", "fpc", "gnat", "zig", "nim", "v", "odin", "dmd", "ldc2",
        "swiftc", "emcc", "nasm", "yasm", "javac", "kotlinc", "scalac", "gdc",
    ])
    .versions()
    .options(&[
        plays("o", &["output"], Role::Write),
        plays("", &["out-dir"], Role::WriteTree),
        attached("IlWfmDOgULs", &[], 0),
    ])
    .valued("xTd", &["edition", "crate-type", "crate-name", "extern", "emit", "cfg", "target"])
    .acts(&[reads(Which::All)]),
    tool(&["strip", "objcopy", "patchelf", "install_name_tool", "codesign"])
        .options(&[plays("o", &["output"], Role::Write)])
        .valued("jRKNI", &["set-rpath", "set-interpreter", "add-needed"])
        .acts(&[writes_flat(Which::All)]),
    tool(&["mvn", "mvnw", "mvnd", "gradle", "gradlew"])
        .style(Style::Gnu)
        .options(&[plays("f", &["file"], Role::Read), attached("D", &[], 0)])
        .valued("plPs", &["projects", "settings", "activate-profiles"])
        .special(build::maven),
    tool(&[
        "ant",
        "sbt",
        "lein",
        "bazel",
        "bazelisk",
        "buck",
        "buck2",
        "pants",
        "nx",
        "turbo",
        "lerna",
        "moon",
        "rush",
        "just",
        "task",
        "mage",
        "invoke",
        "fab",
        "nox",
        "tox",
        "gulp",
        "grunt",
        "webpack",
        "rollup",
        "vite",
        "esbuild",
        "parcel",
        "swc",
        "babel",
        "next",
        "nuxt",
        "ng",
        "vue-cli-service",
        "react-scripts",
        "astro",
        "remix",
        "expo",
        "metro",
        "tauri",
        "electron-builder",
        "storybook",
        "typedoc",
        "hugo",
        "jekyll",
        "mkdocs",
        "sphinx-build",
        "gatsby",
        "eleventy",
        "docusaurus",
    ])
    .style(Style::Leading)
    .options(&[flag("n", &["dry-run", "just-print"], DRY), plays("", &["project-dir"], Role::Base)])
    .valued("bIfjP", &["justfile", "taskfile"])
    .acts(&[RUNS]),
    tool(&[
        "jest",
        "vitest",
        "mocha",
        "ava",
        "tap",
        "cypress",
        "playwright",
        "karma",
        "jasmine",
        "pytest",
        "py.test",
        "nose2",
        "nosetests",
        "coverage",
        "rspec",
        "minitest",
        "phpunit",
        "pest",
        "behat",
        "cucumber",
        "behave",
        "robot",
        "bats",
        "shunit2",
        "gotestsum",
        "ginkgo",
        "newman",
        "locust",
        "gtest",
        "nyc",
        "c8",
        "wtr",
        "testcafe",
        "puppeteer",
    ])
    .style(Style::Leading)
    .options(&[plays("", &["junitxml", "junit-xml", "outputFile", "output"], Role::Write)])
    .acts(&[RUNS]),
    tool(&[
        "django-admin",
        "manage.py",
        "uvicorn",
        "gunicorn",
        "celery",
        "daphne",
        "hypercorn",
        "puma",
        "unicorn",
        "sidekiq",
        "nodemon",
        "concurrently",
        "cross-env",
        "dotenv",
        "serve",
        "http-server",
        "live-server",
        "json-server",
        "streamlit",
        "jupyter",
        "jupyter-lab",
        "ipykernel",
        "caddy",
        "nginx",
        "apachectl",
        "apache2ctl",
        "httpd",
        "haproxy",
        "traefik",
        "php-fpm",
    ])
    .style(Style::Leading)
    .special(build::server),
    tool(&["cookiecutter", "yo", "create-react-app", "create-next-app", "degit", "plop", "copier"])
        .options(&[plays("o", &["output-dir"], Role::WriteTree)])
        .acts(&[RUNS]),
    tool(&[
        "depcheck",
        "madge",
        "knip",
        "ncu",
        "npm-check-updates",
        "license-checker",
        "size-limit",
        "lighthouse",
        "changeset",
        "semantic-release",
        "standard-version",
        "release-it",
        "np",
        "commitlint",
        "cz",
        "git-cz",
        "bumpversion",
        "bump2version",
        "tbump",
        "goreleaser",
        "cargo-release",
    ])
    .options(&[flag("d", &["dry-run"], DRY), value("t", &["target"], 0)])
    .acts(&[RUNS]),
    tool(&["ccache", "sccache", "distcc", "icecc"]).style(Style::Leading),
    tool(&[
        "checkinstall",
        "alien",
        "fpm",
        "debuild",
        "dpkg-buildpackage",
        "rpmbuild",
        "makepkg",
        "abuild",
        "snapcraft",
        "flatpak-builder",
        "mock",
        "pbuilder",
    ])
    .acts(&[RUNS]),
    tool(&["adb", "fastboot"]).style(Style::Leading).special(build::android),
];
