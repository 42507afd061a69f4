//! Compiles the `.proto` files under `proto/` into Rust, without `protoc`: messages only, since the
//! services are paths, which `bindings::grpc` knows. The descriptors are kept for reflection.

use prost::Message as _;
use std::error::Error;
use std::path::PathBuf;
use std::{env, fs};

/// Files whose messages become Rust types.
const MESSAGES: [&str; 5] = [
    "lf/a2a/v1/a2a.proto",
    "a2a/v1/a2a.proto",
    "google/rpc/status.proto",
    "grpc/health/v1/health.proto",
    "grpc/reflection/v1/reflection.proto",
];
/// The same messages as the last of [`MESSAGES`] under an older name: only told of.
const ALSO_REFLECTED: [&str; 1] = ["grpc/reflection/v1alpha/reflection.proto"];
/// Where the types are included.
const GENERATED: &str = "crate::dialects::protobuf::generated";
/// Messages of 0.3 that look on the wire as those of 1.0 do, by their Rust names there. What 1.0
/// added (device codes, PKCE) has numbers of its own, which readers of 0.3 pass over.
const SAME_IN_BOTH: [(&str, &str); 7] = [
    ("AgentProvider", "AgentProvider"),
    ("AgentExtension", "AgentExtension"),
    ("AgentSkill", "AgentSkill"),
    ("AgentCardSignature", "AgentCardSignature"),
    ("Security", "SecurityRequirement"),
    ("SecurityScheme", "SecurityScheme"),
    ("AuthorizationCodeOAuthFlow", "AuthorizationCodeOAuthFlow"),
];

fn main() -> Result<(), Box<dyn Error>> {
    println!("cargo::rerun-if-changed=proto");
    let out = PathBuf::from(env::var("OUT_DIR")?);

    let reflected = protox::Compiler::new(["proto"])?
        .include_imports(true)
        .include_source_info(false)
        .open_files(MESSAGES.iter().chain(&ALSO_REFLECTED))?
        .file_descriptor_set();
    fs::write(out.join("descriptors.bin"), reflected.encode_to_vec())?;

    let mut messages = protox::Compiler::new(["proto"])?
        .include_imports(true)
        .open_files(MESSAGES)?
        .file_descriptor_set();
    for file in &mut messages.file {
        file.service.clear();
    }
    let mut config = prost_build::Config::new();
    for (old, new) in SAME_IN_BOTH {
        config.extern_path(
            format!(".a2a.v1.{old}"),
            format!("{GENERATED}::lf::a2a::v1::{new}"),
        );
    }
    config
        .bytes(["."])
        .btree_map(["."])
        .disable_comments(["."])
        .include_file("protobuf.rs")
        .compile_fds(messages)?;
    Ok(())
}
