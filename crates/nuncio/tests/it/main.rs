//! Tests on the real binary: one module per thing that users do with it.

mod config_errors;
mod demo_tour;
mod kill_recovery;
mod program;
mod serve_gateway;
