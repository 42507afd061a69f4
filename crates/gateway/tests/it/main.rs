//! The gateway through its socket: every behaviour is written once and run over every binding
//! and store.
//!
//! `rig` starts a gateway on a port the system chose and speaks HTTP to it; `binding` turns
//! operations into requests and answers into outcomes.
#![allow(clippy::unwrap_used)] // a test that cannot go on panics

mod acp;
mod acp_faults;
mod acp_files;
mod agent_hosts;
mod binding;
mod callers;
mod cancel;
mod cards;
mod conformance_profiles;
mod doorman;
mod extended_card;
mod fleet;
mod fleet_push;
mod grpc;
mod hermes;
mod hermes_plugin;
mod hermes_runs;
mod http_rules;
mod json_rpc;
mod legacy;
mod lists;
mod mcp_servers;
mod openai;
mod openfang_agent;
mod owners;
#[path = "../../../store/tests/it/postgres_server.rs"]
#[allow(dead_code)] // the store's tests use all of it
mod postgres_server;
mod proxies;
mod push;
mod push_configs;
mod push_troubles;
mod receiver;
mod recovery;
mod refusals;
mod rest;
mod rest_v0_3;
mod rig;
mod send;
mod service;
mod service_faults;
mod signed_cards;
mod streams;
mod tls;
mod upstream;
mod upstream_card;
mod upstream_circles;
mod upstream_faults;
mod upstream_peer;
mod upstream_push;
mod webhook_agent;
mod webhook_agent_faults;
mod workers;
