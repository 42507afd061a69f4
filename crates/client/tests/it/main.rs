//! The client against scripted agents: guard, TLS, calls, streams, old dialects.

#![allow(clippy::unwrap_used)] // a surprise in a helper ends the test

mod agents;
mod calls;
mod dialects;
mod fleet;
mod guard;
mod mock_agent;
mod rest;
mod streams;
mod tls;
mod webhook_receiver;
