//! Events as bytes: each is encoded once, as 1.0 JSON, and then only copied.

use bytes::Bytes;
use nuncio_wire::{Artifact, Metadata, Task, TaskStatus};
use serde::Serialize;
use std::ops::Range;

/// JSON of anything of the data model.
///
/// The model has no maps with other keys than text and no failing `Serialize`.
pub(super) fn json<T: Serialize>(value: &T) -> Bytes {
    let mut out = Vec::with_capacity(256);
    write(&mut out, value);
    Bytes::from(out)
}

fn write<T: Serialize + ?Sized>(out: &mut Vec<u8>, value: &T) {
    serde_json::to_writer(out, value).expect("the data model always has a JSON form");
}

/// `{"statusUpdate":…}` and where the status stands in it.
pub(super) fn status_update(
    task: (&str, &str),
    status: &TaskStatus,
    metadata: Option<&Metadata>,
) -> (Bytes, Range<usize>) {
    let mut out = Vec::with_capacity(256);
    open(&mut out, br#"{"statusUpdate":{"taskId":"#, task);
    out.extend_from_slice(br#","status":"#);
    let start = out.len();
    write(&mut out, status);
    let range = start..out.len();
    close(&mut out, metadata);
    (Bytes::from(out), range)
}

/// `{"artifactUpdate":…}` and where the artifact stands in it.
pub(super) fn artifact_update(
    task: (&str, &str),
    artifact: &Artifact,
    append: bool,
    last_chunk: bool,
    metadata: Option<&Metadata>,
) -> (Bytes, Range<usize>) {
    let mut out = Vec::with_capacity(512);
    open(&mut out, br#"{"artifactUpdate":{"taskId":"#, task);
    out.extend_from_slice(br#","artifact":"#);
    let start = out.len();
    write(&mut out, artifact);
    let range = start..out.len();
    if append {
        out.extend_from_slice(br#","append":true"#);
    }
    if last_chunk {
        out.extend_from_slice(br#","lastChunk":true"#);
    }
    close(&mut out, metadata);
    (Bytes::from(out), range)
}

/// `{"task":…}`: the first frame of a stream.
pub(super) fn snapshot(task: &Task) -> Bytes {
    let mut out = Vec::with_capacity(512);
    out.extend_from_slice(br#"{"task":"#);
    write(&mut out, task);
    out.push(b'}');
    Bytes::from(out)
}

fn open(out: &mut Vec<u8>, head: &[u8], (task_id, context_id): (&str, &str)) {
    out.extend_from_slice(head);
    write(out, task_id);
    out.extend_from_slice(br#","contextId":"#);
    write(out, context_id);
}

fn close(out: &mut Vec<u8>, metadata: Option<&Metadata>) {
    if let Some(metadata) = metadata {
        out.extend_from_slice(br#","metadata":"#);
        out.extend_from_slice(metadata.get().as_bytes());
    }
    out.extend_from_slice(b"}}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use nuncio_wire::{Part, StreamResponse, TaskState};

    #[test]
    fn encoded_events_are_the_models_own_json_and_ranges_cut_out_their_content() {
        let artifact = Artifact::new("a", vec![Part::text("x")]);
        let (event, range) = artifact_update(("t", "c"), &artifact, true, true, None);
        let read: StreamResponse = serde_json::from_slice(&event).unwrap();
        assert_eq!(json(&read), event);
        assert_eq!(json(&artifact), event[range]);

        let status = TaskStatus {
            state: TaskState::Working,
            message: None,
            timestamp: None,
        };
        let metadata = Metadata::parse(r#"{"n":1e400}"#).unwrap();
        let (event, range) = status_update(("t", "c"), &status, Some(&metadata));
        let read: StreamResponse = serde_json::from_slice(&event).unwrap();
        assert_eq!(json(&read), event);
        assert_eq!(json(&status), event[range]);
    }
}
