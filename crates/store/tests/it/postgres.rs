//! What only a server can break.
