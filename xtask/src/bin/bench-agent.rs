//! The agent of `cargo xtask bench`'s turns, which speaks the Agent Client Protocol on its standard
//! streams. See `bench/turns/agent.rs`.

fn main() -> anyhow::Result<()> {
    xtask::bench::turns::agent::run(std::io::stdin().lock(), std::io::stdout().lock())
}
