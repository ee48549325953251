//! Machines in machines, machines at a distance, backups: programs whose words tell it all.

use crate::effects::Thing;
use crate::effects::row::{
    A, ALL, B, DELETE, DRY, FORCE, LOOK, Role, Style, Tool, Which, attached, changes, changes_each,
    destroys, destroys_each, fills, flag, net, plays, reads, sweeps, tool, value, writes,
};
use crate::effects::special::{disks, git, machines, verbs};

pub(super) const ROWS: &[Tool] = &[
    tool(&[
        "multipass",
        "qm",
        "pct",
        "pvesh",
        "xe",
        "govc",
        "limactl",
        "lima",
        "colima",
        "prlctl",
        "orbctl",
        "tart",
        "machinectl",
        "vmrun",
        "proxmox-backup-client",
        "distrobox",
        "toolbox",
    ])
    .options(&[flag("", &["purge"], DELETE)])
    .special(verbs::container),
    tool(&["esxcli"])
        .subs(&[tool(&["system"]).subs(&[tool(&["shutdown"])
            .subs(&[tool(&["poweroff", "reboot"]).acts(&[destroys(Thing::Power)])])])])
        .special(verbs::container),
    tool(&["VBoxManage", "vboxmanage"])
        .options(&[flag("", &["delete"], DELETE), flag("", &["delete-all"], DELETE)])
        .special(machines::virtual_box),
    tool(&["wsl", "wsl.exe"])
        .style(Style::Leading)
        .options(&[value("", &["unregister"], DELETE)])
        .acts(&[destroys(Thing::Container).when(DELETE)]),
    tool(&["buildah", "ctr", "crictl"])
        .options(&[flag("a", &["all", "prune"], ALL), flag("f", &["force"], FORCE)])
        .valued("nr", &["namespace", "runtime-endpoint", "image-endpoint"])
        .acts(&[net("provider")])
        .special(verbs::many),
    tool(&["skopeo", "crane", "regctl", "oras", "cloudflared", "swift-client"])
        .special(verbs::cloud),
    tool(&[
        "argocd", "flux", "istioctl", "linkerd", "cilium", "rancher", "knife", "microk8s", "k0s",
        "velero", "kops", "eksctl", "linstor", "cmctl",
    ])
    .options(&[flag("", &["dry-run"], DRY)])
    .valued("nf", &["namespace", "context", "kubeconfig", "filename"])
    .special(verbs::cluster),
    tool(&["nomad"])
        .style(Style::Words)
        .options(&[flag("", &["purge"], DELETE)])
        .acts(&[net("provider")])
        .special(machines::nomad),
    tool(&[
        "k3s-uninstall.sh",
        "k3s-agent-uninstall.sh",
        "k3s-killall.sh",
        "rke2-uninstall.sh",
        "rke2-killall.sh",
    ])
    .acts(&[destroys(Thing::Cluster)]),
    tool(&["pgbackrest", "barman", "wal-g", "burp", "urbackupclientctl"]).special(verbs::backup),
    tool(&["ipmitool", "racadm", "ilorest", "hponcfg"]).special(machines::far),
    tool(&["dbus-send", "busctl", "gdbus", "qdbus"]).style(Style::Bare).special(machines::bus),
    tool(&["wevtutil", "wevtutil.exe"]).style(Style::Bare).special(machines::windows),
    tool(&["bcdedit", "vssadmin", "reg", "icacls", "format", "format.com", "diskpart", "wbadmin"])
        .style(Style::Bare)
        .special(machines::windows),
    tool(&["mokutil"])
        .options(&[flag("", &["reset", "delete"], FORCE)])
        .acts(&[destroys(Thing::Device).when(FORCE)]),
    tool(&["efivar"])
        .options(&[flag("w", &["write"], FORCE)])
        .valued("nf", &["name", "fromfile"])
        .acts(&[destroys(Thing::Device).when(FORCE)]),
    tool(&["apparmor_parser"])
        .options(&[flag("R", &["remove"], FORCE)])
        .acts(&[destroys_each(Thing::Permission, Which::All).when(FORCE), reads(Which::All)]),
    tool(&["systemd-tmpfiles"])
        .options(&[flag("", &["purge"], FORCE), flag("", &["dry-run"], DRY)])
        .acts(&[destroys(Thing::Filesystem).when(FORCE), changes(Thing::Filesystem).unless(FORCE)]),
    tool(&["systemd-firstboot"])
        .options(&[flag("", &["reset"], FORCE)])
        .acts(&[destroys(Thing::Setting).when(FORCE), changes(Thing::Setting).unless(FORCE)]),
    tool(&["fsfreeze"]).options(&[flag("f", &["freeze"], FORCE)]).acts(&[destroys_each(
        Thing::Filesystem,
        Which::All,
    )
    .when(FORCE)]),
    tool(&["exportfs"])
        .options(&[flag("u", &[], A), flag("a", &[], B)])
        .acts(&[destroys(Thing::Filesystem).when(A | B), changes(Thing::Filesystem)]),
    tool(&["ovs-vsctl", "ovs-ofctl"]).special(machines::switch),
    tool(&["wg-quick", "tailscale", "zerotier-cli", "nordvpn"]).special(machines::tunnel),
    tool(&["dscl", "sysadminctl", "pw"]).style(Style::Bare).special(machines::directory),
    tool(&["asr"])
        .style(Style::Words)
        .options(&[flag("", &["erase"], FORCE), value("", &["target"], A)])
        .acts(&[destroys(Thing::Device).when(FORCE), changes(Thing::Device)]),
    tool(&["hdiutil"]).special(disks::image),
    tool(&["ddrescue", "dd_rescue"])
        .valued("bcdimrsS", &["size", "cluster-size", "retry-passes", "input-position"])
        .acts(&[reads(Which::First), writes(Which::Second)]),
    tool(&["qemu-img"]).valued("fObos", &["format", "object", "size"]).special(machines::qemu_img),
    tool(&["pv"])
        .options(&[plays("o", &["output"], Role::Write)])
        .valued("LBNsdRPi", &[])
        .acts(&[reads(Which::All)]),
    tool(&["dpkg-deb"])
        .options(&[flag("xR", &["extract", "vextract", "raw-extract"], A)])
        .acts(&[reads(Which::First), fills(Which::Second).when(A)]),
    tool(&["gio"]).subs(&[
        tool(&["remove", "trash"])
            .options(&[flag("f", &["force"], FORCE)])
            .acts(&[sweeps(Which::All)]),
        tool(&["open", "cat", "info", "list", "tree", "monitor"]).acts(&[reads(Which::All)]),
    ]),
    tool(&["trash-empty", "trash-rm"])
        .options(&[flag("", &["dry-run"], DRY)])
        .acts(&[destroys(Thing::Filesystem)]),
    tool(&["lastlog"])
        .options(&[flag("C", &["clear"], FORCE)])
        .valued("ubtR", &["user", "before", "time"])
        .acts(&[destroys(Thing::Log).when(FORCE)]),
    tool(&["glab"])
        .subs(&[
            tool(&["api"])
                .options(&[value("X", &["method"], A), plays("", &["input"], Role::Read)])
                .valued("fFH", &["field", "raw-field", "header", "hostname"])
                .special(git::glab_api),
            tool(&[
                "repo",
                "project",
                "release",
                "issue",
                "mr",
                "variable",
                "label",
                "ssh-key",
                "snippet",
                "token",
                "schedule",
                "milestone",
                "ci",
            ])
            .valued("Rmgd", &["repo", "message", "group", "description"])
            .special(verbs::cloud),
        ])
        .acts(&[net("gitlab.com")]),
    tool(&["vsce", "ovsx"]).special(verbs::cloud),
    tool(&["atrm"]).acts(&[destroys_each(Thing::Schedule, Which::All)]),
    tool(&["fwupdmgr"]).options(&[attached("", &["json"], LOOK)]).acts(&[changes_each(
        Thing::Device,
        Which::First,
    )
    .unless(LOOK)]),
];
