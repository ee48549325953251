//! Resources at providers, and tools that manage them from descriptions.

use crate::effects::row::{
    A, Act, B, C, D, DRY, FORCE, RUNS, Role, Style, Tool, Which, attached, changes, changes_each,
    destroys, destroys_each, fixed_tree, flag, may_fill, net, plays, reads, tool, value,
};
use crate::effects::special::cloud;
use crate::effects::{Kind, Thing};

const GONE: &[Act] = &[destroys(Thing::Cloud), net("provider")];
const CHANGED: &[Act] = &[changes(Thing::Cloud), net("provider")];

const STATE: &[Tool] = &[
    tool(&["rm", "delete", "push"])
        .acts(&[destroys_each(Thing::Cloud, Which::All), net("provider")]),
    tool(&["mv", "replace-provider"]).acts(CHANGED),
    tool(&["list", "show", "pull"]).acts(&[net("provider")]),
];

const WORKSPACE: &[Tool] = &[
    tool(&["delete"])
        .options(&[flag("", &["force"], FORCE)])
        .acts(&[destroys_each(Thing::Cloud, Which::All), net("provider")]),
    tool(&["new", "select", "list", "show"]).acts(&[net("provider")]),
];

const TERRAFORM: &[Tool] = &[
    tool(&["destroy"]).style(Style::Words).acts(GONE),
    tool(&["apply"])
        .style(Style::Words)
        .options(&[flag("", &["destroy"], FORCE), plays("", &["var-file"], Role::Read)])
        .valued("", &["var", "target", "replace"])
        .acts(&[
            reads(Which::All),
            destroys(Thing::Cloud).when(FORCE),
            changes(Thing::Cloud).unless(FORCE),
            net("provider"),
        ]),
    tool(&["plan", "refresh"])
        .style(Style::Words)
        .options(&[plays("", &["out"], Role::Write), plays("", &["var-file"], Role::Read)])
        .acts(&[fixed_tree(Kind::Read, "."), net("provider")]),
    tool(&["init", "get"])
        .style(Style::Words)
        .acts(&[fixed_tree(Kind::Write, ".terraform"), net("provider")]),
    tool(&["state"]).subs(STATE),
    tool(&["workspace"]).subs(WORKSPACE),
    tool(&["import", "taint", "untaint", "force-unlock"]).style(Style::Words).acts(CHANGED),
    tool(&["fmt"]).style(Style::Words).acts(&[may_fill(".")]),
    tool(&[
        "validate",
        "output",
        "show",
        "graph",
        "providers",
        "version",
        "console",
        "login",
        "test",
    ]),
];

const TERRAGRUNT: &[Tool] = &[
    tool(&["run-all", "run", "stack", "exec"]).style(Style::Words).subs(TERRAFORM),
    tool(&["destroy-all"]).acts(GONE),
    tool(&["destroy"]).style(Style::Words).acts(GONE),
    tool(&["apply", "apply-all"])
        .style(Style::Words)
        .options(&[flag("", &["destroy"], FORCE)])
        .acts(&[
            destroys(Thing::Cloud).when(FORCE),
            changes(Thing::Cloud).unless(FORCE),
            net("provider"),
        ]),
    tool(&["plan", "init", "output", "validate", "plan-all", "hclfmt"])
        .style(Style::Words)
        .acts(&[net("provider")]),
    tool(&["state"]).subs(STATE),
];

const PULUMI: &[Tool] = &[
    tool(&["destroy", "down"]).options(&[flag("", &["preview-only"], DRY)]).acts(GONE),
    tool(&["up", "update", "refresh", "import", "cancel"]).acts(CHANGED),
    tool(&["stack"]).subs(&[
        tool(&["rm"]).acts(GONE),
        tool(&["init", "select", "ls", "output", "export"]).acts(&[net("provider")]),
    ]),
    tool(&["state"]).subs(STATE),
    tool(&["preview", "pre", "config", "login", "whoami", "new", "version", "logs"])
        .acts(&[net("provider")]),
];

const SERVERLESS: &[Tool] = &[
    tool(&["remove", "destroy", "delete"]).acts(GONE),
    tool(&["app", "svc", "env", "job", "pipeline"])
        .subs(&[tool(&["delete"]).acts(GONE), tool(&["deploy", "init"]).acts(CHANGED)]),
    tool(&["deploy"]).acts(CHANGED),
    tool(&[
        "synth",
        "diff",
        "list",
        "ls",
        "info",
        "package",
        "build",
        "local",
        "validate",
        "bootstrap",
    ])
    .acts(&[RUNS]),
];

