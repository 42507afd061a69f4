//! Rules on what may appear where: each keeps one invariant of ARCHITECTURE.md that no Cargo.toml
//! can state. Looks at product code only; a test may reach across.

use super::Finding;
use super::source::Source;

/// Words of the protocol's older versions. As string literals they mean that a second place has
/// begun to know a dialect.
const OLD_PROTOCOL_NAMES: [&str; 17] = [
    "message/send",
    "message/stream",
    "tasks/get",
    "tasks/list",
    "tasks/cancel",
    "tasks/resubscribe",
    "tasks/subscribe",
    "tasks/send",
    "tasks/sendSubscribe",
    "agent/getAuthenticatedExtendedCard",
    "agent/authenticatedExtendedCard",
    "status-update",
    "artifact-update",
    "input-required",
    "auth-required",
    "fileWithUri",
    "fileWithBytes",
];

/// The one folder that knows [`OLD_PROTOCOL_NAMES`].
const DIALECTS: &str = "crates/wire/src/dialects/";

/// Code that only the named folders may hold, and the invariant behind it.
struct Boundary {
    code: &'static [&'static str],
    allowed: &'static [&'static str],
    invariant: &'static str,
}

const BOUNDARIES: [Boundary; 4] = [
    Boundary {
        code: &["axum::", "tonic::", "hyper::server", "hyper_util::server"],
        allowed: &[
            "crates/gateway/src/serve/",
            "crates/gateway/src/bindings/",
            "crates/gateway/src/mcp/",
            "crates/gateway/src/console/",
            // One listener for one task's webhook, which lives as long as a call.
            "crates/client/src/webhook_receiver.rs",
            "xtask/src/bench/",
            "xtask/src/acts/",
        ],
        invariant: "server libraries stay in gateway's serve, bindings, mcp and console, and in the client's webhook receiver",
    },
    Boundary {
        code: &["rusqlite::", "tokio_postgres::"],
        allowed: &["crates/store/"],
        invariant: "only store knows SQL",
    },
    Boundary {
        code: &[
            "reqwest::",
            "HttpConnector",
            "hyper::client",
            "client::legacy",
            "TcpStream::connect",
        ],
        // The control socket is a file of this machine: no dialling out.
        allowed: &["crates/client/", "crates/nuncio/src/control", "xtask/"],
        invariant: "only client dials out",
    },
    Boundary {
        code: &["std::env::var", "env::vars", "process::exit"],
        allowed: &["crates/nuncio/", "xtask/"],
        invariant: "only the nuncio binary reads the environment and exits",
    },
];

/// What `wire` may not touch: it is data and codecs, without I/O and without a clock.
const NOT_IN_WIRE: [&str; 7] = [
    "tokio::",
    "hyper::",
    "std::fs",
    "std::process",
    "std::thread",
    "SystemTime::now",
    "Instant::now",
];

/// Packages that would give `wire` I/O or a runtime.
const NOT_WIRES_PACKAGES: [&str; 10] = [
    "tokio",
    "tokio-util",
    "hyper",
    "hyper-util",
    "reqwest",
    "axum",
    "tonic",
    "rusqlite",
    "mio",
    "socket2",
];

/// Packages that only one member may depend on.
const OWNED_PACKAGES: [(&str, &str); 3] = [
    ("rusqlite", "crates/store"),
    ("tokio-postgres", "crates/store"),
    ("axum", "crates/gateway"),
];

pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for boundary in &BOUNDARIES {
        findings.extend(outside(source, boundary));
    }
    if source.path.starts_with("crates/wire/src/") {
        findings.extend(wire_is_pure(source));
    }
    if !may_know_old_names(&source.path) {
        findings.extend(old_names(source));
    }
    findings
}

/// The dialects, the routes of OpenFang's REST binding (its paths look like method names), and this.
fn may_know_old_names(path: &str) -> bool {
    let is_route = path.ends_with("/bindings/openfang.rs");
    is_route || path.starts_with(DIALECTS) || path.starts_with("xtask/")
}

fn outside(source: &Source, boundary: &Boundary) -> Vec<Finding> {
    if boundary
        .allowed
        .iter()
        .any(|folder| source.path.starts_with(folder))
    {
        return Vec::new();
    }
    let held = |line: &str| {
        boundary
            .code
            .iter()
            .find(|code| line.contains(**code))
            .copied()
    };
    source
        .product_code()
        .filter_map(|(line, text)| Some((line, held(text)?)))
        .map(|(line, code)| {
            Finding::error(
                &source.path,
                line,
                format!("`{code}`: {}", boundary.invariant),
            )
        })
        .collect()
}

fn wire_is_pure(source: &Source) -> Vec<Finding> {
    let held = |line: &str| {
        NOT_IN_WIRE
            .iter()
            .find(|code| line.contains(**code))
            .copied()
    };
    source
        .product_code()
        .filter_map(|(line, text)| Some((line, held(text)?)))
        .map(|(line, code)| {
            Finding::error(
                &source.path,
                line,
                format!("`{code}`: wire has no I/O and no clock"),
            )
        })
        .collect()
}

fn old_names(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for literal in source.product_literals() {
        if let Some(name) = OLD_PROTOCOL_NAMES
            .iter()
            .find(|name| is_word(&literal.text, name))
        {
            let rule = format!("`{name}` is a name of an older protocol: only {DIALECTS} knows it");
            findings.push(Finding::error(&source.path, literal.line, rule));
        }
        // 0.3 tells its objects apart by a member `kind`; 1.0 has none.
        if source.path.starts_with("crates/wire/src/") && literal.text == "kind" {
            let rule = format!("`kind` is a member of 0.3: only {DIALECTS} knows it");
            findings.push(Finding::error(&source.path, literal.line, rule));
        }
    }
    findings
}

