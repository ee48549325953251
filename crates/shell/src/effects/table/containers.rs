//! Containers and clusters.

use crate::effects::Thing;
use crate::effects::row::{
    A, ALL, Act, B, DELETE, DRY, FORCE, RUNS, Role, Style, Tool, Which, attached, changes,
    changes_each, destroys, destroys_each, flag, joined, net, plays, tool, value,
};
use crate::effects::special::containers;

const PRUNE: Tool = tool(&["prune"]).valued("", &["filter"]).acts(&[destroys(Thing::Container)]);
const LOOKING: Tool = tool(&[
    "ls", "list", "inspect", "ps", "history", "df", "info", "events", "top", "stats", "port",
    "logs", "diff", "exists", "mount",
]);
const CHANGE_EACH: &[Act] = &[changes_each(Thing::Container, Which::All)];
const RM: Tool = tool(&["rm", "remove"])
    .options(&[flag("va", &["volumes", "all"], DELETE), flag("f", &["force"], FORCE)])
    .acts(&[
        destroys_each(Thing::Container, Which::All).when(DELETE),
        changes_each(Thing::Container, Which::All).unless(DELETE),
    ]);

const CONTAINER: &[Tool] = &[
    PRUNE,
    LOOKING,
    RM,
    tool(&["start", "stop", "restart", "kill", "pause", "unpause", "rename", "update", "wait"])
        .valued("ts", &["time", "signal"])
        .acts(CHANGE_EACH),
    tool(&["run", "create", "exec"]).style(Style::Leading).acts(&[]).special(containers::run),
    tool(&["cp"]).special(containers::cp),
];
/// Without `-a`, only what has no name any more and is not used.
const IMAGE_PRUNE: Tool = tool(&["prune"])
    .options(&[flag("a", &["all"], ALL)])
    .valued("", &["filter"])
    .acts(&[destroys(Thing::Container).when(ALL), changes(Thing::Container).unless(ALL)]);
const IMAGE: &[Tool] = &[
    IMAGE_PRUNE,
    LOOKING,
    tool(&["rm", "remove"]).acts(CHANGE_EACH),
    tool(&["pull", "push"]).acts(&[changes_each(Thing::Container, Which::First), net("registry")]),
    tool(&["build"]).special(containers::build),
    tool(&["tag", "load", "import", "save"]).acts(&[changes(Thing::Container)]),
];
const VOLUME: &[Tool] = &[
    PRUNE,
    LOOKING,
    tool(&["rm", "remove"]).acts(&[destroys_each(Thing::Container, Which::All)]),
    tool(&["create"]).acts(CHANGE_EACH),
];
const NETWORK: &[Tool] = &[
    tool(&["prune", "rm", "remove", "create", "connect", "disconnect"]).acts(CHANGE_EACH),
    LOOKING,
];
const SYSTEM: &[Tool] = &[PRUNE, LOOKING, tool(&["reset"]).acts(&[destroys(Thing::Container)])];
const SWARM: &[Tool] = &[
    tool(&["leave"])
        .options(&[flag("f", &["force"], FORCE)])
        .acts(&[destroys(Thing::Cluster).when(FORCE), changes(Thing::Cluster).unless(FORCE)]),
    tool(&["rm", "remove"]).acts(&[destroys_each(Thing::Cluster, Which::All)]),
    tool(&["init", "join", "update", "deploy", "create", "scale", "rollback"])
        .acts(&[changes(Thing::Cluster)]),
    LOOKING,
];
const BUILDER: &[Tool] = &[
    tool(&["prune", "rm"]).acts(&[changes(Thing::Container)]),
    tool(&["build", "bake"]).special(containers::build),
    tool(&["ls", "inspect", "create", "use", "version", "du", "imagetools"]),
];
const COMPOSE: &[Tool] = &[
    tool(&["down"])
        .options(&[flag("v", &["volumes"], DELETE), attached("", &["rmi"], 0)])
        .valued("t", &["timeout"])
        .acts(&[destroys(Thing::Container).when(DELETE), changes(Thing::Container).unless(DELETE)]),
    RM,
    tool(&[
        "up", "start", "restart", "stop", "create", "kill", "pause", "unpause", "scale", "watch",
    ])
    .acts(&[changes_each(Thing::Container, Which::All)]),
    tool(&["run", "exec"]).style(Style::Leading).special(containers::run),
    tool(&["build"]).acts(&[RUNS, net("registry")]),
    tool(&["pull", "push"]).acts(&[net("registry"), changes(Thing::Container)]),
    tool(&["cp"]).special(containers::cp),
    tool(&[
        "ps", "logs", "config", "top", "images", "port", "events", "ls", "version", "stats",
        "convert",
    ]),
];

