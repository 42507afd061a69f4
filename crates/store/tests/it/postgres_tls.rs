//! PostgreSQL over TLS: the connection is encrypted, and to the server that was named.

use nuncio_store::{PostgresOptions, PostgresStore, Store, StoreError};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};

use crate::postgres_server::{Database, GUARDED_ROLE, PASSWORD, Server};
use crate::samples::finished;

/// An address of this machine that no other process uses, as PostgreSQL cannot let the system
/// choose its port.
fn own_address() -> String {
    let [_, high, middle, low] = std::process::id().to_be_bytes();
    format!("127.{}.{middle}.{low}", 16 + high % 128)
}

async fn open(url: String) -> Result<PostgresStore, StoreError> {
    let options = PostgresOptions {
        url,
        password: Some(PASSWORD.to_owned()),
        ..PostgresOptions::default()
    };
    PostgresStore::open(options).await
}

#[tokio::test]
async fn an_encrypted_connection_is_to_the_server_that_was_named() {
    let address = own_address();
    let authority = KeyPair::generate().unwrap();
    let mut params = CertificateParams::default();
    params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    let root = params.self_signed(&authority).unwrap();
    let issuer = Issuer::new(params, authority);
    let key = KeyPair::generate().unwrap();
    let own = CertificateParams::new(vec![address.clone()]).unwrap();
    let own = own.signed_by(&key, &issuer).unwrap();
    let server = Server::own_with_tls(&address, &own.pem(), &key.serialize_pem());
    let database = Database::on(&server);
    let grant = format!("GRANT CREATE ON DATABASE {} TO guarded", database.name());
    server.psql(database.name(), &grant);
    let directory = tempfile::tempdir().unwrap();
    let file = |name: &str, pem: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, pem).unwrap();
        path.display().to_string()
    };
    let ours = file("ca.pem", &root.pem());
    let place = |host: &str| format!("postgres://{GUARDED_ROLE}@{host}/{}", database.name());

    for mode in ["require", "verify-full"] {
        let url = format!("{}?sslmode={mode}&sslrootcert={ours}", place(&address));
        let store = open(url).await.unwrap();
        finished(&store, &format!("t-{mode}"), 5).await;
        let encrypted = "SELECT DISTINCT ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) \
            WHERE usename = 'guarded'";
        assert_eq!(server.psql("postgres", encrypted), "t");
        store.close().await.unwrap();
    }
    // Another authority, another name, and no TLS at all.
    let stranger = rcgen::generate_simple_self_signed(vec![address.clone()]).unwrap();
    let theirs = file("other.pem", &stranger.cert.pem());
    for (url, why) in [
        (
            format!("{}?sslmode=require&sslrootcert={theirs}", place(&address)),
            "sslrootcert",
        ),
        (
            format!(
                "{}?sslmode=verify-full&sslrootcert={ours}&hostaddr={address}",
                place("db.example")
            ),
            "certificate",
        ),
        (place(&address), "no encryption"),
    ] {
        let Err(StoreError::Open(text)) = open(url).await else {
            panic!("opened: {why}");
        };
        assert!(text.contains(why), "{text}");
    }
}
