//! Golden wire files: what is read from a file is written as the same bytes, and the same thing in
//! two dialects is the same file name.

use nuncio_wire::bindings::jsonrpc::{RequestId, read_answer, write_error};
use nuncio_wire::dialects::{CardGeneration, hermes_fleet, openfang, read_card, v0_3};
use nuncio_wire::{Dialect, Method};
use std::fs;
use std::path::PathBuf;

fn directory(dialect: Dialect) -> PathBuf {
    PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("tests/golden")
        .join(dialect.as_str())
}

/// The file without the white space that people need; None if this dialect has no such file.
pub(crate) fn golden(dialect: Dialect, name: &str) -> Option<String> {
    let text = fs::read_to_string(directory(dialect).join(format!("{name}.json"))).ok()?;
    Some(minify(&text))
}

/// Takes white space out of JSON, everywhere but in strings.
pub(crate) fn minify(json: &str) -> String {
    let (mut out, mut in_string, mut escaped) = (String::new(), false, false);
    for c in json.chars() {
        if in_string {
            in_string = escaped || c != '"';
            escaped = !escaped && c == '\\';
        } else if c.is_ascii_whitespace() {
            continue;
        } else {
            in_string = c == '"';
        }
        out.push(c);
    }
    out
}

pub(crate) fn names(dialect: Dialect, prefix: &str) -> Vec<String> {
    let files = fs::read_dir(directory(dialect)).unwrap();
    let stems = files.map(|file| {
        file.unwrap()
            .path()
            .file_stem()
            .unwrap()
            .to_str()
            .unwrap()
            .to_owned()
    });
    let mut names: Vec<_> = stems.filter(|name| name.starts_with(prefix)).collect();
    names.sort();
    assert!(!names.is_empty(), "{dialect} has no {prefix} files");
    names
}

pub(crate) fn method_of(name: &str) -> Method {
    let name = name.split('-').nth(1).unwrap();
    Method::from_name(name).unwrap_or_else(|| panic!("{name} names no operation"))
}

fn text(write: impl FnOnce(&mut Vec<u8>)) -> String {
    let mut out = Vec::new();
    write(&mut out);
    minify(&String::from_utf8(out).unwrap())
}

const DIALECTS: [Dialect; 4] = [Dialect::V1, Dialect::V0_3, Dialect::Legacy, Dialect::Fleet];

#[test]
fn requests_are_written_as_they_were_read() {
    for dialect in DIALECTS {
        for name in names(dialect, "request-") {
            let json = golden(dialect, &name).unwrap();
            let request = dialect.read_request(method_of(&name), Some(&json));
            let request = request.unwrap_or_else(|e| panic!("{dialect}/{name}: {e}"));
            assert_eq!(
                text(|out| dialect.write_params(&request, out)),
                json,
                "{dialect}/{name}"
            );
        }
    }
}

#[test]
fn answers_are_written_as_they_were_read() {
    for dialect in [Dialect::V1, Dialect::V0_3, Dialect::Fleet] {
        for name in names(dialect, "answer-") {
            let (method, json) = (method_of(&name), golden(dialect, &name).unwrap());
            let answer = dialect.read_response(method, &json);
            let answer = answer.unwrap_or_else(|e| panic!("{dialect}/{name}: {e}"));
            assert_eq!(
                text(|out| dialect.write_response(method, &answer, out)),
                json,
                "{dialect}/{name}"
            );
        }
    }
}

#[test]
fn events_are_written_as_they_were_read() {
    for dialect in [Dialect::V1, Dialect::V0_3, Dialect::Fleet] {
        for name in names(dialect, "event-") {
            let json = golden(dialect, &name).unwrap();
            let (event, ends) = dialect.read_event(&json).unwrap();
            let last = name.ends_with("-last");
            if dialect == Dialect::V0_3 {
                assert_eq!(ends, last, "{name}");
            }
            assert_eq!(
                text(|out| dialect.write_event(&event, last, out)),
                json,
                "{dialect}/{name}"
            );
        }
    }
}