/// Whether `text` has `name` as a whole: `tasks/get` stands neither in `/a2a/tasks/get` nor in
/// `tasks/getAll`.
fn is_word(text: &str, name: &str) -> bool {
    let joins = |it: char| it.is_alphanumeric() || "/_-".contains(it);
    text.match_indices(name)
        .any(|(at, _)| !text[..at].ends_with(joins) && !text[at + name.len()..].starts_with(joins))
}

/// Checks the dependencies of a member (not the workspace's own table, not those of tests).
pub(super) fn dependencies(path: &str, text: &str) -> Vec<Finding> {
    let Some(member) = path.strip_suffix("/Cargo.toml") else {
        return Vec::new();
    };
    let mut findings = Vec::new();
    for (line, package) in product_dependencies(text) {
        if member == "crates/wire" && NOT_WIRES_PACKAGES.contains(&package) {
            let rule = format!("wire may not depend on `{package}`: it has no I/O and no runtime");
            findings.push(Finding::error(path, line, rule));
        }
        for (_, owner) in OWNED_PACKAGES
            .iter()
            .filter(|(it, of)| *it == package && *of != member)
        {
            let rule = format!("only {owner} may depend on `{package}`");
            findings.push(Finding::error(path, line, rule));
        }
    }
    findings
}

/// The packages named in `[dependencies]`, `[target.….dependencies]` and `[dependencies.NAME]`.
fn product_dependencies(text: &str) -> Vec<(usize, &str)> {
    let mut packages = Vec::new();
    let mut inside = false;
    for (index, line) in text.lines().enumerate() {
        let line = line.trim();
        if let Some(table) = line.strip_prefix('[') {
            let table = table.trim_end_matches(']');
            inside = table == "dependencies" || table.ends_with(".dependencies");
            packages.extend(
                table
                    .strip_prefix("dependencies.")
                    .map(|name| (index + 1, name)),
            );
        } else if inside {
            let name = line.split(['=', '.', ' ']).next().unwrap_or_default();
            let names = !name.is_empty() && !name.starts_with('#');
            packages.extend(names.then_some((index + 1, name)));
        }
    }
    packages
}

#[cfg(test)]
mod tests {
    use super::*;

    fn messages(path: &str, text: &str) -> Vec<String> {
        check(&Source::read(path, text))
            .into_iter()
            .map(|it| it.to_string())
            .collect()
    }

    #[test]
    fn servers_sql_and_dialling_keep_to_their_folders() {
        let axum = "use axum::Router;\n";
        assert_eq!(
            messages("crates/gateway/src/serve/routes.rs", axum).len(),
            0
        );
        assert!(messages("crates/gateway/src/tasks/run.rs", axum)[0].contains("server libraries"));
        let sql = "use rusqlite::Connection;\n";
        assert_eq!(messages("crates/store/src/sqlite/mod.rs", sql).len(), 0);
        assert!(messages("crates/nuncio/src/main.rs", sql)[0].contains("only store knows SQL"));
        let dial = "let s = TcpStream::connect(a);\n";
        assert!(messages("crates/gateway/src/push.rs", dial)[0].contains("only client dials out"));
        assert_eq!(messages("crates/gateway/tests/it/main.rs", dial).len(), 0);
    }

    #[test]
    fn old_names_live_in_the_dialects_and_in_tests() {
        let name = "const METHOD: &str = \"message/send\";\n";
        assert_eq!(
            messages("crates/wire/src/dialects/v0_3/mod.rs", name).len(),
            0
        );
        assert!(messages("crates/wire/src/bindings/jsonrpc.rs", name)[0].contains("message/send"));
        let test = format!("//! a\n#[cfg(test)]\nmod tests {{\n    {name}}}\n");
        assert_eq!(
            messages("crates/wire/src/bindings/jsonrpc.rs", &test).len(),
            0
        );
        let comment = "// message/send is old\nlet path = \"/a2a/tasks/send\";\n";
        assert_eq!(
            messages("crates/gateway/src/serve/routes.rs", comment).len(),
            0
        );
        assert_eq!(
            messages("crates/wire/src/part.rs", "let k = \"kind\";\n").len(),
            1
        );
        assert_eq!(
            messages("crates/nuncio/src/main.rs", "let k = \"kind\";\n").len(),
            0
        );
    }

    #[test]
    fn wire_has_no_io_and_no_clock() {
        let clock = "let now = std::time::Instant::now();\n";
        assert!(messages("crates/wire/src/task.rs", clock)[0].contains("no clock"));
        assert_eq!(messages("crates/gateway/src/tasks/run.rs", clock).len(), 0);
    }

    #[test]
    fn members_depend_on_what_is_theirs() {
        let text = "[dependencies]\ntokio.workspace = true\n\n[dev-dependencies]\naxum = \"1\"\n";
        let findings = dependencies("crates/wire/Cargo.toml", text);
        assert_eq!(findings.len(), 1);
        assert_eq!(findings[0].line, 2);
        let text = "[dependencies.rusqlite]\nversion = \"1\"\n";
        assert_eq!(dependencies("crates/gateway/Cargo.toml", text).len(), 1);
        assert_eq!(dependencies("crates/store/Cargo.toml", text).len(), 0);
        assert_eq!(dependencies("Cargo.toml", text).len(), 0);
    }
}
