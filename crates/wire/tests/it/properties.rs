//! What holds for every value and every input: nothing is lost on the way through a dialect, no
//! bytes make a reader panic, and how a stream is cut changes nothing.

use nuncio_wire::bindings::jsonrpc::{read_answer, read_call, read_void_answer};
use nuncio_wire::bindings::sse::{EventId, SseError, SseEvent, SseReader, write_frame};
use nuncio_wire::dialects::{Negotiation, hermes_fleet, negotiate, openfang, read_card};
use nuncio_wire::operation::{SendMessageConfiguration, SendMessageRequest, SendMessageResponse};
use nuncio_wire::{
    Artifact, Dialect, Message, Metadata, Method, Part, PartContent, RawJson, Request, Response,
    Role, StreamResponse, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus,
    TaskStatusUpdateEvent, Timestamp,
};
use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;

fn json_value() -> impl Strategy<Value = String> {
    let scalar = prop_oneof![
        Just("null".to_owned()),
        Just("true".to_owned()),
        "-?(0|[1-9][0-9]{0,30})(\\.[0-9]{1,20})?([eE][+-]?[0-9]{1,3})?",
        any::<String>().prop_map(|text| RawJson::of(&text).unwrap().get().to_owned()),
    ];
    scalar.prop_recursive(3, 12, 4, |inner| {
        prop_oneof![
            vec(inner.clone(), 0..4).prop_map(|list| format!("[{}]", list.join(" , "))),
            members(inner).prop_map(|members| format!("{{{members}}}")),
        ]
    })
}

fn members(value: impl Strategy<Value = String>) -> impl Strategy<Value = String> {
    // Doubled names are legal in user JSON.
    vec(("[a-c]{1,2}", value), 0..4).prop_map(|members| {
        let members = members
            .into_iter()
            .map(|(name, value)| format!("\"{name}\": {value}"));
        members.collect::<Vec<_>>().join(",")
    })
}

fn metadata() -> impl Strategy<Value = Metadata> {
    ("[a-c]", json_value(), members(json_value())).prop_map(|(name, value, more)| {
        let comma = if more.is_empty() { "" } else { ", " };
        Metadata::parse(format!("{{ \"{name}\" : {value}{comma}{more} }}")).unwrap()
    })
}

fn text() -> impl Strategy<Value = String> {
    any::<String>().prop_map(|text| text.replace('\0', ""))
}

fn part() -> impl Strategy<Value = Part> {
    let content = prop_oneof![
        text().prop_map(PartContent::Text),
        vec(any::<u8>(), 0..40).prop_map(|bytes| PartContent::Raw(bytes.into())),
        "https://[a-z]{1,8}".prop_map(PartContent::Url),
        json_value().prop_map(|json| PartContent::Data(RawJson::parse(json).unwrap())),
    ];
    let label = || option::of("[a-z]{1,8}/[a-z]{1,8}");
    (content, option::of(metadata()), label(), label()).prop_map(
        |(content, metadata, filename, media_type)| Part {
            content,
            metadata,
            filename,
            media_type,
        },
    )
}

fn message() -> impl Strategy<Value = Message> {
    let id = || option::of("[a-zA-Z0-9_:-]{1,20}");
    let role = prop_oneof![Just(Role::User), Just(Role::Agent)];
    (
        ("[a-z0-9]{1,12}", id(), id(), role),
        (
            vec(part(), 1..4),
            option::of(metadata()),
            vec("[a-z]{1,8}", 0..3),
            vec("[a-z]{1,8}", 0..3),
        ),
    )
        .prop_map(
            |((id, context_id, task_id, role), (parts, metadata, extensions, references))| {
                Message {
                    context_id,
                    task_id,
                    metadata,
                    extensions,
                    reference_task_ids: references,
                    ..Message::new(id, role, parts)
                }
            },
        )
}

fn status() -> impl Strategy<Value = TaskStatus> {
    let states = proptest::sample::select(&TaskState::ALL[1..]);
    let time = option::of((0i64..4_000_000_000_000).prop_map(Timestamp::from_millis));
    (states, option::of(message()), time).prop_map(|(state, message, timestamp)| TaskStatus {
        state,
        message,
        timestamp,
    })
}

fn artifact() -> impl Strategy<Value = Artifact> {
    let label = || option::of("[a-z ]{1,12}");
    (
        "[a-z]{1,8}",
        label(),
        label(),
        vec(part(), 1..3),
        option::of(metadata()),
    )
        .prop_map(|(id, name, description, parts, metadata)| Artifact {
            name,
            description,
            metadata,
            ..Artifact::new(id, parts)
        })
}

