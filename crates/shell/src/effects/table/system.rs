//! Processes, services, accounts, the kernel.

use crate::effects::row::{
    A, ALL, B, C, DELETE, DRY, FORCE, LOOK, Role, Style, Tool, Which, attached, changes,
    changes_each, destroys, destroys_each, fixed, flag, net, plays, reads, tool, value,
};
use crate::effects::special::system;
use crate::effects::{Kind, Thing};

const SYSTEMCTL: &[Tool] = &[
    tool(&[
        "start",
        "restart",
        "reload",
        "try-restart",
        "reload-or-restart",
        "enable",
        "reenable",
        "unmask",
        "reset-failed",
        "set-property",
        "link",
        "edit",
        "revert",
        "preset",
    ])
    .acts(&[changes_each(Thing::Service, Which::All)]),
    tool(&["stop", "disable", "mask", "isolate", "kill"]).special(system::stop),
    tool(&[
        "poweroff",
        "reboot",
        "halt",
        "kexec",
        "suspend",
        "hibernate",
        "hybrid-sleep",
        "soft-reboot",
        "rescue",
        "emergency",
        "exit",
        "switch-root",
        "suspend-then-hibernate",
    ])
    .acts(&[destroys(Thing::Power)]),
    tool(&["set-default"]).special(system::default_target),
    tool(&["set-environment", "unset-environment", "import-environment"])
        .acts(&[changes(Thing::Setting)]),
    tool(&["daemon-reload", "daemon-reexec"]).acts(&[changes(Thing::Service)]),
    tool(&[
        "status",
        "show",
        "cat",
        "list-units",
        "list-unit-files",
        "is-active",
        "is-enabled",
        "is-failed",
        "list-timers",
        "list-dependencies",
        "help",
        "get-default",
        "list-sockets",
        "list-jobs",
    ]),
];

const LAUNCHCTL: &[Tool] = &[
    tool(&[
        "load",
        "unload",
        "start",
        "stop",
        "kickstart",
        "bootstrap",
        "enable",
        "disable",
        "remove",
        "kill",
        "submit",
    ])
    .acts(&[changes_each(Thing::Service, Which::All)]),
    tool(&["bootout"]).special(system::bootout),
    tool(&["reboot"]).acts(&[destroys(Thing::Power)]),
    tool(&["list", "print"]),
];

