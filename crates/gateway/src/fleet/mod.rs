//! What agents of one owner do for each other beyond A2A itself.

pub mod workers;
