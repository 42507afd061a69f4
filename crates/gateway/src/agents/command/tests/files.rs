//! Files in and out.

use super::*;
use nuncio_wire::PartContent;
use sha2::{Digest, Sha256};

fn file(name: &str, bytes: Vec<u8>) -> Part {
    let mut part = Part::new(PartContent::Raw(bytes.into()));
    part.filename = Some(name.to_owned());
    part
}

#[tokio::test]
async fn bytes_of_a_file_reach_the_program_unchanged() {
    let bytes: Vec<u8> = (0..=255u8).cycle().take(256 * 1000).collect();
    let hash: String = Sha256::digest(&bytes)
        .iter()
        .map(|byte| format!("{byte:02x}"))
        .collect();
    let gateway = Gateway::sh(r#"sha256sum < "$A2A_FILES""#);
    let task = gateway.send(user(vec![file("all.bin", bytes)])).await;
    assert_eq!(only_text(&task), format!("{hash}  -\n"));
}

#[tokio::test]
async fn names_of_files_never_lead_out_of_the_turns_directory() {
    let gateway = Gateway::sh(r#"cd "$A2A_FILES_DIR" && ls -A | sort"#);
    let long = "n".repeat(300);
    let names = ["../../x", "C:\\y", "/etc/z", "a\0b", "..", &long];
    let task = gateway
        .send(user(names.map(|name| file(name, vec![1])).to_vec()))
        .await;
    let listed: Vec<&str> = only_text(&task).lines().collect();
    assert_eq!(listed, ["a_b", "file.bin", &long[..247], "x", "y", "z"]);
    assert!(!gateway.dir.path().parent().unwrap().join("x").exists());
}

#[tokio::test]
async fn files_a_program_leaves_become_artifacts() {
    let gateway = Gateway::sh(
        r#"printf '\211PNG' > "$A2A_OUTPUT_DIR/out.png"; ln -s /etc/passwd "$A2A_OUTPUT_DIR/link"; echo '{"ok":true}'"#,
    );
    let task = gateway.send_text("draw").await;
    assert_eq!(task.status.state, TaskState::Completed);
    let parts: Vec<&Part> = task
        .artifacts()
        .iter()
        .map(|artifact| &artifact.parts[0])
        .collect();
    assert_eq!(parts.len(), 2, "{parts:?}");
    assert_eq!(
        parts[1].content,
        PartContent::Raw(b"\x89PNG".as_slice().into())
    );
    assert_eq!(parts[1].filename.as_deref(), Some("out.png"));
    assert_eq!(parts[1].media_type.as_deref(), Some("image/png"));
    assert!(matches!(parts[0].content, PartContent::Data(_)));
}

#[tokio::test]
async fn a_file_is_an_answer_and_too_much_is_a_failure() {
    let script = r#"head -c "$(cat)" /dev/zero > "$A2A_OUTPUT_DIR/zeros""#;
    let gateway = Gateway::with(script, |command| command.max_output_bytes = 1000);
    let task = gateway.send_text("1000").await;
    assert_eq!(
        (task.status.state, task.artifacts().len()),
        (TaskState::Completed, 1)
    );
    let task = gateway.send_text("1001").await;
    assert_failed(&task, "the agent's files exceed the limit of 1000 bytes");
}

#[tokio::test]
async fn nothing_of_a_turn_stays_behind() {
    let gateway = Gateway::sh(r#"echo kept > "$A2A_OUTPUT_DIR/kept"; echo "$A2A_OUTPUT_DIR""#);
    let task = gateway.send_text("x").await;
    let dir = task
        .artifacts()
        .iter()
        .find_map(|artifact| artifact.parts[0].as_text())
        .unwrap();
    // The task is final before its directory is gone, and the engine waits for both.
    gateway
        .engine
        .shut_down(std::time::Duration::from_secs(60))
        .await;
    assert!(!std::path::Path::new(dir.trim_end()).exists(), "{dir}");
}
