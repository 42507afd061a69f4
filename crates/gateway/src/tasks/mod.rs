//! The task engine: the only place that changes a task's state.
//!
//! [`Engine`] takes messages and runs turns; [`LiveTask`] is a task in motion with its watchers;
//! [`Subscription`] reads its events by cursor; `lanes` keeps the turns of a context in order;
//! `recover` picks up after a restart. Truth is the store: what is here is a cache of its holder.

mod cancel;
mod encode;
mod engine;
mod finish;
mod follow_up;
mod lanes;
mod live;
mod live_tasks;
mod new_task;
mod recover;
mod submit;
mod subscription;
mod turn;
mod turn_events;
mod view;

pub use engine::{Engine, ID_IN_USE, store_error};
pub use live::LiveEvent;
pub use submit::{Answer, Submission};
pub use subscription::{Closes, Subscription};
pub use turn_events::{Stopped, TurnEvents};
