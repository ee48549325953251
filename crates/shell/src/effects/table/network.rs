//! Other machines.

use crate::effects::Thing;
use crate::effects::row::{
    A, ALL, B, C, D, DELETE, DRY, FORCE, INPLACE, LOOK, NONE, Role, Style, TARGET, TREE, Tool,
    Which, attached, changes, changes_each, destroys, flag, hosts, net, plays, tool, value,
};
use crate::effects::special::{network, remote};

const SSH_VALUED: &str = "BbcDEeIJLlmOoPpQRSWw";

pub(super) const ROWS: &[Tool] = &[
    tool(&["curl"])
        .options(&[
            value("o", &["output"], A),
            flag("O", &["remote-name", "remote-name-all"], B),
            value("", &["output-dir"], TARGET),
            value("T", &["upload-file"], C),
            value("d", &["data", "data-binary", "data-ascii", "data-urlencode", "json"], D),
            value("F", &["form", "form-string", "data-raw"], D),
            value("x", &["proxy", "socks5", "socks5-hostname", "socks4", "preproxy"], TREE),
            value("", &["connect-to", "resolve"], DELETE),
            plays("K", &["config"], Role::Read).bits(INPLACE),
            plays("D", &["dump-header", "trace", "trace-ascii", "stderr", "libcurl"], Role::Write),
            plays("c", &["cookie-jar"], Role::Write),
            value("E", &["cert", "key", "cacert", "netrc-file"], 0),
            value("", &["url"], ALL),
            value("X", &["request"], FORCE),
        ])
        .valued(
            "HuAebmrwyYzCPtUQ",
            &[
                "header",
                "user",
                "user-agent",
                "referer",
                "cookie",
                "max-time",
                "range",
                "write-out",
                "connect-timeout",
                "retry",
                "retry-delay",
                "limit-rate",
                "interface",
                "max-redirs",
                "retry-max-time",
                "ciphers",
                "oauth2-bearer",
                "unix-socket",
                "proxy-user",
                "noproxy",
                "dns-servers",
                "aws-sigv4",
                "capath",
                "local-port",
                "tls-max",
                "quote",
                "time-cond",
                "keepalive-time",
            ],
        )
        .special(network::curl),
    tool(&["wget", "wget2"])
        .options(&[
            value("O", &["output-document"], A),
            value("P", &["directory-prefix"], TARGET),
            plays("i", &["input-file"], Role::Read).bits(INPLACE),
            plays("oa", &["output-file", "append-output"], Role::Write),
            plays("", &["post-file", "body-file"], Role::Read).bits(D),
            value("", &["post-data", "body-data"], D),
            value("", &["load-cookies", "certificate", "private-key", "ca-certificate"], 0),
            plays("", &["save-cookies"], Role::Write),
            flag("", &["spider"], LOOK),
            value("", &["method"], FORCE),
            flag("rm", &["recursive", "mirror"], TREE),
        ])
        .valued(
            "tTUelADRIXBQw",
            &[
                "tries",
                "timeout",
                "user-agent",
                "header",
                "user",
                "password",
                "level",
                "accept",
                "reject",
                "domains",
                "wait",
                "limit-rate",
                "quota",
                "base",
                "execute",
                "referer",
                "max-redirect",
                "http-user",
                "http-password",
            ],
        )
        .special(network::wget),
    tool(&[
        "aria2c",
        "axel",
        "httrack",
        "youtube-dl",
        "yt-dlp",
        "lftp",
        "ftp",
        "lynx",
        "links",
        "w3m",
        "elinks",
    ])
    .options(&[
        plays("oO", &["out", "output"], Role::Write),
        plays("d", &["dir"], Role::WriteTree),
        plays("i", &["input-file"], Role::Read),
    ])
    .valued("xsjkufepn", &[])
    .acts(&[hosts(Which::All)]),
    tool(&[
        "http", "https", "httpie", "xh", "xhs", "grpcurl", "websocat", "wscat", "hey", "ab", "wrk",
        "k6", "vegeta", "siege",
    ])
    .options(&[plays("o", &["output"], Role::Write)])
    .valued("HXdncztap", &["auth", "session", "timeout", "proto", "header"])
    .special(network::httpie),
    // The key that it logs in with is used, and not shown.
    tool(&["ssh", "autossh", "mosh", "et"])
        .style(Style::Leading)
        .options(&[value("iF", &[], 0)])
        .valued(SSH_VALUED, &["ssh", "port"])
        .special(network::ssh),
    tool(&["ssh-copy-id"])
        .options(&[value("i", &[], 0)])
        .valued("poFtT", &[])
        .acts(&[hosts(Which::All)]),
    tool(&["ssh-keyscan"])
        .options(&[plays("f", &[], Role::Read)])
        .valued("pTt", &[])
        .acts(&[hosts(Which::All)]),
    tool(&["ssh-keygen"])
        .options(&[value("f", &[], A), flag("lyFHBe", &[], LOOK), value("R", &[], DELETE)])
        .valued("tbCNPamOnVIsDwZ", &[])
        .special(network::keygen),
    tool(&["ssh-add", "ssh-agent"]).options(&[flag("D", &[], DELETE)]).valued("t", &[]),
    tool(&["sshpass"])
        .options(&[plays("f", &[], Role::Read)])
        .valued("pd", &[])
        .style(Style::Leading),
    tool(&["scp"])
        .options(&[flag("r", &[], TREE), value("iF", &[], 0)])
        .valued("PoclSJDX", &[])
        .special(remote::copy),
    tool(&["sftp", "tftp"])
        .options(&[plays("b", &[], Role::Read), value("iF", &[], 0)])
        .valued("PoclSJBDRX", &[])
        .special(network::ssh),
    tool(&["rsync"])
        .options(&[
            flag("ar", &["archive", "recursive"], TREE),
            flag("n", &["dry-run", "list-only"], DRY),
            flag(
                "",
                &[
                    "delete",
                    "del",
                    "delete-before",
                    "delete-during",
                    "delete-after",
                    "delete-delay",
                    "delete-excluded",
                    "delete-missing-args",
                ],
                DELETE,
            ),
            flag("", &["remove-source-files"], FORCE),
            plays("", &["exclude-from", "include-from", "files-from", "password-file"], Role::Read),
            plays("", &["log-file", "write-batch"], Role::Write),
            plays("", &["backup-dir", "partial-dir", "temp-dir"], Role::WriteTree),
        ])
        .valued(
            "efBMT",
            &[
                "rsh",
                "filter",
                "exclude",
                "include",
                "bwlimit",
                "max-size",
                "min-size",
                "chmod",
                "chown",
                "rsync-path",
                "port",
                "timeout",
                "out-format",
                "info",
                "suffix",
                "link-dest",
                "compare-dest",
                "copy-dest",
                "iconv",
                "max-delete",
                "block-size",
                "modify-window",
            ],
        )
        .special(remote::rsync),
    tool(&["nc", "ncat", "netcat", "nc.openbsd", "nc.traditional"])
        .options(&[flag("l", &["listen"], LOOK), plays("ec", &["exec", "sh-exec"], Role::Execute)])
        .valued("pswiqxXIOTVMm", &["source-port", "wait", "idle-timeout", "proxy"])
        .special(network::netcat),
    tool(&["socat"]).style(Style::Leading).special(network::socat),
    tool(&[
        "telnet",
        "ping",
        "ping6",
        "traceroute",
        "tracepath",
        "mtr",
        "whois",
        "nmap",
        "masscan",
        "finger",
        "openvpn",
        "wg",
        "ngrok",
        "rlogin",
        "rsh",
        "rdesktop",
        "xfreerdp",
        "vncviewer",
        "iperf",
        "iperf3",
    ])
    .options(&[plays("o", &[], Role::Write)])
    .valued("cipsWtIlbfmnq", &["count", "interval", "config"])
    .acts(&[hosts(Which::First), net("$?").when(NONE)]),
    tool(&["dig", "host", "nslookup", "drill", "kdig", "dog"])
        .options(&[plays("f", &[], Role::Read)])
        .valued("bcipqtxyk", &["type"])
        .special(network::names),
    tool(&["mail", "mailx", "sendmail", "mutt", "msmtp", "swaks", "ssmtp"])
        .options(&[plays("aA", &["attach"], Role::Read)])
        .valued("srcb", &["to", "from", "server"])
        .special(network::mail),
    tool(&["iptables", "ip6tables", "iptables-legacy", "iptables-nft", "ebtables", "arptables"])
        .options(&[
            flag("FX", &["flush", "delete-chain"], FORCE),
            flag("LSC", &["list", "list-rules", "check"], LOOK),
            value("P", &["policy"], A),
            flag("D", &["delete"], DELETE),
        ])
        .valued(
            "AItjpsdiom",
            &[
                "append",
                "insert",
                "table",
                "jump",
                "protocol",
                "source",
                "destination",
                "dport",
                "sport",
            ],
        )
        .special(network::iptables),
    tool(&["iptables-restore", "ip6tables-restore"])
        .options(&[flag("t", &["test"], DRY)])
        .acts(&[destroys(Thing::Firewall)]),
    tool(&["iptables-save", "ip6tables-save"]).options(&[plays("f", &["file"], Role::Write)]),
    tool(&["nft"])
        .options(&[flag("c", &["check"], DRY), plays("f", &["file"], Role::Read)])
        .special(network::nft),
    tool(&["conntrack"])
        .options(&[flag("FD", &["flush", "delete"], FORCE)])
        .acts(&[destroys(Thing::Firewall).when(FORCE)]),
    tool(&["ipvsadm", "ipset"])
        .options(&[flag("CX", &["clear"], FORCE), flag("Lln", &["list"], LOOK)])
        .subs(&[
            tool(&["flush", "destroy"]).acts(&[destroys(Thing::Firewall)]),
            tool(&["list", "save", "test"]),
        ])
        .acts(&[
            destroys(Thing::Firewall).when(FORCE),
            changes(Thing::Firewall).unless(FORCE | LOOK),
        ]),
    tool(&["ufw"]).options(&[flag("", &["dry-run"], DRY)]).subs(&[
        tool(&["disable", "reset"]).acts(&[destroys(Thing::Firewall)]),
        tool(&[
            "enable", "allow", "deny", "delete", "insert", "limit", "reject", "default", "reload",
            "logging", "route",
        ])
        .acts(&[changes(Thing::Firewall)]),
        tool(&["status", "show", "version", "app"]),
    ]),
    tool(&["firewall-cmd"])
        .options(&[
            attached(
                "",
                &[
                    "list-all",
                    "state",
                    "get-zones",
                    "list-ports",
                    "list-services",
                    "get-active-zones",
                ],
                LOOK,
            ),
            flag("", &["panic-on", "complete-reload"], FORCE),
            value("", &["remove-service"], A),
        ])
        .acts(&[
            destroys(Thing::Firewall).when(FORCE),
            changes(Thing::Firewall).unless(LOOK | FORCE),
        ])
        .special(network::firewall),
    tool(&["pfctl"])
        .options(&[flag("dF", &[], FORCE), flag("s", &[], LOOK), plays("f", &[], Role::Read)])
        .acts(&[
            destroys(Thing::Firewall).when(FORCE),
            changes(Thing::Firewall).unless(LOOK | FORCE),
        ]),
    tool(&["ip"]).style(Style::Leading).special(network::ip),
    tool(&[
        "ifconfig",
        "iwconfig",
        "ifdown",
        "ifup",
        "iw",
        "ethtool",
        "brctl",
        "tc",
        "networksetup",
        "nmcli",
        "netplan",
        "resolvectl",
        "dhclient",
    ])
    .special(network::interface),
    tool(&["route"]).special(network::interface),
    tool(&["ss", "netstat", "arp", "tcpdump", "tshark", "iftop", "nethogs", "iwlist"])
        .options(&[plays("w", &[], Role::Write), plays("r", &[], Role::Read)]),
    tool(&["hostname", "hostnamectl", "domainname"]).acts(&[changes_each(
        Thing::Setting,
        Which::All,
    )
    .unless(NONE)]),
];