pub(super) const ROWS: &[Tool] = &[
    tool(&["terraform", "tofu"])
        .style(Style::Words)
        .options(&[plays("", &["chdir"], Role::Base)])
        .subs(TERRAFORM),
    tool(&["terragrunt"])
        .style(Style::Words)
        .options(&[plays("", &["working-dir", "terragrunt-working-dir"], Role::Base)])
        .subs(TERRAGRUNT),
    tool(&["pulumi"]).valued("sC", &["stack", "cwd"]).subs(PULUMI),
    tool(&["cdk", "serverless", "sls", "sam", "sst", "copilot", "amplify", "cdktf"])
        .subs(SERVERLESS),
    tool(&["ansible", "ansible-playbook", "ansible-pull"])
        .options(&[
            flag("C", &["check", "syntax-check", "list-tasks", "list-hosts"], DRY),
            plays("i", &["inventory", "inventory-file"], Role::Read),
            plays("", &["vault-password-file", "private-key"], Role::Read),
            value("m", &["module-name"], A),
            value("a", &["args"], B),
        ])
        .valued("elut", &["extra-vars", "limit", "tags", "skip-tags", "user", "forks"])
        .acts(&[net("provider"), RUNS])
        .special(cloud::ansible),
    tool(&[
        "ansible-galaxy",
        "ansible-vault",
        "ansible-lint",
        "ansible-inventory",
        "ansible-doc",
        "molecule",
    ])
    .acts(&[RUNS]),
    tool(&["puppet", "chef-client", "salt", "salt-call", "packer"]).acts(&[RUNS]),
    tool(&["aws"])
        .options(&[
            flag("", &["dry-run", "dryrun", "generate-cli-skeleton"], DRY),
            flag("", &["recursive"], A),
            flag("", &["force"], FORCE),
            flag("", &["delete"], B),
            value("", &["desired-count", "max-size"], C),
        ])
        .valued(
            "",
            &[
                "profile",
                "region",
                "output",
                "query",
                "endpoint-url",
                "exclude",
                "include",
                "acl",
                "storage-class",
                "cli-input-json",
                "ca-bundle",
                "color",
            ],
        )
        .special(cloud::aws),
    tool(&[
        "gcloud",
        "az",
        "doctl",
        "hcloud",
        "linode-cli",
        "ibmcloud",
        "oci",
        "scw",
        "exo",
        "vultr-cli",
        "upctl",
        "civo",
        "openstack",
        "aliyun",
        "tccli",
        "bq",
        "nova",
        "cinder",
        "glance",
        "turso",
        "sentry-cli",
    ])
    .options(&[flag("", &["delete-unmatched-destination-objects"], B), value("", &["mode"], D)])
    .valued(
        "goln",
        &[
            "project",
            "zone",
            "region",
            "format",
            "subscription",
            "resource-group",
            "name",
            "output",
            "query",
            "account",
            "location",
            "context",
        ],
    )
    .special(cloud::provider),
    tool(&["gsutil", "s3cmd", "mc", "azcopy", "s5cmd", "ossutil", "ossutil64"])
        .options(&[
            flag("n", &["dry-run"], DRY),
            flag("rR", &["recursive"], A),
            flag("f", &["force"], FORCE),
            flag("d", &["delete-removed", "remove", "delete"], B),
            attached("", &["delete-destination"], B),
        ])
        .special(cloud::bucket),
    tool(&[
        "heroku",
        "fly",
        "flyctl",
        "vercel",
        "netlify",
        "railway",
        "render",
        "firebase",
        "wrangler",
        "supabase",
        "neonctl",
        "pscale",
        "surge",
        "dokku",
        "cf",
        "eb",
        "ncl",
        "planetscale",
        "stripe",
        "shopify",
        "convex",
    ])
    .options(&[value("", &["command"], C)])
    .valued("a", &["app", "remote", "token", "project", "org", "config", "env", "scope"])
    .special(cloud::provider),
    tool(&[
        "aws-vault",
        "saml2aws",
        "granted",
        "infracost",
        "tflint",
        "tfsec",
        "checkov",
        "trivy",
        "terraform-docs",
    ])
    .style(Style::Leading)
    .options(&[attached("", &["format"], 0), value("", &["output"], 0)])
    .acts(&[RUNS]),
    tool(&[
        "op",
        "pass",
        "gopass",
        "bw",
        "secret-tool",
        "security",
        "keyctl",
        "chamber",
        "sops",
        "doppler",
    ])
    .subs(&[
        tool(&[
            "delete",
            "rm",
            "remove",
            "clear",
            "purge",
            "delete-generic-password",
            "delete-keychain",
            "delete-internet-password",
        ])
        .acts(&[destroys_each(Thing::Secret, Which::All)]),
        tool(&[
            "insert",
            "edit",
            "generate",
            "set",
            "add",
            "create",
            "store",
            "write",
            "add-generic-password",
        ])
        .acts(&[changes_each(Thing::Secret, Which::First)]),
    ]),
];