const DOCKER: &[Tool] = &[
    tool(&["container"]).subs(CONTAINER),
    tool(&["image"]).subs(IMAGE),
    tool(&["volume"]).subs(VOLUME),
    tool(&["network"]).subs(NETWORK),
    tool(&["system"]).subs(SYSTEM),
    tool(&["machine"]).subs(&[
        tool(&["rm", "reset"]).acts(&[destroys_each(Thing::Container, Which::All)]),
        LOOKING,
        tool(&["init", "start", "stop", "ssh", "set"]).acts(&[changes(Thing::Container)]),
    ]),
    tool(&["kube", "play"]).subs(&[tool(&["down"]).acts(&[destroys(Thing::Container)])]),
    tool(&["rmi"]).options(&[flag("a", &["all"], ALL), flag("f", &["force"], FORCE)]).acts(&[
        destroys(Thing::Container).when(ALL),
        changes_each(Thing::Container, Which::All).unless(ALL),
    ]),
    tool(&["swarm", "stack", "service", "node", "secret", "config"]).subs(SWARM),
    tool(&["builder", "buildx"]).subs(BUILDER),
    tool(&["pod"]).subs(CONTAINER),
    tool(&["compose"])
        .options(&[
            plays("f", &["file", "env-file"], Role::Read),
            plays("", &["project-directory"], Role::Base),
        ])
        .valued("p", &["project-name", "profile"])
        .subs(COMPOSE),
    tool(&["run", "create", "exec"])
        .style(Style::Leading)
        .options(&[
            value("v", &["volume", "mount"], A),
            plays("", &["env-file", "cidfile"], Role::Read),
            flag("", &["privileged"], B),
        ])
        .valued(
            "ewupahlmc",
            &[
                "name",
                "env",
                "workdir",
                "user",
                "publish",
                "network",
                "net",
                "entrypoint",
                "label",
                "memory",
                "cpus",
                "platform",
                "hostname",
                "add-host",
                "gpus",
                "restart",
                "pid",
                "ipc",
                "cap-add",
                "cap-drop",
                "device",
                "tmpfs",
                "ulimit",
                "shm-size",
                "log-driver",
                "log-opt",
                "security-opt",
                "volumes-from",
                "dns",
                "ip",
                "link",
                "expose",
                "pull",
                "runtime",
                "stop-signal",
                "userns",
                "uts",
                "cgroupns",
                "health-cmd",
            ],
        )
        .special(containers::run),
    tool(&["build"])
        .options(&[
            plays("f", &["file"], Role::Read),
            plays("o", &["output", "iidfile", "metadata-file"], Role::Write),
        ])
        .valued(
            "tmc",
            &[
                "tag",
                "build-arg",
                "target",
                "platform",
                "label",
                "cache-from",
                "cache-to",
                "network",
                "progress",
                "secret",
                "ssh",
                "memory",
                "add-host",
            ],
        )
        .special(containers::build),
    tool(&["pull", "push", "login", "logout", "search"])
        .valued("up", &["username", "password", "platform"])
        .acts(&[changes_each(Thing::Container, Which::First), net("registry")]),
    RM,
    tool(&[
        "tag", "start", "stop", "restart", "kill", "pause", "unpause", "rename", "commit",
        "update", "attach",
    ])
    .options(&[flag("f", &["force"], FORCE)])
    .valued("ts", &["time", "signal"])
    .acts(CHANGE_EACH),
    tool(&["cp"]).special(containers::cp),
    tool(&["save", "export"]).options(&[plays("o", &["output"], Role::Write)]).acts(&[]),
    tool(&["load", "import"])
        .options(&[plays("i", &["input"], Role::Read)])
        .acts(&[changes(Thing::Container)]),
    tool(&[
        "ps", "images", "logs", "inspect", "info", "version", "stats", "top", "port", "diff",
        "history", "events", "wait", "context", "manifest", "scout",
    ]),
];