pub(super) const ROWS: &[Tool] = &[
    tool(&["shutdown"])
        .options(&[flag("c", &["show"], LOOK), flag("k", &[], LOOK)])
        .acts(&[destroys(Thing::Power).unless(LOOK)]),
    tool(&["reboot", "halt", "poweroff", "pm-suspend", "pm-hibernate", "rtcwake"])
        .options(&[flag("w", &["wtmp-only"], LOOK)])
        .acts(&[destroys(Thing::Power).unless(LOOK)]),
    tool(&["init", "telinit"]).special(system::init),
    tool(&["systemctl"])
        .options(&[plays("", &["root", "image"], Role::Read), flag("", &["user"], 0)])
        .valued(
            "tpnHMs",
            &["type", "property", "lines", "host", "machine", "signal", "job-mode", "output"],
        )
        .subs(SYSTEMCTL),
    tool(&[
        "service",
        "rc-service",
        "invoke-rc.d",
        "sv",
        "supervisorctl",
        "initctl",
        "pm2",
        "monit",
    ])
    .special(system::service),
    tool(&["start-stop-daemon", "rc-update", "chkconfig", "update-rc.d"]).special(system::service),
    tool(&["loginctl"]).subs(&[
        tool(&[
            "terminate-user",
            "kill-user",
            "terminate-session",
            "kill-session",
            "terminate-seat",
        ])
        .acts(&[destroys_each(Thing::Process, Which::All)]),
        tool(&["poweroff", "reboot", "suspend", "hibernate", "halt"])
            .acts(&[destroys(Thing::Power)]),
        tool(&["enable-linger", "disable-linger", "lock-session", "activate"])
            .acts(&[changes(Thing::Setting)]),
    ]),
    tool(&["launchctl"]).subs(LAUNCHCTL),
    tool(&["kill"]).style(Style::Bare).special(system::kill),
    tool(&["pkill", "killall", "skill", "slay"]).special(system::pkill).style(Style::Bare),
    tool(&["killall5"]).acts(&[destroys(Thing::Process)]),
    tool(&["fuser"])
        .options(&[flag("k", &["kill"], FORCE), flag("mc", &["mount"], A)])
        .valued("n", &["namespace"])
        .special(system::fuser),
    tool(&["xkill"])
        .style(Style::Words)
        .options(&[flag("", &["all"], FORCE)])
        .acts(&[destroys(Thing::Process).when(FORCE), changes(Thing::Process).unless(FORCE)]),
    tool(&["renice", "cpulimit"]).acts(&[changes(Thing::Process)]),
    tool(&[
        "useradd", "adduser", "groupadd", "addgroup", "newusers", "groupmod", "chsh", "chfn",
        "newgrp",
    ])
    .options(&[flag("D", &["defaults"], LOOK), value("u", &["uid"], A)])
    .valued(
        "cdegGkspKRZfM",
        &["home", "shell", "gid", "groups", "comment", "password", "ingroup", "gecos"],
    )
    .special(system::account),
    tool(&["chage"])
        .options(&[flag("l", &["list"], LOOK)])
        .valued("dEImMWR", &["expiredate", "inactive", "lastday", "maxdays", "mindays"])
        .special(system::account),
    tool(&["usermod"])
        .options(&[flag("L", &["lock"], FORCE), value("pe", &["password", "expiredate"], FORCE)])
        .valued("cdfgGlsuRvwVWZ", &["home", "shell", "uid", "gid", "groups", "comment", "login"])
        .special(system::account),
    tool(&["gpasswd"])
        .options(&[
            value("d", &["delete"], FORCE),
            flag("rR", &["remove-password", "restrict"], FORCE),
        ])
        .valued("aAMQ", &["add", "administrators", "members"])
        .acts(&[
            destroys_each(Thing::Account, Which::All).when(FORCE),
            changes_each(Thing::Account, Which::All).unless(FORCE),
        ]),
    tool(&["userdel", "deluser"])
        .options(&[
            flag("r", &["remove", "remove-home", "remove-all-files"], DELETE),
            flag("f", &["force"], FORCE),
        ])
        .acts(&[destroys_each(Thing::Account, Which::First)])
        .special(system::userdel),
    tool(&["groupdel", "delgroup"]).acts(&[destroys_each(Thing::Account, Which::All)]),
    tool(&["passwd"])
        .options(&[flag("S", &["status"], LOOK), flag("d", &["delete"], DELETE)])
        .valued("inwx", &[])
        .acts(&[destroys_each(Thing::Account, Which::All).unless(LOOK)]),
    tool(&["chpasswd", "vipw", "vigr", "pwconv", "pwunconv", "smbpasswd"])
        .acts(&[destroys(Thing::Account)]),
    tool(&["visudo"])
        .options(&[flag("c", &["check"], LOOK), plays("f", &["file"], Role::Write)])
        .acts(&[
            fixed(Kind::Write, "/etc/sudoers").unless(LOOK),
            destroys(Thing::Permission).unless(LOOK),
        ]),
    tool(&[
        "setenforce",
        "aa-disable",
        "aa-teardown",
        "aa-complain",
        "setsebool",
        "semanage",
        "spctl",
        "csrutil",
    ])
    .acts(&[destroys_each(Thing::Permission, Which::All)]),
    tool(&["crontab"])
        .options(&[flag("r", &[], DELETE), flag("l", &[], LOOK), flag("e", &[], A)])
        .valued("u", &[])
        .acts(&[
            destroys(Thing::Schedule).when(DELETE),
            reads(Which::First),
            changes(Thing::Schedule).unless(DELETE | LOOK),
        ])
        .special(system::crontab),
    tool(&["at", "batch"])
        .options(&[plays("f", &[], Role::Read), flag("l", &[], LOOK), flag("rd", &[], DELETE)])
        .valued("qt", &[])
        .acts(&[changes(Thing::Schedule).unless(LOOK)]),
    tool(&["anacron", "run-parts", "atq"]).acts(&[changes(Thing::Schedule)]),
    tool(&["sysctl"])
        .options(&[
            flag("w", &["write"], FORCE),
            flag("pf", &["load", "system"], A),
            flag("aA", &["all"], LOOK),
        ])
        .special(system::sysctl),
    tool(&["modprobe", "insmod", "rmmod", "kmod"])
        .options(&[
            flag("n", &["dry-run", "show", "show-depends"], DRY),
            flag("r", &["remove"], DELETE),
            flag("cD", &["showconfig"], LOOK),
            flag("f", &["force"], FORCE),
        ])
        .valued("CdS", &["config", "dirname", "set-version"])
        .acts(&[
            destroys_each(Thing::Kernel, Which::First).when(FORCE),
            changes_each(Thing::Kernel, Which::First).unless(LOOK | FORCE),
        ]),
    tool(&["flashrom"])
        .options(&[flag("wE", &["write", "erase"], FORCE)])
        .valued("pclirv", &["programmer", "chip"])
        .acts(&[destroys(Thing::Device).when(FORCE), changes(Thing::Device).unless(FORCE)]),
    tool(&["modinfo"]),
    tool(&["kexec"])
        .options(&[flag("e", &["exec"], FORCE), flag("l", &["load"], A)])
        .acts(&[destroys(Thing::Power).when(FORCE), changes(Thing::Kernel).unless(FORCE)]),
    tool(&["journalctl"])
        .options(&[
            attached("", &["vacuum-size", "vacuum-time", "vacuum-files"], DELETE),
            flag("", &["rotate", "flush"], A),
        ])
        .valued("untpbogDMS", &["unit", "lines", "since", "until", "priority", "output", "grep"])
        .acts(&[destroys(Thing::Log).when(DELETE), changes(Thing::Log).when(A)]),
    tool(&["history"])
        .options(&[flag("c", &[], FORCE), value("d", &[], A), flag("w", &[], B)])
        .acts(&[destroys(Thing::Log).when(FORCE), changes(Thing::Log).when(A)]),
    tool(&["dmesg"])
        .options(&[flag("cC", &["clear", "read-clear"], FORCE)])
        .valued("lnfs", &["level", "facility"])
        .acts(&[destroys(Thing::Log).when(FORCE)]),
    tool(&["logrotate"])
        .options(&[flag("d", &["debug"], DRY), plays("s", &["state"], Role::Write)])
        .acts(&[reads(Which::All), changes(Thing::Log)]),
    tool(&["logger", "last", "ausearch", "aureport", "faillog"]),
    tool(&["auditctl"])
        .options(&[flag("D", &[], FORCE)])
        .acts(&[destroys(Thing::Log).when(FORCE), changes(Thing::Log).unless(FORCE)]),
    tool(&["chroot", "systemd-nspawn"])
        .style(Style::Leading)
        .options(&[plays("D", &["directory"], Role::Read)])
        .valued("", &["userspec", "groups"])
        .acts(&[reads(Which::First)]),
    tool(&[
        "swaplabel",
        "timedatectl",
        "localectl",
        "hwclock",
        "setterm",
        "loadkeys",
        "update-locale",
        "locale-gen",
        "defaults",
        "gsettings",
        "dconf",
        "xfconf-query",
        "kwriteconfig5",
        "scutil",
        "nvram",
        "pmset",
        "systemsetup",
    ])
    .special(system::setting),
    tool(&["openssl"])
        .style(Style::Words)
        .options(&[
            plays("", &["out", "keyout", "writerand"], Role::Write),
            plays(
                "",
                &[
                    "in", "inkey", "CAfile", "cert", "key", "CA", "CAkey", "config", "extfile",
                    "rand",
                ],
                Role::Read,
            ),
            value("", &["connect"], A),
        ])
        .valued(
            "",
            &["subj", "days", "newkey", "addext", "passin", "passout", "k", "K", "iv", "pass"],
        )
        .special(system::openssl),
    tool(&["gpg", "gpg2"])
        .options(&[
            plays("o", &["output"], Role::Write),
            flag(
                "",
                &["delete-secret-keys", "delete-secret-key", "delete-secret-and-public-key"],
                FORCE,
            ),
            flag("", &["delete-keys", "delete-key"], DELETE),
            flag("", &["recv-keys", "send-keys", "search-keys", "refresh-keys"], A),
            flag(
                "",
                &[
                    "import",
                    "gen-key",
                    "generate-key",
                    "full-generate-key",
                    "quick-generate-key",
                    "edit-key",
                    "receive-keys",
                ],
                B,
            ),
            flag(
                "",
                &["export", "export-secret-keys", "list-keys", "list-secret-keys", "fingerprint"],
                LOOK,
            ),
            value("", &["keyserver"], ALL),
            flag(
                "edscbav",
                &[
                    "encrypt",
                    "decrypt",
                    "sign",
                    "clearsign",
                    "detach-sign",
                    "symmetric",
                    "verify",
                    "dearmor",
                    "armor",
                ],
                C,
            ),
        ])
        .valued(
            "ru",
            &[
                "recipient",
                "local-user",
                "homedir",
                "passphrase",
                "passphrase-file",
                "passphrase-fd",
                "pinentry-mode",
                "cipher-algo",
            ],
        )
        .acts(&[
            destroys_each(Thing::Secret, Which::All).when(FORCE),
            changes_each(Thing::Secret, Which::All).when(DELETE),
            changes(Thing::Secret).when(B),
            net("$?").when(A),
            reads(Which::All).when(C),
        ]),
    tool(&[
        "age", "minisign", "signify", "cosign", "mkcert", "certbot", "step", "keytool", "htpasswd",
    ])
    .options(&[plays("o", &["output"], Role::Write), plays("i", &["identity"], Role::Read)])
    .valued("rR", &[])
    .acts(&[changes(Thing::Secret)]),
    tool(&["tmux", "screen", "zellij"])
        .subs(&[tool(&["kill-server", "kill-session"]).acts(&[changes(Thing::Process)])])
        .acts(&[]),
    tool(&[
        "xclip",
        "xsel",
        "pbcopy",
        "pbpaste",
        "wl-copy",
        "wl-paste",
        "notify-send",
        "say",
        "espeak",
    ]),
];
