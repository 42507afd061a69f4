//! Text mode: text in, text out.

use super::*;
use nuncio_wire::{PartContent, RawJson};

#[tokio::test]
async fn what_a_program_prints_is_the_answer_byte_for_byte() {
    let gateway = Gateway::sh("cat");
    let text = "日本 👩‍👩‍👧 \u{202E}rtl \u{2028} <b>&\"'</b>\r\n\n";
    let task = gateway.send_text(text).await;
    assert_eq!(
        (task.status.state, only_text(&task)),
        (TaskState::Completed, text)
    );
}

#[tokio::test]
async fn a_program_that_does_not_read_is_not_waited_for() {
    let gateway = Gateway::sh("echo done");
    let task = gateway.send_text(&"x".repeat(4 * 1024 * 1024)).await;
    assert_eq!(only_text(&task), "done\n");
}

#[tokio::test]
async fn output_is_streamed_as_chunks_of_one_artifact() {
    // The second half comes only when the first one was seen.
    let gateway =
        Gateway::sh("printf first; while [ ! -e go ]; do sleep 0.01; done; printf second");
    let (_, mut reader) = gateway.watch(user(vec![Part::text("x")])).await;
    let mut chunks = Vec::new();
    while let Some((event, _)) = reader.next().await {
        let event = serde_json::from_slice(&event.payload).unwrap();
        if let StreamResponse::ArtifactUpdate(update) = event {
            std::fs::write(gateway.dir.path().join("go"), "").unwrap();
            chunks.push(update);
        }
    }
    let seen: Vec<_> = chunks
        .iter()
        .map(|chunk| {
            (
                chunk.artifact.parts[0].as_text().unwrap(),
                chunk.append,
                chunk.last_chunk,
            )
        })
        .collect();
    assert_eq!(seen, [("first", false, false), ("second", true, true)]);
    assert_eq!(
        chunks[0].artifact.artifact_id,
        chunks[1].artifact.artifact_id
    );
}

#[tokio::test]
async fn a_burst_of_short_chunks_arrives_whole_and_in_order() {
    let script = "i=0; while [ $i -lt 20000 ]; do echo $i; i=$((i+1)); done";
    let gateway = Gateway::sh(script);
    let (events, _) = gateway.stream(user(vec![Part::text("x")])).await;
    let joined: String = events
        .iter()
        .filter_map(|event| match event {
            StreamResponse::ArtifactUpdate(update) => update.artifact.parts[0].as_text(),
            _ => None,
        })
        .collect();
    let expected: String = (0..20_000).map(|i| format!("{i}\n")).collect();
    assert!(joined == expected);
}

#[tokio::test]
async fn characters_cut_by_a_read_and_bytes_that_are_none() {
    let gateway = Gateway::sh(
        r"printf 'a\346\227'; sleep 0.1; printf '\245\377\000'; sleep 0.1; printf 'b\360\237'",
    );
    let task = gateway.send_text("x").await;
    assert_eq!(only_text(&task), "a日\u{FFFD}\u{FFFD}b\u{FFFD}");
}

#[tokio::test]
async fn a_question_waits_for_the_caller_and_the_task_goes_on() {
    let gateway = Gateway::sh(
        r#"if [ "$A2A_TURN" = first ]; then echo ' [Input_Required] Which colour?'; else echo "$A2A_TURN: $(cat)"; fi"#,
    );
    let task = gateway.send_text("paint").await;
    assert_eq!(task.status.state, TaskState::InputRequired);
    assert_eq!(
        (status_text(&task).as_str(), task.artifacts().len()),
        ("Which colour?", 0)
    );
    let mut answer = user(vec![Part::text("blue")]);
    answer.task_id = Some(task.id);
    let task = gateway.send(answer).await;
    assert_eq!(
        (task.status.state, only_text(&task)),
        (TaskState::Completed, "continue: blue\n")
    );
}

