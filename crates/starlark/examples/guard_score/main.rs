//! How well the command guard does on the corpora in `cases/shell`:
//! `cargo run -q --release -p tollgate-starlark --example guard_score`

#![allow(clippy::print_stdout)]

mod corpus;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let score = corpus::score()?;
    println!(
        "destructive: {} commands, {} blocked, {} put to a person, {} passed",
        score.destructive,
        score.blocked,
        score.asked,
        score.missed.len()
    );
    for command in &score.missed {
        println!("  passed: {command:?}");
    }
    println!("harmless: {} commands, {} stopped", score.harmless, score.stopped.len());
    for (command, why) in &score.stopped {
        println!("  stopped: {command:?}: {why}");
    }
    Ok(())
}