const GONE: &[Act] = &[joined(Thing::Cluster, true), net("cluster")];
const CHANGED: &[Act] = &[joined(Thing::Cluster, false), net("cluster")];
const ASKS: &[Act] = &[net("cluster")];

const KUBECTL: &[Tool] = &[
    tool(&["delete"])
        .options(&[plays("fk", &["filename", "kustomize"], Role::Read), flag("", &["all"], ALL)])
        .acts(GONE),
    tool(&["drain"]).acts(GONE),
    tool(&["replace"])
        .options(&[plays("fk", &["filename"], Role::Read), flag("", &["force"], FORCE)])
        .acts(&[
            destroys(Thing::Cluster).when(FORCE),
            changes(Thing::Cluster).unless(FORCE),
            net("cluster"),
        ]),
    tool(&["apply", "create"])
        .options(&[
            plays("fk", &["filename", "kustomize"], Role::Read),
            flag("", &["prune"], FORCE),
        ])
        .acts(&[
            destroys(Thing::Cluster).when(FORCE),
            joined(Thing::Cluster, false).unless(FORCE),
            net("cluster"),
        ]),
    tool(&["scale", "autoscale"])
        .options(&[value("", &["replicas"], A), plays("f", &["filename"], Role::Read)])
        .special(containers::scale),
    tool(&["patch"])
        .options(&[
            plays("f", &["filename"], Role::Read),
            value("p", &["patch"], A),
            plays("", &["patch-file"], Role::Read),
        ])
        .valued("", &["type"])
        .acts(CHANGED)
        .special(containers::patch),
    // What administrators of a whole cluster have.
    tool(&["adm"]).subs(&[
        tool(&["drain"]).acts(GONE),
        tool(&["prune"])
            .options(&[flag("", &["confirm"], FORCE)])
            .acts(&[destroys(Thing::Cluster).when(FORCE), net("cluster")]),
        tool(&["cordon", "uncordon", "taint", "policy"]).acts(CHANGED),
    ]),
    tool(&[
        "edit",
        "set",
        "label",
        "annotate",
        "rollout",
        "cordon",
        "uncordon",
        "taint",
        "expose",
        "run",
        "debug",
        "certificate",
    ])
    .options(&[plays("f", &["filename"], Role::Read)])
    .valued("p", &["patch", "type", "image", "port"])
    .acts(CHANGED),
    tool(&["exec"]).style(Style::Leading).valued("c", &["container"]).acts(&[net("cluster")]),
    tool(&["cp"]).acts(&[net("cluster")]).special(containers::cp),
    tool(&[
        "get",
        "describe",
        "logs",
        "top",
        "explain",
        "diff",
        "wait",
        "port-forward",
        "proxy",
        "attach",
        "auth",
        "cluster-info",
        "api-resources",
        "api-versions",
        "events",
    ])
    .options(&[plays("fk", &["filename"], Role::Read)])
    .valued("ow", &["output"])
    .acts(ASKS),
    tool(&["config"]).acts(&[changes(Thing::Setting)]),
    tool(&["version", "kustomize", "completion", "plugin", "options"]),
];