#[tokio::test]
async fn json_alone_becomes_data_unless_the_caller_takes_text_only() {
    let gateway = Gateway::sh(r#"echo '{"n":9007199254740993,"n":1}'"#);
    let data = RawJson::parse(r#"{"n":9007199254740993,"n":1}"#).unwrap();
    let task = gateway.send_text("x").await;
    let part = &task.artifacts()[0].parts[0];
    assert_eq!(part.content, PartContent::Data(data));
    assert_eq!(part.media_type.as_deref(), Some("application/json"));

    let mut submission = gateway.submission(user(vec![Part::text("x")]));
    submission.request.configuration.accepted_output_modes = vec!["text/plain".to_owned()];
    let Answer::Task(live) = gateway.answer(submission).await.unwrap() else {
        panic!()
    };
    assert_eq!(
        only_text(&live.task()),
        "{\"n\":9007199254740993,\"n\":1}\n"
    );
}

#[tokio::test]
async fn an_empty_success_is_a_failure() {
    for script in [":", "echo; echo ' '"] {
        let task = Gateway::sh(script).send_text("x").await;
        assert_failed(&task, "the agent's program ended without an answer");
        assert_eq!(task.artifacts(), []);
    }
}

#[tokio::test]
async fn the_environment_is_clean_and_says_whose_turn_it_is() {
    let gateway = Gateway::with("env", |command| {
        command
            .program
            .env
            .insert("MODEL".to_owned(), "small".to_owned());
        command.program.pass_env = vec!["PASSED_ON".to_owned()];
    });
    let mut submission = gateway.submission(user(vec![Part::text("x")]));
    submission.request.metadata = Some(nuncio_wire::Metadata::parse(r#"{"k":1}"#).unwrap());
    let message_id = submission.request.message.message_id.clone();
    let Answer::Task(live) = gateway.answer(submission).await.unwrap() else {
        panic!()
    };
    let task = live.task();
    let variables: Vec<&str> = only_text(&task).lines().collect();
    for expected in [
        "MODEL=small".to_owned(),
        "A2A_AGENT=agent".to_owned(),
        "A2A_CALLER=peer:alice".to_owned(),
        "A2A_TURN=first".to_owned(),
        r#"A2A_METADATA={"k":1}"#.to_owned(),
        format!("A2A_TASK_ID={}", task.id),
        format!("A2A_CONTEXT_ID={}", task.context_id),
        format!("A2A_MESSAGE_ID={message_id}"),
        "PASSED_ON=value of PASSED_ON".to_owned(),
    ] {
        assert!(
            variables.contains(&expected.as_str()),
            "{expected} in {variables:?}"
        );
    }
    let of_the_shell = ["PWD", "OLDPWD", "SHLVL", "_"];
    for variable in &variables {
        let name = variable.split('=').next().unwrap();
        let known = name.starts_with("A2A_")
            || ["MODEL", "PASSED_ON"].contains(&name)
            || crate::agents::process::BASE_VARIABLES.contains(&name)
            || of_the_shell.contains(&name);
        assert!(known, "{variable}");
    }
}

#[tokio::test]
async fn a_conversation_has_a_directory_of_its_own() {
    let gateway = Gateway::with("cat >> notes; pwd; cat notes", |command| {
        command.context_dir = true
    });
    let task = gateway.send_text("one ").await;
    let mut again = user(vec![Part::text("two ")]);
    again.context_id = Some(task.context_id.clone());
    let second = gateway.send(again.clone()).await;
    assert!(only_text(&second).ends_with("\none two "), "{second:?}");
    let name = crate::sessions::file_name(&nuncio_store::Conversation {
        agent: "agent".into(),
        owner: "peer:alice".into(),
        context_id: task.context_id.as_str().into(),
    });
    assert!(
        only_text(&task).contains(&format!("/contexts/{name}\n")),
        "{task:?}"
    );

    let mut other = gateway.submission(Message {
        message_id: ids::new_id(),
        ..again
    });
    other.owner = "peer:bob".into();
    let Answer::Task(live) = gateway.answer(other).await.unwrap() else {
        panic!()
    };
    assert!(
        only_text(&live.task()).ends_with("\ntwo "),
        "another caller sees nothing of it"
    );
}
