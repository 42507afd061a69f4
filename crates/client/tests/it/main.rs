//! The client against scripted agents: guard, TLS, calls, streams, old dialects.

mod agents;
mod calls;
mod dialects;
mod guard;
mod mock_agent;
mod streams;
mod tls;
