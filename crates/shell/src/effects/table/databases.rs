//! Databases.

use crate::effects::Thing;
use crate::effects::row::{
    A, ALL, B, C, DELETE, Opt, RUNS, Role, Style, Tool, Which, attached, changes, changes_each,
    destroys, destroys_each, executes, flag, net, plays, reads, tool, value,
};
use crate::effects::special::{data, verbs};

pub(super) const ROWS: &[Tool] = &[
    tool(&[
        "psql",
        "pgcli",
        "cockroach",
        "cqlsh",
        "usql",
        "clickhouse-client",
        "clickhouse",
        "snowsql",
        "trino",
        "presto",
        "hive",
        "beeline",
        "sqlcmd",
        "isql",
        "impala-shell",
        "vsql",
    ])
    .options(&[
        value("ceqQ", &["command", "execute", "query"], A),
        plays("fi", &["file", "queries-file"], Role::Read),
        plays("oL", &["output", "log-file"], Role::Write),
        value("h", &["host", "server"], B),
        value("d", &["dbname", "database"], C),
        flag("l", &["list"], 0),
    ])
    .valued("UpvFRTPS", &["username", "port", "user", "set", "variable", "pset", "password", "url"])
    .special(data::sql),
    tool(&["mysql", "mariadb", "mycli", "mysqlsh"])
        .options(&[
            value("e", &["execute"], A),
            value("h", &["host"], B),
            value("D", &["database"], C),
            attached_p(),
        ])
        .valued("uPS", &["user", "port", "socket", "defaults-file", "protocol"])
        .special(data::sql),
    tool(&["sqlite3", "sqlite", "duckdb", "litecli"])
        .style(Style::Words)
        .options(&[
            value("", &["cmd", "c"], A),
            plays("", &["init"], Role::Execute),
            flag("", &["readonly"], ALL),
        ])
        .valued("", &["separator", "nullvalue", "newline"])
        .special(data::sqlite),
    tool(&["mongosh", "mongo"])
        .options(&[
            value("", &["eval"], A),
            plays("f", &["file"], Role::Execute),
            value("h", &["host"], B),
        ])
        .valued("up", &["port", "username", "password", "authenticationDatabase"])
        .special(data::mongo),
    tool(&["redis-cli", "valkey-cli", "keydb-cli"])
        .style(Style::Leading)
        .options(&[
            value("h", &[], B),
            value("", &["cluster"], C),
            plays("", &["eval", "rdb"], Role::Read),
        ])
        .valued("pansudrix", &["user", "pass", "pattern"])
        .special(data::redis),
    tool(&["dropdb", "dropuser", "pg_dropcluster"])
        .options(&[value("h", &["host"], B), flag("f", &["force"], 0)])
        .valued("pU", &["port", "username", "maintenance-db"])
        .acts(&[destroys_each(Thing::Database, Which::All)]),
    tool(&[
        "createdb",
        "createuser",
        "initdb",
        "pg_ctl",
        "pg_ctlcluster",
        "pg_createcluster",
        "vacuumdb",
        "reindexdb",
    ])
    .options(&[plays("D", &["pgdata"], Role::WriteTree)])
    .valued("hpUEOTl", &["host", "port", "username", "owner", "template", "encoding"])
    .acts(&[changes_each(Thing::Database, Which::First)]),
    tool(&["pg_resetwal", "pg_rewind", "pg_archivecleanup"])
        .acts(&[destroys_each(Thing::Database, Which::All)]),
    tool(&["pg_dump", "pg_dumpall", "mysqldump", "mariadb-dump", "pg_basebackup"])
        .options(&[
            plays("fr", &["file", "result-file"], Role::Write),
            plays("D", &["pgdata"], Role::WriteTree),
            value("h", &["host"], B),
        ])
        .valued(
            "pUnNtTFdujE",
            &["port", "username", "schema", "table", "format", "dbname", "user", "where"],
        )
        .special(data::dump),
    tool(&["pg_restore"])
        .options(&[
            flag("c", &["clean"], DELETE),
            value("d", &["dbname"], C),
            flag("l", &["list"], 0),
            value("h", &["host"], B),
            plays("f", &["file"], Role::Write),
        ])
        .valued("pUnNtTjFL", &["port", "username", "schema", "table", "jobs"])
        .acts(&[
            reads(Which::All),
            destroys(Thing::Database).when(DELETE),
            changes(Thing::Database).unless(DELETE),
        ]),
    tool(&["mongodump", "mongoexport"])
        .options(&[plays("o", &["out", "archive"], Role::WriteTree)])
        .acts(&[changes(Thing::Database)]),
    tool(&["mongorestore", "mongoimport"]).options(&[flag("", &["drop"], DELETE)]).acts(&[
        reads(Which::All),
        destroys(Thing::Database).when(DELETE),
        changes(Thing::Database).unless(DELETE),
    ]),
    tool(&["mysqladmin", "mariadb-admin"])
        .options(&[value("h", &["host"], B), attached_p()])
        .valued("uPS", &["user", "port", "socket"])
        .subs(&[
            tool(&["drop"]).acts(&[destroys_each(Thing::Database, Which::All)]),
            tool(&["shutdown"]).acts(&[destroys(Thing::Database)]),
            tool(&[
                "create",
                "password",
                "kill",
                "reload",
                "refresh",
                "flush-logs",
                "flush-tables",
            ])
            .acts(&[changes_each(Thing::Database, Which::All)]),
        ]),
    tool(&["rails", "rake"]).style(Style::Leading).special(data::rails),
    tool(&["prisma"]).subs(&[
        tool(&["migrate"]).subs(&[
            tool(&["reset"]).acts(&[destroys(Thing::Database)]),
            tool(&["dev", "deploy", "resolve"]).acts(&[changes(Thing::Database)]),
            tool(&["status", "diff"]),
        ]),
        tool(&["db"]).subs(&[
            tool(&["push"])
                .options(&[flag("", &["force-reset", "accept-data-loss"], DELETE)])
                .acts(&[
                    destroys(Thing::Database).when(DELETE),
                    changes(Thing::Database).unless(DELETE),
                ]),
            tool(&["execute"]).options(&[plays("", &["file"], Role::Read)]).special(data::query),
            tool(&["seed", "pull"]).acts(&[changes(Thing::Database)]),
        ]),
        tool(&["generate", "format", "validate", "studio", "init", "version"]),
    ]),
    tool(&[
        "alembic",
        "flyway",
        "liquibase",
        "sequelize",
        "sequelize-cli",
        "knex",
        "typeorm",
        "drizzle-kit",
        "dbmate",
        "goose",
        "migrate",
        "diesel",
        "sqlx",
        "atlas",
        "artisan",
        "phinx",
        "sea-orm-cli",
        "hasura",
        "drush",
        "wasp",
        "sail",
    ])
    .style(Style::Bare)
    .special(data::migrate),
    tool(&["flask", "wp", "dotnet", "dotnet-ef", "magento", "mix"])
        .style(Style::Bare)
        .special(data::framework),
    tool(&["nodetool", "zkCli.sh", "zkcli", "neo4j-admin", "elasticsearch-node"])
        .special(verbs::database),
    tool(&["kafka-consumer-groups", "kafka-consumer-groups.sh"])
        .options(&[flag("", &["delete"], DELETE)])
        .acts(&[destroys(Thing::Database).when(DELETE)]),
    tool(&["kafka-delete-records", "kafka-delete-records.sh", "ldapdelete", "memcflush"])
        .acts(&[destroys(Thing::Database)]),
    tool(&["hdfs", "hadoop"]).style(Style::Bare).special(data::hadoop),
    tool(&[
        "etcdctl",
        "rabbitmqctl",
        "kafka-topics",
        "kafka-topics.sh",
        "rabbitmqadmin",
        "nats",
        "elasticdump",
        "curator",
    ])
    .options(&[flag("", &["delete"], DELETE)])
    .special(data::store),
    tool(&[
        "memcached-tool",
        "pgbench",
        "pg_isready",
        "redis-benchmark",
        "mysqlcheck",
        "pg_config",
        "redis-server",
        "postgres",
        "mysqld",
        "mongod",
    ])
    .acts(&[RUNS]),
    tool(&["sqlplus"])
        .style(Style::Leading)
        .acts(&[executes(Which::Second), net("$?")])
        .special(data::query),
    tool(&["influx"])
        .style(Style::Words)
        .options(&[value("", &["execute"], A)])
        .special(data::influx),
    tool(&["rman", "hbase", "cypher-shell", "snow", "spark-sql", "spark-shell", "dolt", "q"])
        .options(&[value("eqc", &["query", "execute", "command"], A)])
        .valued("uapd", &["username", "password", "address", "database"])
        .special(data::query),
    tool(&["mysqlimport", "mariadb-import"]).options(&[flag("", &["delete"], DELETE)]).acts(&[
        destroys_each(Thing::Database, Which::First).when(DELETE),
        changes_each(Thing::Database, Which::First).unless(DELETE),
    ]),
];

/// `-ppassword`: only in the same word.
const fn attached_p() -> Opt {
    attached("p", &["password"], 0)
}
