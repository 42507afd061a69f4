//! The floor server of `cargo xtask bench`, as a process of its own. See `bench/floor.rs`.

fn main() -> anyhow::Result<()> {
    xtask::bench::floor::serve()
}
