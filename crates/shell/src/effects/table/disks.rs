//! Disks, file systems, volumes.

use crate::effects::Thing;
use crate::effects::row::{
    A, ALL, Act, B, C, DELETE, DRY, FORCE, LOOK, NONE, Role, Style, TARGET, Tool, Which, attached,
    changes, changes_each, destroys, destroys_each, flag, plays, reads, tool, value, writes,
};
use crate::effects::special::disks;

const ZFS_GONE: &[Act] = &[destroys_each(Thing::Filesystem, Which::All)];

pub(super) const ROWS: &[Tool] = &[
    tool(&[
        "mkfs",
        "mkfs.ext2",
        "mkfs.ext3",
        "mkfs.ext4",
        "mkfs.xfs",
        "mkfs.btrfs",
        "mkfs.vfat",
        "mkfs.fat",
        "mkfs.msdos",
        "mkfs.exfat",
        "mkfs.ntfs",
        "mkfs.f2fs",
        "mkfs.minix",
        "mkfs.cramfs",
        "mkfs.jfs",
        "mkfs.reiserfs",
        "mkfs.bfs",
        "mke2fs",
        "mkntfs",
        "mkdosfs",
        "newfs",
        "newfs_apfs",
        "newfs_hfs",
        "bcachefs",
        "mkswap",
    ])
    .options(&[flag("V", &[], LOOK), value("tLUbCdEegGiIJmMNOorTs", &["type", "label", "uuid"], 0)])
    .special(disks::format),
    tool(&["fdisk", "gdisk", "cfdisk"])
        .options(&[flag("lx", &["list", "list-details"], LOOK), value("bCHSt", &[], 0)])
        .acts(&[
            destroys_each(Thing::Device, Which::All).unless(LOOK | NONE),
            writes(Which::All).unless(LOOK),
        ]),
    tool(&["sfdisk"])
        .options(&[
            flag("lTVJd", &["list", "dump", "json", "verify", "list-free"], LOOK),
            flag("n", &["no-act"], DRY),
        ])
        .valued("NOX", &["label", "partno"])
        .acts(&[
            destroys_each(Thing::Device, Which::First).unless(LOOK),
            writes(Which::First).unless(LOOK),
        ]),
    tool(&["parted"])
        .style(Style::Leading)
        .options(&[flag("l", &["list"], LOOK)])
        .special(disks::parted),
    tool(&["sgdisk"])
        .options(&[
            flag("pivLDFE", &["print", "verify", "list-types"], LOOK),
            flag("zZoGg", &["zap", "zap-all", "clear", "randomize-guids", "mbrtogpt"], FORCE),
            value(
                "dnctubRrlAaNmsSjTU",
                &["delete", "new", "change-name", "typecode", "backup", "replicate"],
                0,
            ),
            flag("P", &["pretend"], DRY),
        ])
        .acts(&[
            destroys_each(Thing::Device, Which::Last).unless(LOOK),
            writes(Which::Last).unless(LOOK),
        ]),
    tool(&["wipefs"])
        .options(&[
            flag("af", &["all", "force"], FORCE),
            value("o", &["offset"], FORCE),
            flag("n", &["no-act"], DRY),
        ])
        .valued("tO", &["types", "output"])
        .acts(&[
            destroys_each(Thing::Device, Which::All).when(FORCE),
            writes(Which::All).when(FORCE),
            reads(Which::All),
        ]),
    tool(&["blkdiscard"])
        .valued("olp", &["offset", "length", "step"])
        .acts(&[destroys_each(Thing::Device, Which::All), writes(Which::All)]),
    tool(&["badblocks"])
        .options(&[flag("w", &[], FORCE), plays("o", &[], Role::Write)])
        .valued("bcdetpi", &[])
        .acts(&[
            reads(Which::First),
            destroys_each(Thing::Device, Which::First).when(FORCE),
            writes(Which::First).when(FORCE),
        ]),
    tool(&["hdparm", "nvme", "sg_format", "sdparm"]).special(disks::drive),
    tool(&["diskutil"]).style(Style::Bare).subs(&[
        tool(&[
            "eraseDisk",
            "eraseVolume",
            "reformat",
            "partitionDisk",
            "zeroDisk",
            "secureErase",
            "randomDisk",
            "deleteVolume",
        ])
        .acts(&[destroys_each(Thing::Device, Which::Last)]),
        tool(&["apfs"]).acts(&[destroys_each(Thing::Filesystem, Which::Rest)]),
        tool(&["mount", "unmount", "unmountDisk", "eject"])
            .acts(&[changes_each(Thing::Filesystem, Which::Last)]),
        tool(&["list", "info", "verifyVolume"]),
    ]),
    tool(&["tmutil"]).subs(&[tool(&["delete", "deletelocalsnapshots", "disable"])
        .acts(&[destroys_each(Thing::Filesystem, Which::All)])]),
    tool(&[
        "fsck",
        "e2fsck",
        "fsck.ext4",
        "btrfsck",
        "tune2fs",
        "resize2fs",
        "xfs_admin",
        "xfs_growfs",
        "e2label",
        "fatlabel",
    ])
    .options(&[flag("nN", &[], DRY)])
    .valued("ctOoEeiLmjrCgIJMTuU", &[])
    .acts(&[changes_each(Thing::Filesystem, Which::All), writes(Which::First)]),
    // With `-L` the last changes are thrown away.
    tool(&["xfs_repair"])
        .options(&[flag("n", &[], DRY), flag("L", &[], FORCE)])
        .valued("lrmtoc", &[])
        .acts(&[
            destroys_each(Thing::Filesystem, Which::First).when(FORCE),
            changes_each(Thing::Filesystem, Which::All).unless(FORCE),
            writes(Which::First),
        ]),
    tool(&["debugfs"])
        .options(&[flag("w", &[], FORCE)])
        .valued("Rfbsdi", &[])
        .acts(&[reads(Which::All), destroys_each(Thing::Filesystem, Which::All).when(FORCE)]),
    tool(&["scrub", "nwipe", "dban"])
        .valued("pbsDT", &["pattern", "blocksize", "device-size", "method"])
        .acts(&[destroys_each(Thing::Device, Which::All), writes(Which::All)]),
    tool(&["systemd-cryptenroll"]).options(&[attached("", &["wipe-slot"], FORCE)]).acts(&[
        destroys_each(Thing::Device, Which::All).when(FORCE),
        changes_each(Thing::Device, Which::All).unless(FORCE),
    ]),
    tool(&["tpm2_clear"]).acts(&[destroys(Thing::Device)]),
    tool(&["mount", "mount.nfs", "mount.cifs", "sshfs"])
        .options(&[
            flag("lV", &[], LOOK),
            flag("a", &["all"], A),
            flag("B", &["bind"], B),
            value("o", &["options"], C),
            value("", &["target"], TARGET),
        ])
        .valued("tLUON", &["types", "source"])
        .special(disks::mount),
    tool(&["umount", "fusermount", "fusermount3"])
        .options(&[flag("a", &["all"], ALL)])
        .valued("tO", &["types"])
        .special(disks::unmount),
    tool(&["swapon"]).acts(&[changes_each(Thing::Filesystem, Which::All)]),
    tool(&["swapoff"]).acts(&[changes_each(Thing::Filesystem, Which::All)]),
    tool(&["losetup"])
        .options(&[
            flag("laj", &["list", "all", "associated"], LOOK),
            flag("fPr", &["find", "show"], 0),
        ])
        .acts(&[changes_each(Thing::Device, Which::All).unless(LOOK | NONE)]),
    tool(&["cryptsetup"]).subs(&[
        tool(&["luksFormat", "erase", "luksErase", "luksKillSlot", "luksRemoveKey", "reencrypt"])
            .options(&[plays("d", &["key-file"], Role::Read)])
            .acts(&[destroys_each(Thing::Device, Which::First), writes(Which::First)]),
        tool(&[
            "open",
            "luksOpen",
            "close",
            "luksClose",
            "luksAddKey",
            "resize",
            "luksHeaderRestore",
            "config",
        ])
        .acts(&[changes_each(Thing::Device, Which::First)]),
        tool(&["status", "luksDump", "isLuks", "benchmark"]),
    ]),
    tool(&["lvremove", "vgremove", "pvremove", "lvreduce"])
        .options(&[flag("t", &["test"], DRY)])
        .valued("SLl", &["select", "size", "extents"])
        .acts(&[destroys_each(Thing::Filesystem, Which::All)]),
    tool(&[
        "lvcreate",
        "vgcreate",
        "pvcreate",
        "lvextend",
        "vgextend",
        "lvresize",
        "pvresize",
        "lvchange",
        "vgchange",
        "lvrename",
        "vgreduce",
        "pvmove",
        "lvconvert",
        "vgcfgrestore",
    ])
    .options(&[flag("t", &["test"], DRY)])
    .valued("Lln", &["size", "extents", "name"])
    .acts(&[changes_each(Thing::Filesystem, Which::All)]),
    tool(&[
        "lvs",
        "vgs",
        "pvs",
        "lvdisplay",
        "vgdisplay",
        "pvdisplay",
        "lvscan",
        "vgscan",
        "pvscan",
        "zdb",
        "findmnt",
        "mountpoint",
        "smartctl",
    ]),
    tool(&["lvm"]).subs(&[
        tool(&["lvremove", "vgremove", "pvremove"])
            .acts(&[destroys_each(Thing::Filesystem, Which::All)]),
        tool(&["lvcreate", "vgcreate", "pvcreate", "lvextend"])
            .acts(&[changes_each(Thing::Filesystem, Which::All)]),
    ]),
    tool(&["dmsetup"]).subs(&[
        tool(&["remove", "remove_all", "wipe_table"])
            .acts(&[destroys_each(Thing::Device, Which::All)]),
        tool(&["create", "suspend", "resume"]).acts(&[changes_each(Thing::Device, Which::First)]),
    ]),
    tool(&["mdadm"])
        .options(&[
            flag("", &["zero-superblock"], FORCE),
            flag("C", &["create"], A),
            flag("S", &["stop", "remove", "fail"], DELETE),
            flag("DEQ", &["detail", "examine", "query", "scan"], LOOK),
            flag("r", &[], DELETE),
        ])
        .valued("lnx", &["level", "raid-devices", "spare-devices"])
        .acts(&[
            destroys_each(Thing::Device, Which::All).when(FORCE),
            destroys_each(Thing::Device, Which::First).when(A),
            changes_each(Thing::Device, Which::First).when(DELETE),
        ]),
    tool(&["zfs"]).subs(&[
        tool(&["destroy", "rollback"])
            .options(&[flag("n", &[], DRY), flag("rR", &[], FORCE)])
            .acts(ZFS_GONE),
        tool(&[
            "create", "set", "snapshot", "snap", "clone", "promote", "rename", "mount", "unmount",
            "umount", "inherit", "load-key", "receive", "recv", "share", "upgrade",
        ])
        .valued("oV", &[])
        .acts(&[changes_each(Thing::Filesystem, Which::Last)]),
        tool(&["list", "get", "send", "diff", "holds", "userspace"]),
    ]),
    tool(&["zpool"]).subs(&[
        tool(&["destroy", "labelclear", "create"])
            .options(&[flag("n", &[], DRY)])
            .valued("oOmR", &[])
            .acts(&[destroys_each(Thing::Filesystem, Which::First)]),
        tool(&[
            "export", "import", "scrub", "add", "attach", "detach", "offline", "online", "replace",
            "remove", "clear", "set", "trim", "upgrade",
        ])
        .acts(&[changes_each(Thing::Filesystem, Which::First)]),
        tool(&["list", "status", "get", "iostat", "history"]),
    ]),
    tool(&["btrfs"]).subs(&[
        tool(&["subvolume", "su", "sub"]).subs(&[
            tool(&["delete", "del"]).acts(&[destroys_each(Thing::Filesystem, Which::All)]),
            tool(&["create", "snapshot"]).acts(&[changes_each(Thing::Filesystem, Which::Last)]),
            tool(&["list", "show"]),
        ]),
        tool(&["device", "dev"]).acts(&[changes_each(Thing::Device, Which::Rest)]),
        tool(&["balance", "scrub", "filesystem", "fi", "quota", "property"])
            .acts(&[changes(Thing::Filesystem)]),
    ]),
    tool(&["snapper", "timeshift"])
        .subs(&[
            tool(&["delete", "remove", "rm"]).acts(&[destroys(Thing::Filesystem)]),
            tool(&["create", "rollback", "undochange"]).acts(&[changes(Thing::Filesystem)]),
        ])
        .options(&[flag("", &["delete", "delete-all"], DELETE), value("c", &["config"], 0)])
        .acts(&[destroys(Thing::Filesystem).when(DELETE)]),
    tool(&[
        "fstrim",
        "partprobe",
        "partx",
        "kpartx",
        "blockdev",
        "quotaoff",
        "quotaon",
        "setquota",
    ])
    .acts(&[changes_each(Thing::Device, Which::All).unless(NONE)]),
    tool(&[
        "grub-install",
        "grub2-install",
        "bootctl",
        "efibootmgr",
        "lilo",
        "syslinux",
        "extlinux",
    ])
    .options(&[
        flag("B", &["delete-bootnum"], FORCE),
        value("bod", &["bootnum", "bootorder", "disk"], 0),
    ])
    .acts(&[
        destroys(Thing::Device).when(FORCE),
        changes_each(Thing::Device, Which::All).unless(NONE | FORCE),
    ])
    .special(disks::boot),
    tool(&["genfstab", "arch-chroot", "debootstrap", "pacstrap"])
        .acts(&[changes_each(Thing::Filesystem, Which::First)]),
];
