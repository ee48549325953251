//! The watched files.

use super::Base::{Anywhere, Home, Root};
use super::Reason::{Record, Runs, Secret};
use super::{Base, Reason, Spot};

const fn spot(
    reason: Reason,
    base: Base,
    names: &'static [&'static str],
    what: &'static str,
) -> Spot {
    Spot { reason, base, names, what }
}

/// Settings of a project with passwords in them: the project's own programs read them.
pub(super) const ENV_FILE: &str = "the settings and passwords of a project";

/// What a build server runs, with the secrets of the repository.
pub(super) const CI: &str = "what the build server runs";

/// Directories of programs.
pub(super) const ON_PATH: &str = "a program in a directory on PATH";
pub(super) const OF_SYSTEM: &str = "a program of the system";

/// Makes a table of spots: `reason base "what" [names] [names]…`.
macro_rules! spots {
    ($($reason:ident $base:ident $what:tt { $([$($name:literal)*])* })*) => {
        &[$($(spot($reason, $base, &[$($name),*], $what),)*)*]
    };
}

pub(super) static SPOTS: &[Spot] = spots! {
    Secret Home "SSH private keys" {
        [".ssh" "!pub:id_*"] [".ssh" "*.pem"] [".ssh" "*_key"] [".ssh" "identity"] [".ssh" "*.ppk"]
    }
    Secret Anywhere "SSH private keys" {
        ["id_rsa"] ["id_ed25519"] ["id_ecdsa"] ["id_dsa"] ["ssh_host_rsa_key"] ["ssh_host_ed25519_key"] ["ssh_host_ecdsa_key"]
    }
    Secret Home "GPG private keys" { [".gnupg" "**"] }
    Secret Home "AWS credentials" { [".aws" "credentials"] [".aws" "sso" "**"] [".aws" "cli" "cache" "**"] [".boto"] [".s3cfg"] }
    Secret Home "Google Cloud credentials" { [".config" "gcloud" "**"] }
    Secret Home "Azure credentials" { [".azure" "**"] }
    Secret Home "cluster credentials" { [".kube" "config"] [".kube" "cache" "**"] [".minikube" "profiles" "**"] }
    Secret Root "cluster credentials" { ["etc" "kubernetes" "*.conf"] ["etc" "rancher" "k3s" "k3s.yaml"] }
    Secret Home "registry credentials" {
        [".docker" "config.json"] [".npmrc"] [".pypirc"] [".cargo" "credentials"] [".cargo" "credentials.toml"]
        [".gem" "credentials"] [".config" "containers" "auth.json"] [".m2" "settings-security.xml"] [".nuget" "NuGet" "NuGet.Config"]
    }
    Secret Home "saved passwords" {
        [".netrc"] ["_netrc"] [".authinfo"] [".authinfo.gpg"] [".git-credentials"] [".config" "git" "credentials"] [".pgpass"] [".my.cnf"]
        [".password-store" "**"] [".local" "share" "keyrings" "**"] [".config" "op" "**"] [".config" "Bitwarden CLI" "**"]
        [".subversion" "auth" "**"] [".config" "rclone" "rclone.conf"] [".vault-token"] [".config" "sops" "age" "**"]
        [".local" "share" "kwalletd" "**"] [".kde" "share" "apps" "kwallet" "**"] ["Library" "Keychains" "**"] [".purple" "accounts.xml"]
        [".config" "filezilla" "**"] [".remmina" "**"] [".thunderbird" "**"]
    }
    Secret Root "saved passwords" { ["Library" "Keychains" "**"] ["etc" "ppp" "*-secrets"] ["etc" "NetworkManager" "system-connections" "**"] ["etc" "wpa_supplicant" "**"] }
    Secret Home "tokens of command-line tools" {
        [".config" "gh" "hosts.yml"] [".config" "hub"] [".config" "glab-cli" "config.yml"] [".config" "doctl" "config.yaml"] [".fly" "config.yml"]
        [".config" "heroku" "**"] [".terraform.d" "credentials.tfrc.json"] [".terraformrc"] [".databrickscfg"] [".snowsql" "config"] [".kaggle" "kaggle.json"]
        [".huggingface" "token"] [".cache" "huggingface" "token"] [".config" "configstore" "**"] [".netlify" "config.json"] [".vercel" "auth.json"] [".local" "share" "com.vercel.cli" "auth.json"]
        [".claude" ".credentials.json"] [".codex" "auth.json"] [".gemini" "oauth_creds.json"] [".config" "github-copilot" "**"] [".oci" "**"] [".config" "linode-cli"]
        [".pulumi" "credentials.json"] [".cloudflared" "**"] [".config" ".wrangler" "**"] [".wrangler" "config" "**"] [".bluemix" "config.json"] [".ngrok2" "**"] [".config" "ngrok" "**"]
        [".config" "stripe" "config.toml"] [".config" "slack" "**"] [".ansible" "vault_password"] [".vault_pass"] [".vault_pass.txt"]
    }
    Secret Home "browser profiles" {
        [".mozilla" "**"] [".config" "google-chrome" "**"] [".config" "chromium" "**"] [".config" "BraveSoftware" "**"] [".config" "microsoft-edge" "**"]
        [".config" "vivaldi" "**"] [".config" "opera" "**"] ["snap" "firefox" "**"] ["Library" "Application Support" "Google" "**"]
        ["Library" "Application Support" "Firefox" "**"] ["Library" "Cookies" "**"] ["Library" "Safari" "**"]
    }
    Secret Home "wallets" {
        [".bitcoin" "**"] [".ethereum" "keystore" "**"] [".electrum" "wallets" "**"] [".config" "solana" "id.json"] [".monero" "**"] [".config" "Exodus" "**"]
    }
    Secret Anywhere ENV_FILE { [".env"] [".env.local"] [".env.production"] [".env.prod"] [".env.staging"] [".env.development.local"] [".env.production.local"] }
    Secret Anywhere "wallets" { ["wallet.dat"] }
    Secret Home "shell history" {
        [".bash_history"] [".zsh_history"] [".sh_history"] [".local" "share" "fish" "fish_history"] [".histfile"] [".psql_history"] [".mysql_history"]
        [".python_history"] [".node_repl_history"] [".sqlite_history"] [".rediscli_history"] [".lesshst"] [".irb_history"]
    }
    Secret Root "password hashes" {
        ["etc" "shadow"] ["etc" "shadow-"] ["etc" "gshadow"] ["etc" "gshadow-"] ["etc" "master.passwd"] ["etc" "security" "opasswd"] ["var" "db" "dslocal" "**"] ["var" "db" "shadow" "**"]
    }
    Secret Root "private keys of this machine" {
        ["etc" "ssl" "private" "**"] ["etc" "ssh" "!pub:ssh_host_*"] ["etc" "krb5.keytab"] ["etc" "letsencrypt" "live" "**"] ["etc" "letsencrypt" "archive" "**"] ["etc" "wireguard" "**"] ["etc" "openvpn" "**"] ["etc" "pki" "tls" "private" "**"] ["etc" "ipsec.secrets"]
    }
    Secret Root "secrets of running services" { ["run" "secrets" "**"] ["var" "run" "secrets" "**"] }
    Secret Root "the memory and environment of processes" {
        ["proc" "*" "environ"] ["proc" "*" "mem"] ["proc" "*" "maps"] ["proc" "kcore"] ["proc" "key-users"] ["proc" "keys"] ["dev" "mem"] ["dev" "kmem"] ["proc" "*" "auxv"]
    }

    Runs Home "a shell startup file" {
        [".bashrc"] [".bash_profile"] [".bash_login"] [".bash_logout"] [".bash_aliases"] [".profile"] [".zshrc"] [".zshenv"] [".zprofile"] [".zlogin"] [".zlogout"]
        [".kshrc"] [".mkshrc"] [".cshrc"] [".tcshrc"] [".login"] [".logout"] [".config" "fish" "**"] [".config" "nushell" "**"] [".xonshrc"] [".inputrc"] [".shrc"] [".ashrc"] [".oh-my-zsh" "**"] [".bashrc.d" "**"] [".zsh" "**"]
    }
    Runs Home "a file that runs at login" {
        [".xinitrc"] [".xprofile"] [".xsession"] [".xsessionrc"] [".Xresources"] [".pam_environment"] [".config" "autostart" "**"] [".config" "autostart-scripts" "**"] [".config" "plasma-workspace" "**"]
        [".config" "environment.d" "**"] ["Library" "LaunchAgents" "**"] ["Library" "LaunchDaemons" "**"] [".config" "i3" "config"] [".config" "sway" "**"] [".config" "hypr" "**"] [".config" "openbox" "**"]
    }
    Runs Home "a service or timer" { [".config" "systemd" "**"] [".local" "share" "systemd" "**"] [".local" "share" "dbus-1" "**"] [".config" "upstart" "**"] }
    Runs Home "a file that decides who can log in" { [".ssh" "**"] [".rhosts"] [".shosts"] [".k5login"] [".config" "sshd" "**"] [".google_authenticator"] [".gnupg" "**"] [".netrc"] }
    Runs Home "a file of git's settings, which can run programs" { [".gitconfig"] [".config" "git" "**"] [".git-templates" "**"] [".githooks" "**"] [".hgrc"] [".subversion" "config"] }
    Runs Home "a file that decides which packages are installed" {
        [".npmrc"] [".yarnrc"] [".yarnrc.yml"] [".config" "pip" "**"] [".pip" "**"] [".pydistutils.cfg"] [".condarc"] [".gemrc"] [".bundle" "config"] [".cargo" "config"] [".cargo" "config.toml"] [".m2" "settings.xml"] [".gradle" "init.gradle"] [".gradle" "init.d" "**"] [".gradle" "gradle.properties"] [".config" "uv" "**"] [".config" "composer" "**"] [".wgetrc"] [".curlrc"]
    }
    Runs Home ON_PATH { [".local" "bin" "**"] ["bin" "**"] [".cargo" "bin" "**"] [".rustup" "**"] [".cargo" "env"] ["go" "bin" "**"] [".npm-global" "bin" "**"] [".pyenv" "shims" "**"] [".asdf" "shims" "**"] [".volta" "**"] [".deno" "bin" "**"] [".bun" "bin" "**"] [".krew" "bin" "**"] }
    Runs Home "a startup file of an editor or interpreter" {
        [".vimrc"] [".gvimrc"] [".vim" "**"] [".exrc"] [".nanorc"] [".config" "nvim" "**"] [".config" "helix" "**"] [".emacs"] [".emacs.d" "**"] [".config" "emacs" "**"] [".tmux.conf"] [".config" "tmux" "**"] [".screenrc"] [".gdbinit"] [".config" "gdb" "**"] [".lldbinit"]
        [".psqlrc"] [".sqliterc"] [".irbrc"] [".pryrc"] [".pythonrc"] [".pythonrc.py"] [".Rprofile"] [".Renviron"] [".perldb"] [".ipython" "**"] [".jshintrc"] [".mailcap"] [".lesskey"] [".lessfilter"] [".node_repl.js"] [".julia" "config" "**"] [".ghci"] [".guile"] [".ocamlinit"] [".config" "ipython" "**"]
    }
    Runs Anywhere "a file that Python runs at every start" { ["usercustomize.py"] ["sitecustomize.py"] ["site-packages" "*.pth"] ["dist-packages" "*.pth"] }
    Runs Home "a file that decides who acts for you" { [".aws" "**"] [".kube" "config"] [".docker" "config.json"] [".config" "gcloud" "**"] [".azure" "**"] [".config" "gh" "**"] [".git-credentials"] [".pypirc"] }
    Runs Home "a file of an agent's settings" {
        [".claude" "**"] [".claude.json"] [".codex" "**"] [".gemini" "**"] [".cursor" "**"] [".config" "opencode" "**"] [".copilot" "**"] [".qwen" "**"] [".kimi" "**"] [".kimi-code" "**"] [".factory" "**"] [".cline" "**"] [".codeium" "**"] [".agents" "**"] [".polytoken" "**"] [".config" "goose" "**"] [".continue" "**"] [".aider.conf.yml"] [".windsurf" "**"] [".mcp.json"] ["Library" "Application Support" "Claude" "**"]
    }
    Runs Home "a file of an editor's settings, which can run programs" { [".config" "Code" "User" "**"] [".vscode" "extensions" "**"] [".vscode-server" "**"] [".config" "VSCodium" "**"] ["Library" "Application Support" "Code" "User" "**"] [".local" "share" "code-server" "**"] [".config" "JetBrains" "**"] }

    Runs Root "a file that runs at login" {
        ["etc" "profile"] ["etc" "profile.d" "**"] ["etc" "bash.bashrc"] ["etc" "bashrc"] ["etc" "bash.bash_logout"] ["etc" "zsh" "**"] ["etc" "zshrc"] ["etc" "zshenv"] ["etc" "zprofile"] ["etc" "csh.cshrc"] ["etc" "csh.login"] ["etc" "fish" "**"] ["etc" "environment"] ["etc" "environment.d" "**"] ["etc" "xdg" "autostart" "**"] ["etc" "X11" "**"] ["etc" "update-motd.d" "**"] ["etc" "skel" "**"]
    }
    Runs Root "a scheduled job" { ["etc" "crontab"] ["etc" "cron.d" "**"] ["etc" "cron.daily" "**"] ["etc" "cron.hourly" "**"] ["etc" "cron.weekly" "**"] ["etc" "cron.monthly" "**"] ["etc" "anacrontab"] ["etc" "cron.allow"] ["etc" "at.allow"] ["var" "spool" "cron" "**"] ["var" "spool" "at" "**"] ["usr" "lib" "cron" "**"] ["var" "at" "**"] ["etc" "periodic" "**"] }
    Runs Root "a service of the system" {
        ["etc" "systemd" "**"] ["usr" "lib" "systemd" "**"] ["lib" "systemd" "**"] ["usr" "local" "lib" "systemd" "**"] ["run" "systemd" "**"] ["etc" "init.d" "**"] ["etc" "init" "**"] ["etc" "inittab"] ["etc" "rc.local"] ["etc" "rc.common"] ["etc" "rc.conf"] ["etc" "rc.d" "**"] ["etc" "rc0.d" "**"] ["etc" "rc1.d" "**"] ["etc" "rc2.d" "**"] ["etc" "rc3.d" "**"] ["etc" "rc4.d" "**"] ["etc" "rc5.d" "**"] ["etc" "rc6.d" "**"] ["etc" "rcS.d" "**"] ["usr" "local" "etc" "rc.d" "**"]
        ["Library" "LaunchAgents" "**"] ["Library" "LaunchDaemons" "**"] ["Library" "StartupItems" "**"] ["System" "Library" "**"] ["etc" "emond.d" "**"] ["private" "var" "db" "emondClients" "**"] ["etc" "runit" "**"] ["etc" "sv" "**"] ["etc" "s6" "**"] ["etc" "supervisor" "**"] ["etc" "dbus-1" "**"] ["usr" "share" "dbus-1" "**"] ["etc" "udev" "**"] ["lib" "udev" "**"] ["usr" "lib" "udev" "**"] ["etc" "NetworkManager" "dispatcher.d" "**"] ["etc" "network" "if-up.d" "**"] ["etc" "ppp" "ip-up.d" "**"] ["etc" "dhcp" "dhclient-exit-hooks.d" "**"] ["etc" "acpi" "**"] ["etc" "pm" "**"] ["etc" "logrotate.d" "**"] ["etc" "apt" "apt.conf.d" "**"] ["etc" "apt" "apt.conf"] ["etc" "dpkg" "**"] ["etc" "kernel" "**"] ["etc" "initramfs-tools" "**"] ["etc" "dracut.conf.d" "**"] ["etc" "inetd.conf"] ["etc" "xinetd.d" "**"]
    }
    Runs Root "part of the accounts and rights of the system" {
        ["etc" "passwd"] ["etc" "passwd-"] ["etc" "shadow"] ["etc" "shadow-"] ["etc" "group"] ["etc" "gshadow"] ["etc" "master.passwd"] ["etc" "sudoers"] ["etc" "sudoers.d" "**"] ["etc" "doas.conf"] ["etc" "sudo.conf"] ["etc" "pam.d" "**"] ["etc" "pam.conf"] ["etc" "security" "**"] ["etc" "polkit-1" "**"] ["usr" "share" "polkit-1" "**"] ["etc" "ssh" "**"] ["etc" "login.defs"] ["etc" "securetty"] ["etc" "hosts.allow"] ["etc" "hosts.deny"] ["etc" "hosts.equiv"] ["etc" "shells"] ["etc" "subuid"] ["etc" "subgid"] ["etc" "nsswitch.conf"] ["etc" "krb5.conf"] ["etc" "sssd" "**"] ["etc" "gitconfig"]
    }
    Runs Root "part of what every program loads" { ["etc" "ld.so.preload"] ["etc" "ld.so.conf"] ["etc" "ld.so.conf.d" "**"] ["etc" "ld.so.cache"] ["lib" "**"] ["lib64" "**"] ["usr" "lib" "x86_64-linux-gnu" "**"] ["usr" "lib" "aarch64-linux-gnu" "**"] ["usr" "lib64" "**"] ["etc" "alternatives" "**"] ["etc" "binfmt.d" "**"] ["etc" "ssl" "certs" "**"] ["usr" "local" "share" "ca-certificates" "**"] ["etc" "pki" "**"] ["etc" "ca-certificates" "**"] ["etc" "ca-certificates.conf"] }
    Runs Root "part of what the kernel loads" { ["boot" "**"] ["efi" "**"] ["etc" "modprobe.d" "**"] ["etc" "modules"] ["etc" "modules-load.d" "**"] ["lib" "modules" "**"] ["usr" "lib" "modules" "**"] ["proc" "sys" "**"] ["proc" "sysrq-trigger"] ["sys" "**"] ["etc" "sysctl.conf"] ["etc" "sysctl.d" "**"] ["etc" "default" "grub"] ["etc" "grub.d" "**"] ["etc" "fstab"] ["etc" "crypttab"] }
    Runs Root OF_SYSTEM { ["bin" "**"] ["sbin" "**"] ["usr" "bin" "**"] ["usr" "sbin" "**"] }
    Runs Root "a file that decides where names of machines lead" { ["etc" "hosts"] ["etc" "resolv.conf"] ["etc" "hostname"] }

    Runs Anywhere "a hook of git" { [".git" "hooks" "**"] [".githooks" "**"] [".husky" "**"] [".pre-commit-config.yaml"] ["lefthook.yml"] ["lefthook.yaml"] [".lefthook.yml"] ["hooks" "pre-receive"] ["hooks" "post-receive"] ["hooks" "post-update"] }
    Runs Anywhere "a file of git's settings, which can run programs" { [".git" "config"] [".git" "info" "attributes"] [".git" "modules" "**"] [".git" "commondir"] [".git" "objects" "info" "alternates"] }
    Runs Anywhere "a file that direnv runs" { [".envrc"] }
    Runs Anywhere "a file of tasks that an editor runs" { [".vscode" "tasks.json"] [".vscode" "settings.json"] [".vscode" "launch.json"] [".idea" "runConfigurations" "**"] [".fleet" "run.json"] [".zed" "tasks.json"] [".exrc"] [".nvim.lua"] [".dir-locals.el"] [".gdbinit"] }
    Runs Anywhere "a file that decides which container an editor starts" { [".devcontainer" "**"] [".devcontainer.json"] [".gitpod.yml"] }
    Runs Anywhere CI { [".github" "workflows" "*.yml"] [".github" "workflows" "*.yaml"] [".gitlab-ci.yml"] [".circleci" "config.yml"] ["azure-pipelines.yml"] ["Jenkinsfile"] [".drone.yml"] ["bitbucket-pipelines.yml"] [".buildkite" "pipeline.yml"] [".travis.yml"] ["action.yml"] }
    Runs Anywhere "a file of an agent's settings" {
        [".mcp.json"] [".claude" "settings.json"] [".claude" "settings.local.json"] [".claude" "commands" "**"] [".claude" "skills" "**"] [".claude" "agents" "**"] [".claude" "hooks" "**"] [".claude" "plugins" "**"] [".codex" "**"] [".gemini" "settings.json"] [".gemini" "commands" "**"] [".gemini" "extensions" "**"] [".cursor" "mcp.json"] [".cursor" "hooks.json"] [".cursor" "rules" "**"] [".opencode" "**"] ["opencode.json"] [".roo" "mcp.json"] [".windsurf" "**"] [".agents" "hooks.json"] [".polytoken" "**"] [".github" "hooks" "**"] [".qwen" "settings.json"] [".factory" "**"] [".vscode" "mcp.json"] [".kiro" "**"]
    }

    Record Home "shell history" {
        [".bash_history"] [".zsh_history"] [".sh_history"] [".local" "share" "fish" "fish_history"] [".histfile"] [".python_history"] [".psql_history"] [".mysql_history"]
    }
    Record Root "records of what happened on this machine" {
        ["var" "log" "auth.log"] ["var" "log" "secure"] ["var" "log" "audit" "**"] ["var" "log" "wtmp"] ["var" "log" "btmp"] ["var" "log" "lastlog"] ["var" "log" "faillog"] ["var" "log" "syslog"] ["var" "log" "messages"] ["var" "log" "kern.log"] ["var" "log" "journal" "**"] ["var" "run" "utmp"] ["run" "utmp"] ["var" "log" "cron"] ["var" "log" "sudo.log"] ["var" "log" "system.log"] ["var" "audit" "**"]
    }
    Record Root "mail of people on this machine" { ["var" "spool" "mail" "**"] ["var" "mail" "**"] }
    Record Root "settings of audit, logging and the firewall" {
        ["etc" "audit" "**"] ["etc" "auditd.conf"] ["etc" "audisp" "**"] ["etc" "libaudit.conf"] ["etc" "rsyslog.conf"] ["etc" "rsyslog.d" "**"] ["etc" "syslog.conf"] ["etc" "syslog-ng" "**"] ["etc" "selinux" "**"] ["etc" "apparmor" "**"] ["etc" "apparmor.d" "**"] ["etc" "ufw" "**"] ["etc" "iptables" "**"] ["etc" "nftables.conf"] ["etc" "firewalld" "**"] ["etc" "fail2ban" "**"] ["etc" "falco" "**"] ["etc" "osquery" "**"] ["etc" "aide" "**"] ["etc" "tripwire" "**"] ["etc" "clamav" "**"] ["etc" "crowdstrike" "**"]
    }
};