fn task() -> impl Strategy<Value = Task> {
    let artifacts = option::of(vec(artifact(), 0..3));
    (
        "[a-z0-9-]{1,12}",
        "[a-z0-9-]{1,12}",
        status(),
        artifacts,
        vec(message(), 0..3),
        option::of(metadata()),
    )
        .prop_map(
            |(id, context_id, status, artifacts, history, metadata)| Task {
                id,
                context_id,
                status,
                artifacts,
                history,
                metadata,
            },
        )
}

fn event() -> impl Strategy<Value = StreamResponse> {
    let ids = || ("[a-z0-9-]{1,12}", "[a-z0-9-]{1,12}");
    prop_oneof![
        task().prop_map(StreamResponse::Task),
        message().prop_map(StreamResponse::Message),
        (ids(), status(), option::of(metadata())).prop_map(
            |((task_id, context_id), status, metadata)| {
                StreamResponse::StatusUpdate(TaskStatusUpdateEvent {
                    task_id,
                    context_id,
                    status,
                    metadata,
                })
            }
        ),
        (
            ids(),
            artifact(),
            any::<(bool, bool)>(),
            option::of(metadata())
        )
            .prop_map(
                |((task_id, context_id), artifact, (append, last_chunk), metadata)| {
                    StreamResponse::ArtifactUpdate(TaskArtifactUpdateEvent {
                        task_id,
                        context_id,
                        artifact,
                        append,
                        last_chunk,
                        metadata,
                    })
                }
            ),
    ]
}

fn send() -> impl Strategy<Value = SendMessageRequest> {
    let configuration = (
        vec("[a-z]{1,5}/[a-z]{1,5}", 0..3),
        option::of(1..1000),
        any::<bool>(),
    );
    (message(), configuration, option::of(metadata())).prop_map(
        |(message, (accepted_output_modes, history_length, return_immediately), metadata)| {
            SendMessageRequest {
                configuration: SendMessageConfiguration {
                    accepted_output_modes,
                    task_push_notification_config: None,
                    history_length,
                    return_immediately,
                },
                metadata,
                ..SendMessageRequest::new(message)
            }
        },
    )
}

fn written(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    String::from_utf8(out).unwrap()
}

/// The dialects in which everything the strategies make has a place.
const LOSSLESS: [Dialect; 3] = [Dialect::V1, Dialect::V1Slash, Dialect::V0_3];

/// All events of a stream that is fed in these pieces, and how it ended.
fn feed<'a>(pieces: impl Iterator<Item = &'a [u8]>) -> (Vec<SseEvent>, Result<(), SseError>) {
    let (mut reader, mut events) = (SseReader::new(64), Vec::new());
    for piece in pieces {
        let fed = reader.feed(piece);
        events.extend(std::iter::from_fn(|| reader.next_event()));
        if fed.is_err() {
            return (events, fed);
        }
    }
    (events, Ok(()))
}

