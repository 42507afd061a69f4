//! Known errors of the corpus: tests that judge an agent wrongly which follows A2A 1.0.1. Each names
//! its reason and changes the test; the runner shows both verdicts, as it stands and corrected.

use anyhow::{Context as _, Result};
use serde_json::{Value, json};

use super::corpus::{Test, read_test};

/// The generation of the corpus that the table is about.
pub const GENERATION: &str = "May 2026";

/// One wrong test.
#[derive(Debug)]
pub struct Erratum {
    /// Its id.
    pub test: &'static str,
    /// What is wrong, with the clause that says so.
    pub reason: &'static str,
    /// JSON pointer and new value, as JSON text.
    edits: &'static [(&'static str, &'static str)],
}

const PUSH: &str =
    r#"{"one_of": ["UnsupportedOperationError", "PushNotificationNotSupportedError"]}"#;
const NO_SUCH_CAPABILITY: &str =
    "A2A has no capability `authentication`: the schemes on the card are meant";
const AUTHENTICATION: &str = r#"{"authentication": true}"#;

/// All of them.
pub const ERRATA: [Erratum; 12] = [
    Erratum {
        test: "CARD-DISC-002",
        reason: "the binding is called HTTP+JSON, not REST (A2A 4.4.6, 5.8)",
        edits: &[(
            "/steps/0/expect/body/supportedInterfaces/items/protocolBinding/one_of",
            r#"["JSONRPC", "GRPC", "HTTP+JSON"]"#,
        )],
    },
    Erratum {
        test: "CORE-CAP-001",
        reason: "without push, PushNotificationNotSupportedError is the error (A2A 3.3.4)",
        edits: &[("/steps/1/expect_error/error_type", PUSH)],
    },
    Erratum {
        test: "PUSH-CFG-004",
        reason: "without push, PushNotificationNotSupportedError is the error (A2A 3.3.4)",
        edits: &[("/steps/1/expect_error/error_type", PUSH)],
    },
    Erratum {
        test: "CORE-ERR-007",
        reason: "error.data is a list of details (A2A 9.5), as CORE-ERR-008 has it",
        edits: &[("/steps/0/expect_error/data/type", r#""array""#)],
    },
    Erratum {
        test: "REST-PD-001",
        reason: "errors over HTTP are google.rpc.Status, not problem details (A2A 11.6)",
        edits: &[(
            "/steps/0/expect/body",
            r#"{"error": {"code": 404, "status": {"type": "string"}, "message": {"type": "string"}}}"#,
        )],
    },
    Erratum {
        test: "DM-ART-003",
        reason: "a part has raw, filename and mediaType, no `file` (A2A 4.1.6)",
        edits: &[(
            "/steps/0/assertions/0/any/match",
            r#"{"raw": {"type": "string"}, "filename": {"type": "string"}, "mediaType": {"type": "string"}}"#,
        )],
    },
    Erratum {
        test: "DM-ART-004",
        reason: "a part has url, filename and mediaType, no `fileUrl` (A2A 4.1.6)",
        edits: &[(
            "/steps/0/assertions/0/any/match",
            r#"{"url": {"type": "string"}, "filename": {"type": "string"}}"#,
        )],
    },
    Erratum {
        test: "SEC-AUTH-001",
        reason: NO_SUCH_CAPABILITY,
        edits: &[("/preconditions", AUTHENTICATION)],
    },
    Erratum {
        test: "SEC-AUTH-002",
        reason: NO_SUCH_CAPABILITY,
        edits: &[("/preconditions", AUTHENTICATION)],
    },
    Erratum {
        test: "SEC-AUTH-003",
        reason: NO_SUCH_CAPABILITY,
        edits: &[("/preconditions", AUTHENTICATION)],
    },
    Erratum {
        test: "SEC-AUTH-004",
        reason: NO_SUCH_CAPABILITY,
        edits: &[("/preconditions", AUTHENTICATION)],
    },
    Erratum {
        test: "SEC-AUTH-006",
        reason: "as SEC-AUTH-001, and the public card stays open (A2A 8.2), so it is no error",
        edits: &[
            ("/preconditions", AUTHENTICATION),
            (
                "/steps/0/expect",
                r#"{"status": 200, "body": {"name": {"type": "string"}}}"#,
            ),
        ],
    },
];

/// The erratum about this test.
#[must_use]
pub fn about(test: &str) -> Option<&'static Erratum> {
    ERRATA.iter().find(|erratum| erratum.test == test)
}

impl Erratum {
    /// The test as it should be.
    ///
    /// # Errors
    /// When the test is not the one that the erratum is about: another generation of the corpus.
    pub fn correct(&self, test: &Test) -> Result<Test> {
        let mut source = test.source.clone();
        for (place, value) in self.edits {
            let stale = || format!("the erratum on {} does not fit: no {place}", self.test);
            let value: Value = serde_json::from_str(value).with_context(stale)?;
            *source.pointer_mut(place).with_context(stale)? = value;
        }
        read_test(source)
    }
}

/// The table for the report.
#[must_use]
pub fn table() -> Value {
    let row =
        |it: &Erratum| json!({"test": it.test, "reason": it.reason, "generation": GENERATION});
    ERRATA.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn test(steps: Value) -> Test {
        read_test(json!({"id": "CORE-ERR-007", "name": "n", "level": "should", "steps": steps}))
            .unwrap()
    }

    #[test]
    fn an_erratum_changes_its_place_and_nothing_else() {
        let erratum = about("CORE-ERR-007").unwrap();
        let step = |kind: &str| json!([{"id": "s", "operation": "get_task", "expect_error": {"message": {"exists": true}, "data": {"type": kind}}}]);
        let corrected = erratum.correct(&test(step("object"))).unwrap();
        assert_eq!(corrected.source, test(step("array")).source);
    }

    #[test]
    fn an_erratum_that_no_longer_fits_ends_the_run() {
        let erratum = about("CORE-ERR-007").unwrap();
        let other = test(json!([{"id": "s", "operation": "get_task", "expect": {}}]));
        assert!(erratum.correct(&other).is_err());
    }

    #[test]
    fn each_test_has_one_erratum_with_edits_that_are_json() {
        for (index, erratum) in ERRATA.iter().enumerate() {
            assert!(
                ERRATA[..index]
                    .iter()
                    .all(|other| other.test != erratum.test)
            );
            assert!(!erratum.reason.is_empty() && !erratum.edits.is_empty());
            for (_, value) in erratum.edits {
                serde_json::from_str::<Value>(value).unwrap();
            }
        }
    }
}
