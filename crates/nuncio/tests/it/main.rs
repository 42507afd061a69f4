//! Tests on the real binary: one module per thing that users do with it.

mod agent_faults;
mod agents_control;
mod cli;
mod cli_bindings;
mod cli_card;
mod cli_card_signatures;
mod cli_chat;
mod cli_credentials;
mod cli_errors;
mod cli_push;
mod cli_send;
mod cli_settings;
mod cli_stream;
mod cli_task;
mod cli_webhook;
mod command_agents;
mod command_examples;
mod config_errors;
mod demo_tour;
mod doctor;
mod guides;
mod history;
mod kill_recovery;
#[path = "../../../client/tests/it/mock_agent.rs"]
mod mock_agent;
mod peers;
mod program;
mod push_recovery;
mod push_troubles;
mod serve_gateway;
mod serve_peers;
mod workers;
