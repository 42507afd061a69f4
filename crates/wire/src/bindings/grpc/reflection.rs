//! gRPC's server reflection: our own `.proto` files, told to whoever asks.
//!
//! Both names of the service have the same messages. A client may ask one thing after the other
//! over one call; each question is answered on its own.

use bytes::Bytes;
use prost::Message as _;
use prost_types::{DescriptorProto, FileDescriptorProto, FileDescriptorSet};
use std::collections::HashMap;
use std::sync::OnceLock;

use super::code;
use crate::dialects::protobuf::generated::grpc::reflection::v1 as pb;
use crate::error::{A2aError, ErrorKind};
use pb::server_reflection_request::MessageRequest;
use pb::server_reflection_response::MessageResponse;

/// Full names of the service, the current one first.
pub const SERVICES: [&str; 2] = [
    "grpc.reflection.v1.ServerReflection",
    "grpc.reflection.v1alpha.ServerReflection",
];
/// The one method of the service.
pub const METHOD: &str = "ServerReflectionInfo";

/// Answers one question; `services` are the full names of what this server serves.
pub fn answer(message: &[u8], services: &[&str]) -> Result<Vec<u8>, A2aError> {
    let request = pb::ServerReflectionRequest::decode(message).map_err(|error| {
        let text = format!("The message is no ServerReflectionRequest: {error}");
        A2aError::new(ErrorKind::ParseError, text)
    })?;
    let response = match &request.message_request {
        Some(MessageRequest::ListServices(_)) => {
            let named = |name: &&str| pb::ServiceResponse {
                name: (*name).to_owned(),
            };
            MessageResponse::ListServicesResponse(pb::ListServiceResponse {
                service: services.iter().map(named).collect(),
            })
        }
        Some(MessageRequest::FileByFilename(name)) => files(index().by_file.get(name), name),
        Some(MessageRequest::FileContainingSymbol(name)) => {
            let symbol = name.trim_start_matches('.');
            files(index().by_symbol.get(symbol), name)
        }
        // proto3 has no extensions.
        Some(MessageRequest::AllExtensionNumbersOfType(name))
            if index().by_symbol.contains_key(name.as_str()) =>
        {
            MessageResponse::AllExtensionNumbersResponse(pb::ExtensionNumberResponse {
                base_type_name: name.clone(),
                extension_number: Vec::new(),
            })
        }
        Some(MessageRequest::AllExtensionNumbersOfType(name)) => not_found(name),
        Some(MessageRequest::FileContainingExtension(asked)) => not_found(&asked.containing_type),
        None => refusal(code::UNIMPLEMENTED, "this question is not known here"),
    };
    let answer = pb::ServerReflectionResponse {
        valid_host: request.host.clone(),
        original_request: Some(request),
        message_response: Some(response),
    };
    Ok(answer.encode_to_vec())
}

/// NOT_FOUND as a number of gRPC.
const NOT_FOUND: u8 = 5;

fn not_found(name: &str) -> MessageResponse {
    let shown: String = name.chars().take(MAX_SHOWN_CHARS).collect();
    refusal(NOT_FOUND, &format!("'{shown}' is not known here"))
}

/// Most characters of a name that an error repeats.
const MAX_SHOWN_CHARS: usize = 128;

fn refusal(code: u8, message: &str) -> MessageResponse {
    MessageResponse::ErrorResponse(pb::ErrorResponse {
        error_code: code.into(),
        error_message: message.to_owned(),
    })
}

fn files(found: Option<&usize>, name: &str) -> MessageResponse {
    let Some(found) = found else {
        return not_found(name);
    };
    MessageResponse::FileDescriptorResponse(pb::FileDescriptorResponse {
        file_descriptor_proto: index().with_imports(*found),
    })
}

/// The compiled files, by name and by what they define.
struct Index {
    files: Vec<(FileDescriptorProto, Bytes)>,
    by_file: HashMap<String, usize>,
    by_symbol: HashMap<String, usize>,
}

fn index() -> &'static Index {
    static INDEX: OnceLock<Index> = OnceLock::new();
    INDEX.get_or_init(|| {
        let bytes: &[u8] = include_bytes!(concat!(env!("OUT_DIR"), "/descriptors.bin"));
        let set = FileDescriptorSet::decode(bytes).expect("what the build wrote can be read");
        Index::of(set)
    })
}

impl Index {
    fn of(set: FileDescriptorSet) -> Self {
        let mut index = Self {
            files: Vec::new(),
            by_file: HashMap::new(),
            by_symbol: HashMap::new(),
        };
        for file in set.file {
            let at = index.files.len();
            index.by_file.insert(file.name().to_owned(), at);
            for symbol in symbols(&file) {
                index.by_symbol.insert(symbol, at);
            }
            let bytes = Bytes::from(file.encode_to_vec());
            index.files.push((file, bytes));
        }
        index
    }

