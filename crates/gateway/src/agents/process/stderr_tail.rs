//! The end of what a program says on the side, for the operator's log only.

use std::collections::VecDeque;
use tokio::io::AsyncReadExt;
use tokio::process::ChildStderr;

/// Bytes of standard error that are kept for the log: its end, where the reason stands.
const STDERR_TAIL_BYTES: usize = 8 * 1024;

/// The end of what a program wrote to its standard error.
#[derive(Debug, Default)]
pub struct StderrTail(VecDeque<u8>);

impl StderrTail {
    /// Reads until the program closes its standard error. Cancel-safe.
    pub async fn follow(&mut self, stderr: &mut ChildStderr) {
        let mut buffer = vec![0; STDERR_TAIL_BYTES];
        while let Ok(got @ 1..) = stderr.read(&mut buffer).await {
            self.0.extend(&buffer[..got]);
            let surplus = self.0.len().saturating_sub(STDERR_TAIL_BYTES);
            self.0.drain(..surplus);
        }
    }

    /// The text for the log.
    pub fn text(&self) -> String {
        let bytes: Vec<u8> = self.0.iter().copied().collect();
        String::from_utf8_lossy(&bytes).trim().to_owned()
    }
}