const HELM: &[Tool] = &[
    tool(&["uninstall", "delete", "del", "un", "destroy"]).acts(GONE),
    tool(&["install", "upgrade"])
        .options(&[plays("f", &["values"], Role::Read)])
        .valued("", &["set", "set-string", "version", "timeout", "repo"])
        .acts(&[changes_each(Thing::Cluster, Which::First), net("cluster")]),
    tool(&["rollback", "test"]).acts(&[changes_each(Thing::Cluster, Which::First), net("cluster")]),
    tool(&[
        "repo",
        "pull",
        "push",
        "dependency",
        "dep",
        "search",
        "list",
        "ls",
        "status",
        "history",
        "get",
        "show",
        "registry",
    ])
    .acts(ASKS),
    tool(&["template", "lint", "create", "package", "version", "env", "plugin", "verify"])
        .acts(&[]),
];

const KIND: &[Tool] = &[
    tool(&["delete"]).acts(&[destroys_each(Thing::Cluster, Which::All)]),
    tool(&["cluster", "node", "nodegroup"])
        .subs(&[tool(&["delete"]).acts(&[destroys_each(Thing::Cluster, Which::All)])])
        .acts(&[changes(Thing::Cluster)]),
    tool(&["create", "start", "stop", "load", "export", "build", "pause", "addons", "image"])
        .acts(&[changes(Thing::Cluster)]),
    tool(&[
        "get",
        "status",
        "version",
        "ip",
        "logs",
        "dashboard",
        "kubectl",
        "service",
        "profile",
        "list",
    ]),
];

const VAGRANT: &[Tool] = &[
    tool(&["destroy"]).acts(&[destroys_each(Thing::Container, Which::All)]),
    tool(&["up", "halt", "reload", "provision", "suspend", "resume", "box", "package", "snapshot"])
        .acts(&[changes(Thing::Container)]),
    tool(&["ssh", "status", "global-status", "version"]),
];

