//! Runs scripts for a program that cannot be its own worker: `Starlark::with_worker(path)`.

fn main() {
    tollgate_starlark::worker::init();
    #[allow(clippy::print_stderr)] // it is all there is to say
    {
        eprintln!("tollgate-worker is started by programs that run hooks, not by hand");
    }
    std::process::exit(2);
}