proptest! {

    #[test]
    fn events_survive(event in event(), last: bool) {
        for dialect in LOSSLESS {
            let json = written(|out| dialect.write_event(&event, last, out));
            let (read, _) = dialect.read_event(&json).unwrap();
            prop_assert_eq!(&read, &event, "{}: {}", dialect, json);
        }
    }

    #[test]
    fn answers_survive(task in task(), message in message()) {
        let answers = [
            (Method::SendMessage, Response::SendMessage(SendMessageResponse::Task(task.clone()))),
            (Method::SendMessage, Response::SendMessage(SendMessageResponse::Message(message))),
            (Method::GetTask, Response::Task(task)),
        ];
        for dialect in LOSSLESS {
            for (method, answer) in &answers {
                let json = written(|out| dialect.write_response(*method, answer, out));
                let read = dialect.read_response(*method, &json).unwrap();
                prop_assert_eq!(&read, answer, "{}: {}", dialect, json);
            }
        }
    }

    #[test]
    fn requests_survive(request in send()) {
        let request = Request::SendMessage(request);
        for dialect in LOSSLESS {
            let json = written(|out| dialect.write_params(&request, out));
            let read = dialect.read_request(Method::SendMessage, Some(&json));
            prop_assert_eq!(read.as_ref(), Ok(&request), "{}: {}", dialect, json);
            let policy = Negotiation::default();
            let version = (dialect == Dialect::V1Slash).then_some("1.0");
            let name = dialect.method_name(Method::SendMessage).unwrap();
            let (found, _) = negotiate(name, version, Some(&json), &policy).unwrap();
            prop_assert_eq!(found, dialect);
        }
    }

    #[test]
    fn a_legacy_task_can_always_be_written_and_read(task in task()) {
        let json = written(|out| openfang::write_task(&task, "id", out));
        let read = openfang::read_task(&json).unwrap();
        prop_assert_eq!(read.status.state.is_terminal(), task.status.state.is_terminal());
        prop_assert_eq!(read.context_id, task.context_id);
    }

    #[test]
    fn a_fleet_task_keeps_its_state_ids_and_text(task in task()) {
        let json = written(|out| hermes_fleet::write_task(&task, out));
        let read = hermes_fleet::bare_task(&json);
        prop_assume!(!task.id.is_empty());
        let read = read.unwrap();
        prop_assert_eq!(&read.id, &task.id);
        prop_assert_eq!(&read.context_id, &task.context_id);
        prop_assert_eq!(read.status.state, task.status.state);
        let texts = |task: &Task| {
            let parts = task.artifacts().iter().flat_map(|artifact| artifact.parts.clone());
            let texts = parts.filter_map(|part| part.as_text().map(str::to_owned));
            texts.filter(|text| !text.is_empty()).collect::<Vec<_>>()
        };
        prop_assert_eq!(texts(&read), texts(&task));
    }

    #[test]
    fn a_fleet_event_survives(event in event(), last: bool) {
        let json = written(|out| Dialect::Fleet.write_event(&event, last, out));
        let (read, ends) = Dialect::Fleet.read_event(&json).unwrap();
        let again = written(|out| Dialect::Fleet.write_event(&read, last, out));
        prop_assert_eq!(&again, &json);
        prop_assert!(ends || !matches!(event, StreamResponse::Message(_)));
    }

    #[test]
    fn a_fleet_send_survives(request in send()) {
        let json = written(|out| Dialect::Fleet.write_params(&Request::SendMessage(request.clone()), out));
        let read = hermes_fleet::read_send(Some(&json), "unused").unwrap();
        prop_assert_eq!(&read.request.message.message_id, &request.message.message_id);
        prop_assert_eq!(&read.request.message.parts, &request.message.parts);
        prop_assert_eq!(&read.request.metadata, &request.metadata);
        let id = request.message.task_id.as_ref().unwrap_or(&request.message.message_id);
        prop_assert_eq!(read.caller_task_id.as_ref(), Some(id));
        prop_assert!(hermes_fleet::is_spoken("SendMessage", Some(&json), None));
    }

    #[test]
    fn no_bytes_make_a_reader_panic(bytes in vec(any::<u8>(), 0..200)) {
        let _ = read_call(&bytes);
        let _ = read_answer(&bytes);
        let _ = read_void_answer(&bytes);
        let _ = read_card(&bytes);
        let _ = openfang::read_rest_send(&bytes);
        let _ = feed(std::iter::once(&*bytes));
    }

    #[test]
    fn no_json_makes_a_reader_panic(json in json_value(), names in vec("role|parts|kind|message|text|data|file|status|id|task|metadata", 1..4)) {
        let nested = names.iter().fold(json, |inner, name| format!("{{\"{name}\":{inner}}}"));
        for dialect in Dialect::ALL {
            for method in Method::ALL {
                let _ = dialect.read_request(method, Some(&nested));
                let _ = dialect.read_response(method, &nested);
            }
            let _ = dialect.read_event(&nested);
            dialect.write_stored_event(nested.as_bytes(), true, &mut Vec::new());
        }
        let _ = read_card(nested.as_bytes());
        let _ = openfang::read_task(&nested);
    }

    #[test]
    fn a_frame_holds_its_event_whatever_the_text(text in any::<String>(), epoch: u64, version: u64) {
        let id = EventId { epoch, version };
        let data = RawJson::of(&text).unwrap();
        let frame = written(|out| write_frame(Some(id), out, |out| out.extend(data.get().bytes())));
        let mut reader = SseReader::new(1 << 20);
        reader.feed(frame.as_bytes()).unwrap();
        let event = reader.next_event().unwrap();
        // What would end a line for some readers is escaped, so the JSON is compared, not its bytes.
        prop_assert_eq!(serde_json::from_str::<String>(&event.data).unwrap(), text);
        prop_assert_eq!(event.data.lines().count(), 1);
        prop_assert_eq!(event.id.unwrap().parse(), Ok(id));
        prop_assert!(reader.next_event().is_none());
    }

    #[test]
    fn how_a_stream_is_cut_changes_nothing(
        lines in vec("data: ?[a-zé:]{0,20}|data: [a-z]{60,70}|: [a-z]{0,9}|id: [0-9]-[0-9]|event: e|\\PC{0,8}|", 0..12),
        ends in vec(prop_oneof![Just("\n"), Just("\r\n"), Just("\r")], 12),
        mark: bool,
        cut in 1usize..9,
        bad in option::of(0usize..200),
    ) {
        let mut stream = if mark { "\u{feff}".as_bytes().to_vec() } else { Vec::new() };
        for (line, end) in lines.iter().zip(&ends) {
            stream.extend(line.bytes());
            stream.extend(end.bytes());
        }
        if let Some(at) = bad.filter(|at| *at < stream.len()) {
            stream[at] = 0xFF;
        }
        let whole = feed(std::iter::once(&*stream));
        prop_assert_eq!(feed(stream.chunks(cut)), whole.clone());
        prop_assert_eq!(feed(stream.chunks(1)), whole);
    }
}
