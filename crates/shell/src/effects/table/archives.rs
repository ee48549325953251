//! Archives and compression.

use crate::effects::Thing;
use crate::effects::row::{
    A, B, C, D, DELETE, DRY, INPLACE, LOOK, NONE, Role, Style, TARGET, TREE, Tool, Which, attached,
    deletes, destroys, destroys_each, flag, may_fill, net, plays, reads, scans, tool, value,
    writes, writes_flat,
};
use crate::effects::special::archives;

pub(super) const ROWS: &[Tool] = &[
    tool(&["tar", "gtar", "bsdtar"])
        .style(Style::Tar)
        .options(&[
            flag("x", &["extract", "get"], A),
            flag("cru", &["create", "append", "update", "catenate", "concatenate"], B),
            flag("t", &["list"], LOOK),
            flag("d", &["diff", "compare"], LOOK),
            value("f", &["file"], C),
            value("C", &["directory", "cd"], TARGET),
            flag("", &["delete"], DELETE | D),
            flag("", &["remove-files"], DELETE),
            flag("P", &["absolute-names"], INPLACE),
            flag("O", &["to-stdout"], LOOK),
            plays("TX", &["files-from", "exclude-from"], Role::Read),
            plays("g", &["listed-incremental"], Role::Write),
        ])
        .valued(
            "bHIKLNV",
            &[
                "exclude",
                "blocking-factor",
                "format",
                "use-compress-program",
                "owner",
                "group",
                "mode",
                "mtime",
                "transform",
                "xform",
                "strip-components",
                "to-command",
                "checkpoint-action",
                "suffix",
                "one-top-level",
                "sort",
                "rsh-command",
                "newer",
            ],
        )
        .special(archives::tar),
    tool(&["cpio", "pax"])
        .options(&[
            flag("i", &["extract"], A),
            flag("p", &["pass-through"], A),
            flag("t", &["list"], LOOK),
            plays("F", &["file"], Role::Read),
            plays("O", &[], Role::Write),
            plays("D", &["directory"], Role::Base),
        ])
        .acts(&[may_fill(".").when(A).unless(LOOK)]),
    tool(&["zip"])
        .options(&[
            flag("r", &["recurse-paths"], TREE),
            flag("m", &["move"], DELETE),
            flag("d", &["delete"], D),
        ])
        .valued("bntxi", &["exclude", "include", "password", "temp-path"])
        .acts(&[
            writes_flat(Which::First),
            reads(Which::Rest).unless(D),
            deletes(Which::Rest).when(DELETE),
        ]),
    tool(&["unzip", "unrar", "unar"])
        .options(&[flag("ltpvzcZ", &[], LOOK), value("d", &[], TARGET)])
        .valued("xP", &[])
        .special(archives::unzip),
    tool(&[
        "gzip", "pigz", "bzip2", "pbzip2", "xz", "lzma", "lzip", "zstd", "lz4", "compress",
        "brotli",
    ])
    .options(&[
        flag("c", &["stdout", "to-stdout"], LOOK),
        flag("ltV", &["list", "test"], LOOK),
        flag("d", &["decompress", "uncompress"], A),
        flag("k", &["keep"], B),
        flag("r", &["recursive"], TREE),
        plays("o", &["output"], Role::Write),
    ])
    .valued("STDM", &["suffix", "threads", "memlimit"])
    .special(archives::gzip),
    tool(&["gunzip", "bunzip2", "unxz", "unlzma", "unzstd", "unpigz", "uncompress", "unlz4"])
        .options(&[
            flag("c", &["stdout", "to-stdout"], LOOK),
            flag("lt", &["list", "test"], LOOK),
            flag("k", &["keep"], B),
            flag("r", &["recursive"], TREE),
        ])
        .valued("S", &["suffix"])
        .special(archives::gunzip),
    tool(&["7z", "7za", "7zr", "7zz", "p7zip"]).style(Style::Words).special(archives::seven),
    tool(&["ar", "ranlib"]).style(Style::Bare).acts(&[writes(Which::Second)]),
    tool(&["jar"])
        .style(Style::Tar)
        .options(&[
            flag("x", &["extract"], A),
            flag("cu", &["create", "update"], B),
            flag("t", &["list"], LOOK),
            value("f", &["file"], C),
            value("C", &["dir"], TARGET),
        ])
        .valued("em", &["main-class", "manifest"])
        .special(archives::tar),
    tool(&["mksquashfs"]).acts(&[reads(Which::First), writes(Which::Second)]),
    tool(&["unsquashfs"])
        .options(&[plays("d", &["dest"], Role::WriteTree)])
        .acts(&[reads(Which::First)]),
    tool(&["genisoimage", "mkisofs", "xorriso"])
        .options(&[plays("o", &["output"], Role::Write)])
        .acts(&[scans(Which::All)]),
    tool(&["tarsnap"])
        .options(&[
            flag("", &["dry-run"], DRY),
            flag("d", &["nuke"], DELETE),
            flag("c", &[], B),
            flag("x", &[], A),
        ])
        .valued("fC", &["keyfile", "cachedir"])
        .acts(&[
            destroys(Thing::Filesystem).when(DELETE),
            scans(Which::All).when(B),
            may_fill(".").when(A),
            net("$?"),
        ]),
    tool(&["rdiff-backup"])
        .options(&[attached("", &["remove-older-than"], DELETE)])
        .acts(&[destroys_each(Thing::Filesystem, Which::Last).when(DELETE)])
        .special(archives::backup),
    tool(&["restic", "borg", "duplicity", "rclone", "kopia"])
        .style(Style::Gnu)
        .options(&[flag("n", &["dry-run"], DRY), attached("", &["prune"], 0)])
        .valued("r", &["repo", "config"])
        .special(archives::backup),
    tool(&["base58", "uuencode", "uudecode"])
        .options(&[plays("o", &[], Role::Write)])
        .acts(&[reads(Which::All).unless(NONE)]),
];
