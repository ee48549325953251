//! What it takes to tell what a command does, beside the time that a parser alone takes.
//!
//! `cargo bench -p tollgate-shell --bench shell`

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use tollgate_shell::{Surroundings, analyze, effects, syntax};

const COMMANDS: &[(&str, &str)] = &[
    ("short", "cargo test 2>&1 | tail -20"),
    (
        "typical",
        "cd /home/dev/project && find . -name '*.pyc' -exec rm -f {} + && git add -A && git commit -m \"clean up $(date)\" \
         2>&1 | tail -20",
    ),
    (
        "loop",
        "for f in src/*.rs; do if grep -q 'todo!' \"$f\"; then echo \"$f\"; sed -i 's/todo!/unimplemented!/' \"$f\"; fi; done",
    ),
    (
        "wrapped",
        "sudo env PATH=/bin timeout 10 bash -c 'x=rm; $x -rf \"/et\"c' || echo \"$(printf '\\x72m') failed\" >&2",
    ),
];

fn commands(criterion: &mut Criterion) {
    let surroundings = Surroundings { directory: Some("/home/dev/project".to_owned()) };
    for (name, command) in COMMANDS {
        let mut group = criterion.benchmark_group(*name);
        group.bench_function("rable alone", |bencher| {
            bencher.iter(|| rable::parse(black_box(command), true).is_ok());
        });
        group.bench_function("our parser alone", |bencher| {
            bencher.iter(|| syntax::parse(black_box(command)).is_ok());
        });
        group.bench_function("commands", |bencher| {
            bencher.iter(|| analyze(black_box(command), &surroundings).commands.len());
        });
        group.bench_function("effects", |bencher| {
            bencher.iter(|| {
                effects::of_analysis(&analyze(black_box(command), &surroundings)).list.len()
            });
        });
        group.finish();
    }
}

criterion_group!(benches, commands);
criterion_main!(benches);