pub(super) const ROWS: &[Tool] = &[
    tool(&["docker", "podman", "nerdctl", "finch"])
        .options(&[flag("D", &["debug"], 0)])
        .valued(
            "cHl",
            &[
                "context",
                "host",
                "config",
                "log-level",
                "tlscacert",
                "tlscert",
                "tlskey",
                "connection",
                "url",
                "root",
                "namespace",
            ],
        )
        .subs(DOCKER),
    tool(&["docker-compose", "podman-compose"])
        .options(&[
            plays("f", &["file", "env-file"], Role::Read),
            plays("", &["project-directory"], Role::Base),
        ])
        .valued("p", &["project-name", "profile"])
        .subs(COMPOSE),
    tool(&["kaniko"]).acts(&[changes(Thing::Container), net("registry")]),
    tool(&["kubectl", "oc", "k", "microk8s.kubectl"])
        .options(&[attached("", &["dry-run"], DRY)])
        .valued(
            "nslv",
            &[
                "namespace",
                "context",
                "kubeconfig",
                "cluster",
                "user",
                "server",
                "token",
                "as",
                "selector",
                "grace-period",
                "timeout",
                "field-selector",
                "cascade",
                "request-timeout",
            ],
        )
        .subs(KUBECTL),
    tool(&["helm", "helmfile"])
        .options(&[flag("", &["dry-run"], DRY)])
        .valued("n", &["namespace", "kube-context", "kubeconfig"])
        .subs(HELM),
    tool(&["kind", "minikube", "k3d"]).valued("", &["name", "profile", "config"]).subs(KIND),
    tool(&["kubeadm"]).subs(&[
        tool(&["reset"]).acts(&[destroys(Thing::Cluster)]),
        tool(&["init", "join", "upgrade"]).acts(&[changes(Thing::Cluster)]),
    ]),
    tool(&[
        "kustomize",
        "kubens",
        "kubectx",
        "k9s",
        "stern",
        "kubeval",
        "kubeconform",
        "skaffold",
        "tilt",
    ])
    .acts(&[RUNS]),
    tool(&["vagrant"]).subs(VAGRANT),
    tool(&["virsh"]).style(Style::Leading).subs(&[
        tool(&[
            "destroy",
            "undefine",
            "vol-delete",
            "pool-delete",
            "snapshot-delete",
            "vol-wipe",
            "pool-destroy",
            "net-destroy",
        ])
        .acts(&[destroys_each(Thing::Container, Which::First)]),
        tool(&["start", "shutdown", "reboot", "define", "create", "suspend", "resume"])
            .acts(&[changes_each(Thing::Container, Which::First)]),
    ]),
    tool(&["lxc", "incus"]).subs(&[
        tool(&["delete"]).acts(&[destroys_each(Thing::Container, Which::All)]),
        tool(&["start", "stop", "launch", "init", "restart", "copy", "move"])
            .acts(&[changes_each(Thing::Container, Which::All)]),
    ]),
    tool(&["act", "dagger", "earthly"]).acts(&[RUNS]),
    tool(&["consul"]).subs(&[
        tool(&["leave"]).acts(&[destroys(Thing::Cluster)]),
        tool(&["kv"]).subs(&[
            tool(&["delete"]).acts(&[destroys_each(Thing::Database, Which::All), net("cluster")]),
            tool(&["put", "import"])
                .acts(&[changes_each(Thing::Database, Which::First), net("cluster")]),
            tool(&["get", "export"]).acts(ASKS),
        ]),
    ]),
    tool(&["ceph", "rados", "rbd"]).special(containers::ceph),
    tool(&["lxc-destroy"]).acts(&[destroys(Thing::Container)]),
    tool(&["cloud-init"]).subs(&[
        tool(&["clean"]).acts(&[destroys(Thing::Setting)]),
        tool(&["status", "query", "schema", "analyze"]),
    ]),
    tool(&["vault"]).subs(&[
        tool(&["delete"]).acts(&[destroys_each(Thing::Secret, Which::All), net("cluster")]),
        tool(&["kv"]).subs(&[
            tool(&["delete", "destroy", "metadata"])
                .acts(&[destroys_each(Thing::Secret, Which::All), net("cluster")]),
            tool(&["put", "patch"])
                .acts(&[changes_each(Thing::Secret, Which::First), net("cluster")]),
            tool(&["get", "list"]).acts(ASKS),
        ]),
        tool(&["secrets", "auth"]).subs(&[
            tool(&["disable"]).acts(&[destroys_each(Thing::Secret, Which::All), net("cluster")]),
            tool(&["enable", "tune", "move"])
                .acts(&[changes_each(Thing::Secret, Which::All), net("cluster")]),
        ]),
        tool(&["write"]).acts(&[changes_each(Thing::Secret, Which::First), net("cluster")]),
        tool(&["operator"]).subs(&[
            tool(&["seal", "step-down"]).acts(&[destroys(Thing::Secret), net("cluster")]),
            tool(&["init", "unseal", "rekey"]).acts(&[changes(Thing::Secret), net("cluster")]),
        ]),
        tool(&["lease", "token"]).subs(&[
            tool(&["revoke"]).acts(&[destroys_each(Thing::Secret, Which::All), net("cluster")]),
            tool(&["create", "renew"]).acts(&[changes(Thing::Secret), net("cluster")]),
            tool(&["lookup"]).acts(ASKS),
        ]),
        tool(&["read", "list", "status", "login"]).acts(ASKS),
    ]),
    tool(&["docker-machine"]).subs(&[
        tool(&["rm"]).acts(&[destroys_each(Thing::Cloud, Which::All)]),
        tool(&["create", "start", "stop", "ls", "env"]).acts(&[changes(Thing::Cloud)]),
    ]),
];