    /// A file and all it imports, each once: a client then has to ask nothing more.
    fn with_imports(&self, first: usize) -> Vec<Bytes> {
        let mut wanted = vec![first];
        let mut at = 0;
        while let Some(&file) = wanted.get(at) {
            let imports = self.files[file].0.dependency.iter();
            for import in imports.filter_map(|name| self.by_file.get(name)) {
                if !wanted.contains(import) {
                    wanted.push(*import);
                }
            }
            at += 1;
        }
        wanted
            .into_iter()
            .map(|file| self.files[file].1.clone())
            .collect()
    }
}

/// Full names of everything a file defines that may be asked for.
fn symbols(file: &FileDescriptorProto) -> Vec<String> {
    let package = file.package();
    let mut found = Vec::new();
    for service in &file.service {
        let service_name = format!("{package}.{}", service.name());
        let methods = service.method.iter();
        found.extend(methods.map(|method| format!("{service_name}.{}", method.name())));
        found.push(service_name);
    }
    found.extend(
        file.enum_type
            .iter()
            .map(|named| format!("{package}.{}", named.name())),
    );
    for message in &file.message_type {
        add_message(package, message, &mut found);
    }
    found
}

fn add_message(scope: &str, message: &DescriptorProto, found: &mut Vec<String>) {
    let name = format!("{scope}.{}", message.name());
    for nested in &message.nested_type {
        add_message(&name, nested, found);
    }
    let enums = message.enum_type.iter();
    found.extend(enums.map(|named| format!("{name}.{}", named.name())));
    found.push(name);
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ask(question: MessageRequest) -> MessageResponse {
        let request = pb::ServerReflectionRequest {
            host: "h".to_owned(),
            message_request: Some(question),
        };
        let bytes = answer(&request.encode_to_vec(), &["lf.a2a.v1.A2AService"]).unwrap();
        let response = pb::ServerReflectionResponse::decode(bytes.as_slice()).unwrap();
        assert_eq!(response.original_request, Some(request));
        response.message_response.unwrap()
    }

    fn file_names(response: &MessageResponse) -> Vec<String> {
        let MessageResponse::FileDescriptorResponse(files) = response else {
            panic!("{response:?}");
        };
        let files = files.file_descriptor_proto.iter();
        files
            .map(|bytes| {
                let file = FileDescriptorProto::decode(bytes.as_ref()).unwrap();
                file.name().to_owned()
            })
            .collect()
    }

    #[test]
    fn a_symbol_brings_its_file_and_all_imports() {
        for symbol in [
            "lf.a2a.v1.A2AService",
            "lf.a2a.v1.A2AService.GetTask",
            ".lf.a2a.v1.TaskState",
            "lf.a2a.v1.Task",
        ] {
            let answer = ask(MessageRequest::FileContainingSymbol(symbol.to_owned()));
            let names = file_names(&answer);
            assert_eq!(names[0], "lf/a2a/v1/a2a.proto", "{symbol}");
            assert!(names.contains(&"google/protobuf/struct.proto".to_owned()));
        }
        let nested = "grpc.health.v1.HealthCheckResponse.ServingStatus";
        let answer = ask(MessageRequest::FileContainingSymbol(nested.to_owned()));
        assert_eq!(file_names(&answer), ["grpc/health/v1/health.proto"]);
        let alpha = MessageRequest::FileContainingSymbol(SERVICES[1].to_owned());
        assert_eq!(file_names(&ask(alpha)).len(), 1);
        let by_name = MessageRequest::FileByFilename("a2a/v1/a2a.proto".to_owned());
        assert_eq!(file_names(&ask(by_name))[0], "a2a/v1/a2a.proto");
    }

    #[test]
    fn services_are_listed_and_unknown_names_are_said_to_be_so() {
        let MessageResponse::ListServicesResponse(list) =
            ask(MessageRequest::ListServices(String::new()))
        else {
            panic!("no list");
        };
        assert_eq!(list.service[0].name, "lf.a2a.v1.A2AService");
        for question in [
            MessageRequest::FileContainingSymbol("no.such.Thing".to_owned()),
            MessageRequest::FileByFilename("../etc/passwd".to_owned()),
            MessageRequest::AllExtensionNumbersOfType("no.such.Thing".to_owned()),
        ] {
            let MessageResponse::ErrorResponse(error) = ask(question) else {
                panic!("no error");
            };
            assert_eq!(error.error_code, 5);
        }
    }
}
