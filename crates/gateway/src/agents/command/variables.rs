//! What a program learns about its turn: the `A2A_*` variables.

use std::ffi::OsString;
use std::path::Path;

use super::scratch::Scratch;
use crate::agents::Turn;

/// Longest JSON that goes into a variable, in bytes (64 KiB): the kernel takes at most 128 KiB in
/// one. Longer metadata is left out.
pub const MAX_JSON_VARIABLE_BYTES: usize = 64 * 1024;

/// What a program learns about its turn. These win over configured variables of the same name.
pub(super) fn turn_variables(
    turn: &Turn,
    scratch: &Scratch,
    context_dir: Option<&Path>,
) -> Vec<(&'static str, OsString)> {
    let first = turn.opening == turn.message;
    let mut variables: Vec<(&'static str, OsString)> = vec![
        ("A2A_AGENT", text(&turn.agent)),
        ("A2A_TASK_ID", text(&turn.task_id)),
        ("A2A_CONTEXT_ID", text(&turn.context_id)),
        ("A2A_MESSAGE_ID", text(&turn.message.message_id)),
        ("A2A_CALLER", text(&turn.owner)),
        ("A2A_TURN", if first { "first" } else { "continue" }.into()),
        ("A2A_FILES_DIR", scratch.files_dir().into()),
        ("A2A_FILES", scratch.file_list()),
        ("A2A_OUTPUT_DIR", scratch.output_dir().into()),
    ];
    if let Some(dir) = context_dir {
        variables.push(("A2A_CONTEXT_DIR", dir.into()));
    }
    let metadata = [
        ("A2A_METADATA", turn.metadata.as_ref()),
        ("A2A_MESSAGE_METADATA", turn.message.metadata.as_ref()),
    ];
    for (name, value) in metadata {
        if let Some(json) = value.map(nuncio_wire::Metadata::get)
            && json.len() <= MAX_JSON_VARIABLE_BYTES
        {
            variables.push((name, text(json)));
        }
    }
    variables
}

/// A variable cannot hold U+0000, and an id of a caller must not keep a program from starting.
fn text(value: &str) -> OsString {
    value.replace('\0', "\u{FFFD}").into()
}
