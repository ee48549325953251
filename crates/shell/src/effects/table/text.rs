//! Reading, searching and changing text.

use crate::effects::Kind;
use crate::effects::row::{
    A, DRY, INPLACE, LOOK, NONE, PATTERN, RUNS, Role, Style, TREE, Tool, Which, attached, executes,
    fixed_tree, flag, may_fill, plays, reads, scans, tool, value, writes,
};
use crate::effects::special::{sed, text};

pub(super) const ROWS: &[Tool] = &[
    tool(&[
        "cat",
        "tac",
        "rev",
        "wc",
        "md5sum",
        "sha1sum",
        "sha224sum",
        "sha256sum",
        "sha384sum",
        "sha512sum",
        "b2sum",
        "cksum",
        "sum",
        "md5",
        "xxhsum",
        "zcat",
        "bzcat",
        "xzcat",
        "zstdcat",
        "more",
        "most",
        "zmore",
        "cmp",
        "comm",
        "diff3",
        "tsort",
        "aspell",
        "look",
        "nm",
        "readelf",
        "size",
        "ldd",
        "exiftool",
        "identify",
        "ffprobe",
        "mediainfo",
        "pdfinfo",
        "glow",
        "mdcat",
        "gcat",
        "hexyl",
        "zdiff",
        "zcmp",
        "ccat",
        "nroff",
        "groff",
        "antiword",
        "catdoc",
    ])
    .acts(&[reads(Which::All)]),
    // A script that is read into the shell runs; its arguments are no files.
    tool(&["source", "."]).style(Style::Leading).acts(&[executes(Which::First)]),
    tool(&["less", "zless", "bat", "batcat"])
        .options(&[plays("oO", &["log-file"], Role::Write)])
        .valued(
            "bhjkpPtTxyzlHrm",
            &["language", "highlight-line", "line-range", "style", "theme", "paging", "pattern"],
        )
        .acts(&[reads(Which::All)]),
    tool(&[
        "od", "hexdump", "hd", "strings", "nl", "base64", "base32", "basenc", "shasum", "objdump",
        "expand", "unexpand",
    ])
    .valued(
        "jNSwnseftia",
        &[
            "skip-bytes",
            "read-bytes",
            "wrap",
            "bytes",
            "section",
            "algorithm",
            "format",
            "tabs",
            "width",
        ],
    )
    .acts(&[reads(Which::All)]),
    tool(&["diff", "sdiff", "colordiff", "delta", "icdiff", "gdiff"])
        .options(&[
            flag("r", &["recursive"], TREE),
            plays("o", &["output"], Role::Write),
            plays("X", &["exclude-from"], Role::Read),
        ])
        .valued("UCIxSWL", &["unified-lines", "label", "exclude", "ignore-matching-lines", "width"])
        .acts(&[reads(Which::All)]),
    tool(&["cloc", "tokei", "scc"])
        .valued("", &["exclude-dir", "include-lang", "exclude-lang", "exclude", "type"])
        .acts(&[scans(Which::All), fixed_tree(Kind::Read, ".").when(NONE)]),
    tool(&["head", "tail", "ghead", "gtail"])
        .valued("ncs", &["lines", "bytes", "pid", "sleep-interval", "max-unchanged-stats"])
        .acts(&[reads(Which::All)]),
    tool(&["cut", "paste", "fold", "fmt", "pr", "column", "join", "ptx"])
        .valued(
            "dfbcwtoeg1v2",
            &[
                "delimiter",
                "fields",
                "characters",
                "bytes",
                "delimiters",
                "width",
                "separator",
                "output-delimiter",
                "output-separator",
                "table-columns",
            ],
        )
        .acts(&[reads(Which::All)]),
    tool(&["shuf"])
        .options(&[
            plays("o", &["output"], Role::Write),
            plays("", &["random-source"], Role::Read),
            flag("e", &["echo"], LOOK),
        ])
        .valued("ni", &["head-count", "input-range"])
        .acts(&[reads(Which::All).unless(LOOK)]),
    tool(&["sort", "gsort"])
        .options(&[
            plays("o", &["output"], Role::Write),
            plays("", &["files0-from", "random-source"], Role::Read),
            plays("T", &["temporary-directory"], Role::WriteTree),
        ])
        .valued("ktS", &["key", "field-separator", "buffer-size", "parallel", "batch-size"])
        .acts(&[reads(Which::All)]),
    tool(&["uniq"])
        .valued("fsw", &["skip-fields", "skip-chars", "check-chars"])
        .acts(&[reads(Which::First), writes(Which::Second)]),
    tool(&["xxd"]).valued("clgos", &[]).acts(&[reads(Which::First), writes(Which::Second)]),
    tool(&["iconv", "uconv"])
        .options(&[plays("o", &["output"], Role::Write)])
        .valued("ft", &["from-code", "to-code"])
        .acts(&[reads(Which::All)]),
    tool(&["tee", "sponge", "gtee"]).acts(&[writes(Which::All)]),
    tool(&["dos2unix", "unix2dos", "mac2unix"]).acts(&[writes(Which::All)]),
    tool(&["sed", "gsed"])
        .options(&[
            attached("i", &["in-place"], INPLACE),
            value("e", &["expression"], PATTERN | A),
            plays("f", &["file"], Role::Read).bits(PATTERN),
        ])
        .valued("l", &["line-length"])
        .special(sed::sed),
    tool(&["awk", "gawk", "mawk", "nawk", "original-awk"])
        .options(&[
            plays("f", &["file"], Role::Read).bits(PATTERN),
            value("e", &["source"], PATTERN),
            value("i", &["include"], A),
        ])
        .valued("vF", &["assign", "field-separator", "load"])
        .special(text::awk),
    tool(&[
        "grep",
        "egrep",
        "fgrep",
        "zgrep",
        "zegrep",
        "bzgrep",
        "xzgrep",
        "ggrep",
        "pcregrep",
        "pcre2grep",
    ])
    .options(&[
        flag("rR", &["recursive", "dereference-recursive"], TREE),
        value("e", &["regexp"], PATTERN),
        plays("f", &["file"], Role::Read).bits(PATTERN),
    ])
    .valued(
        "ABCmdD",
        &[
            "after-context",
            "before-context",
            "context",
            "max-count",
            "include",
            "exclude",
            "exclude-dir",
            "label",
            "binary-files",
            "directories",
        ],
    )
    .special(text::grep),
    tool(&["rg", "ag", "ack", "ugrep", "ripgrep"])
        .options(&[
            value("e", &["regexp"], PATTERN),
            plays("f", &["file", "ignore-file"], Role::Read).bits(PATTERN),
            flag("", &["files", "type-list"], PATTERN),
            flag("", &["recursive"], TREE),
        ])
        .valued(
            "ABCmgtTMjEGr",
            &[
                "after-context",
                "before-context",
                "context",
                "max-count",
                "glob",
                "iglob",
                "type",
                "type-not",
                "max-columns",
                "max-depth",
                "threads",
                "encoding",
                "sort",
                "sortr",
                "replace",
                "color",
                "colors",
                "max-filesize",
                "type-add",
            ],
        )
        .special(text::ripgrep),
    tool(&["jq", "gojq", "jaq"])
        .options(&[
            plays("f", &["from-file"], Role::Read).bits(PATTERN),
            flag("", &["args", "jsonargs"], A),
        ])
        .valued("L", &["indent", "tab"])
        .special(text::jq),
    tool(&["yq", "dasel", "xq", "tomlq"])
        .options(&[
            flag("i", &["inplace", "in-place"], INPLACE),
            plays("", &["from-file"], Role::Read).bits(PATTERN),
        ])
        .valued("pofIs", &["input-format", "output-format", "indent", "split-exp"])
        .special(text::yq),
    tool(&["patch", "gpatch"])
        .options(&[
            plays("i", &["input"], Role::Read),
            plays("o", &["output"], Role::Write),
            plays("r", &["reject-file"], Role::Write),
            plays("d", &["directory"], Role::Base),
            flag("", &["dry-run"], DRY),
        ])
        .valued("pFBDgVYzb", &["strip", "fuzz", "suffix", "prefix"])
        .acts(&[may_fill(".").when(NONE), writes(Which::First), reads(Which::Second)]),
    tool(&["ed", "red", "ex"])
        .options(&[value("c", &[], A), flag("s", &[], 0)])
        .valued("p", &[])
        .special(text::editor),
    tool(&["vi", "vim", "nvim", "view", "gvim", "vimdiff", "rvim"])
        .options(&[
            value("c", &["cmd"], A),
            plays("Su", &[], Role::Execute),
            plays("w", &[], Role::Write),
        ])
        .valued("TidtqU", &[])
        .special(text::editor),
    tool(&[
        "nano",
        "pico",
        "emacs",
        "emacsclient",
        "code",
        "codium",
        "cursor",
        "subl",
        "zed",
        "micro",
        "hx",
        "helix",
        "kak",
        "joe",
        "mcedit",
        "gedit",
        "kate",
    ])
    .valued("", &["load", "eval", "funcall"])
    .acts(&[reads(Which::All), writes(Which::All)]),
    tool(&[
        "prettier",
        "eslint",
        "stylelint",
        "ruff",
        "black",
        "isort",
        "autopep8",
        "yapf",
        "gofmt",
        "goimports",
        "rustfmt",
        "clang-format",
        "shfmt",
        "biome",
        "oxlint",
        "standard",
        "rubocop",
        "php-cs-fixer",
        "markdownlint",
        "pylint",
        "flake8",
        "mypy",
        "pyright",
        "tsc",
        "shellcheck",
        "hadolint",
        "yamllint",
        "golangci-lint",
        "ktlint",
        "swiftformat",
        "swiftlint",
        "bandit",
        "semgrep",
        "djlint",
        "codespell",
        "typos",
        "vale",
    ])
    .acts(&[RUNS]),
    tool(&[
        "envsubst",
        "m4",
        "cpp",
        "pandoc",
        "asciidoctor",
        "rst2html",
        "xmllint",
        "xsltproc",
        "tidy",
        "msgfmt",
        "xgettext",
        "protoc",
        "dot",
        "convert",
        "magick",
        "mogrify",
        "ffmpeg",
        "sox",
        "pdftotext",
        "wkhtmltopdf",
        "inkscape",
        "gs",
        "pdflatex",
        "xelatex",
        "latexmk",
        "optipng",
        "pngquant",
        "jpegoptim",
        "cwebp",
    ])
    .options(&[plays("o", &["output", "output-file"], Role::Write)])
    .acts(&[RUNS]),
    tool(&["fzf", "sk", "peco", "dialog", "whiptail", "gum"]),
    tool(&["ctags", "etags", "cscope"])
        .options(&[plays("fo", &[], Role::Write), flag("R", &["recurse"], TREE)])
        .acts(&[reads(Which::All), scans(Which::All).when(TREE)]),
    tool(&["ast-grep", "sg", "comby", "codemod", "jscodeshift", "sd"])
        .options(&[flag("U", &["update-all", "in-place"], INPLACE)])
        .acts(&[scans(Which::Rest), writes(Which::Rest).when(INPLACE)]),
];
