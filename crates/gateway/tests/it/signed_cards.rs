//! Signed cards: every form is signed as it is served, over set addresses only.

use nuncio_wire::card_signature::{Algorithm, CanonicalForm, PublicKey, SigningKey, verify};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use crate::rig::{ECHO, Rig, Store};

const CARD: &str = "/.well-known/agent-card.json";

/// Keys in files, as an operator has them.
struct Keys {
    _dir: tempfile::TempDir,
    files: Vec<PathBuf>,
    public: Vec<PublicKey>,
}

impl Keys {
    fn new() -> Self {
        let dir = tempfile::tempdir().unwrap();
        let mut keys = Self {
            files: Vec::new(),
            public: Vec::new(),
            _dir: dir,
        };
        for algorithm in [Algorithm::Es256, Algorithm::EdDsa] {
            let (key, private) = SigningKey::generate(algorithm).unwrap();
            let file = keys._dir.path().join(format!("{algorithm}.jwk"));
            std::fs::write(&file, private).unwrap();
            std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
            keys.files.push(file);
            keys.public.push(key.public().clone());
        }
        keys
    }

    /// `[server]` with these keys.
    fn settings(&self) -> String {
        let files: Vec<String> = self
            .files
            .iter()
            .map(|file| format!("\"file:{}\"", file.display()))
            .collect();
        format!(
            "[server]\npublic_url = \"https://agents.example.org\"\ncard_keys = [{}]\n",
            files.join(", ")
        )
    }
}

#[tokio::test]
async fn every_form_of_a_card_is_signed_by_every_key() {
    let keys = Keys::new();
    let config = format!(
        "{ECHO}{}[security]\nbearer_token = \"env:TOKEN\"\n",
        keys.settings()
    );
    let rig = Rig::start(Store::Memory, &config).await;
    for headers in [&[][..], &[("a2a-version", "0.3")]] {
        let card = rig.get(CARD, headers).await;
        for key in &keys.public {
            let verified = verify(&card.body, std::slice::from_ref(key)).unwrap();
            assert_eq!(verified.form, CanonicalForm::Specification);
        }
        // The bearer requirement, empty in one form, makes a second signature of each key.
        let signatures = card.json["signatures"].as_array().unwrap();
        assert_eq!(signatures.len(), 4);
        let text = String::from_utf8(card.body.to_vec()).unwrap();
        let changed = text.replace("agents.example.org", "agents.example.net");
        assert!(verify(changed.as_bytes(), &keys.public).is_err());
    }
    let legacy = rig.get("/.well-known/agent.json", &[]).await.json;
    assert!(legacy.get("signatures").is_none());
}

#[tokio::test]
async fn the_tag_is_of_the_content_and_not_of_its_signatures() {
    let keys = Keys::new();
    let config = format!("{ECHO}{}", keys.settings());
    let [one, two] = [
        Rig::start(Store::Memory, &config).await,
        Rig::start(Store::Memory, &config).await,
    ];
    let (first, second) = (one.get(CARD, &[]).await, two.get(CARD, &[]).await);
    assert_ne!(first.body, second.body, "ECDSA draws randomness");
    assert_eq!(first.header("etag"), second.header("etag"));
    let headers = [("if-none-match", first.header("etag"))];
    assert_eq!(two.get(CARD, &headers).await.status, 304);
    let changed = config.replace("\"echo\"\n", "\"echo\"\ndescription = \"New\"\n");
    let changed = Rig::start(Store::Memory, &changed).await;
    assert_eq!(changed.get(CARD, &headers).await.status, 200);
}

#[tokio::test]
async fn an_extended_card_is_signed_for_readers_of_1_0() {
    let keys = Keys::new();
    let config = format!(
        "{ECHO}extended = {{ description = \"More\" }}\n{}[security]\nbearer_token = \"env:TOKEN\"\n",
        keys.settings()
    );
    let rig = Rig::start(Store::Memory, &config).await;
    let token = [("authorization", "Bearer token")];
    let card = rig.get("/extendedAgentCard", &token).await;
    assert_eq!(card.json["description"], "More", "{}", card.json);
    verify(&card.body, &keys.public).unwrap();
    let body = r#"{"jsonrpc":"2.0","id":1,"method":"agent/getAuthenticatedExtendedCard"}"#;
    let old = rig.post("/", &token, body).await.json;
    assert_eq!(old["result"]["description"], "More", "{old}");
    assert!(old["result"].get("signatures").is_none());
}

#[test]
fn signed_cards_need_a_set_url() {
    let text = "[server]\ncard_keys = [\"env:KEY\"]\n";
    let config = nuncio_gateway::config::parse(text, "test.toml".as_ref()).unwrap();
    let problems = config.problems();
    let found = problems.iter().find(|it| it.key == "server.card_keys");
    let problem = found.expect("the keys are complained of");
    assert!(problem.message.contains("public_url"), "{problem:?}");
    assert_eq!(problem.severity, nuncio_gateway::config::Severity::Error);
}