#[test]
fn the_same_thing_in_an_older_dialect_is_its_file_of_the_same_name() {
    for dialect in [Dialect::V0_3, Dialect::Legacy, Dialect::Fleet] {
        for name in names(dialect, "answer-") {
            let json = golden(Dialect::V1, &name).unwrap();
            let answer = Dialect::V1.read_response(method_of(&name), &json).unwrap();
            let written = text(|out| dialect.write_response(method_of(&name), &answer, out));
            assert_eq!(written, golden(dialect, &name).unwrap(), "{dialect}/{name}");
        }
    }
    for dialect in [Dialect::V0_3, Dialect::Fleet] {
        for name in names(dialect, "event-") {
            let json = golden(Dialect::V1, &name).unwrap();
            let last = name.ends_with("-last");
            let written = text(|out| dialect.write_stored_event(json.as_bytes(), last, out));
            assert_eq!(written, golden(dialect, &name).unwrap(), "{dialect}/{name}");
        }
    }
    for name in names(Dialect::V0_3, "request-") {
        let new = golden(Dialect::V1, &name).unwrap();
        let old = golden(Dialect::V0_3, &name).unwrap();
        let mut new = Dialect::V1
            .read_request(method_of(&name), Some(&new))
            .unwrap();
        drop_what_0_3_has_not(&mut new);
        let old = Dialect::V0_3
            .read_request(method_of(&name), Some(&old))
            .unwrap();
        // White space inside user JSON is carried, so compare what would go out, minified.
        let written = |request| text(|out| Dialect::V1.write_params(request, out));
        let spaces = |text: String| text.replace(' ', "");
        assert_eq!(spaces(written(&old)), spaces(written(&new)), "{name}");
    }
}

fn drop_what_0_3_has_not(request: &mut nuncio_wire::Request) {
    use nuncio_wire::Request;
    match request {
        Request::GetTask(r) => r.tenant = None,
        Request::ListTaskPushNotificationConfigs(r) => {
            r.page_size = None;
            r.page_token = None;
        }
        _ => {}
    }
}

#[test]
fn under_slash_names_only_a_sends_answer_is_unwrapped() {
    for name in names(Dialect::V1, "answer-") {
        let (method, json) = (method_of(&name), golden(Dialect::V1, &name).unwrap());
        let answer = Dialect::V1.read_response(method, &json).unwrap();
        let written = text(|out| Dialect::V1Slash.write_response(method, &answer, out));
        let bare = json
            .strip_prefix("{\"task\":")
            .or(json.strip_prefix("{\"message\":"));
        match bare.filter(|_| method == Method::SendMessage) {
            Some(bare) => assert_eq!(written, bare[..bare.len() - 1]),
            None => assert_eq!(written, json),
        }
        assert_eq!(
            Dialect::V1Slash.read_response(method, &written).unwrap(),
            answer
        );
    }
}

#[test]
fn stored_events_are_copied_unread_where_the_dialect_is_1_0() {
    let odd = b"{ \"statusUpdate\" : 1e400 }";
    for dialect in [Dialect::V1, Dialect::V1Slash] {
        let mut out = Vec::new();
        dialect.write_stored_event(odd, true, &mut out);
        assert_eq!(out, odd);
    }
}

#[test]
fn errors_are_written_as_they_were_read() {
    for dialect in DIALECTS {
        for name in names(dialect, "error-") {
            let json = golden(dialect, &name).unwrap();
            let answer = read_answer(json.as_bytes()).unwrap();
            let error = answer.outcome.unwrap_err();
            let id = answer.id.unwrap_or_else(RequestId::null);
            assert_eq!(
                error.kind.name().strip_suffix("Error"),
                name.split('-').nth(1),
                "{name}"
            );
            let write = match dialect {
                Dialect::Fleet => hermes_fleet::write_error,
                _ => write_error,
            };
            let written = text(|out| write(&id, &error, out));
            assert_eq!(written, json, "{dialect}/{name}");
        }
    }
}

#[test]
fn a_card_is_written_in_every_generation_and_read_back() {
    let file = |dialect, name| golden(dialect, name).unwrap();
    let json = file(Dialect::V1, "card");
    let (card, generation) = read_card(json.as_bytes()).unwrap();
    assert_eq!(generation, CardGeneration::V1);
    assert_eq!(serde_json::to_string(&card).unwrap(), json);

    let old = v0_3::write_card(&card).unwrap();
    assert_eq!(
        minify(std::str::from_utf8(&old).unwrap()),
        file(Dialect::V0_3, "card")
    );
    let merged = v0_3::write_merged_card(&card).unwrap();
    assert_eq!(
        minify(std::str::from_utf8(&merged).unwrap()),
        file(Dialect::V0_3, "merged-card")
    );
    let dual = openfang::write_card(&card, "https://echo.example/legacy");
    assert_eq!(
        minify(std::str::from_utf8(&dual).unwrap()),
        file(Dialect::Legacy, "card")
    );

    let (read, generation) = read_card(&merged).unwrap();
    assert_eq!((read, generation), (card.clone(), CardGeneration::V1));
    let (read, generation) = read_card(&dual).unwrap();
    assert_eq!((read, generation), (card.clone(), CardGeneration::V1));
    let (read, generation) = read_card(&old).unwrap();
    assert_eq!(generation, CardGeneration::V0_3);
    let mut expected = card;
    expected
        .supported_interfaces
        .retain(|i| i.protocol_version == "0.3");
    assert_eq!(read, expected);
}
