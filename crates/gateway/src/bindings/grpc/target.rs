//! What the path of a call asks for.

use http::HeaderMap;
use http::header::CONTENT_TYPE;
use nuncio_wire::bindings::grpc::{health, is_content_type, reflection};
use nuncio_wire::dialects::protobuf::Package;
use nuncio_wire::{Dialect, Method};

/// What a call asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// An operation of A2A.
    Operation(Package, Method),
    /// Whether a service answers.
    HealthCheck,
    /// The same, and every change of it.
    HealthWatch,
    /// Which services and messages there are.
    Reflection,
    /// No such service or method.
    Unknown,
}

impl Target {
    /// What the path asks for; `None` if it is not below one of our services.
    #[must_use]
    pub fn of_path(path: &str) -> Option<Self> {
        let (service, method) = path.strip_prefix('/')?.split_once('/')?;
        let known = if let Some(package) = Package::of_service(service) {
            let operation = package.method(method);
            operation.map(|operation| Self::Operation(package, operation))
        } else if service == health::SERVICE {
            match method {
                "Check" => Some(Self::HealthCheck),
                "Watch" => Some(Self::HealthWatch),
                _ => None,
            }
        } else if reflection::SERVICES.contains(&service) {
            (method == reflection::METHOD).then_some(Self::Reflection)
        } else {
            return None;
        };
        Some(known.unwrap_or(Self::Unknown))
    }

    /// The dialect of those who ask.
    #[must_use]
    pub fn dialect(self) -> Dialect {
        match self {
            Self::Operation(package, _) => package.dialect(),
            _ => Dialect::V1,
        }
    }

    /// Whether the answer is everybody's: it says nothing of agents and tasks.
    #[must_use]
    pub fn is_public(self) -> bool {
        !matches!(self, Self::Operation(..))
    }
}

/// Whether the head is that of a gRPC call with protobuf inside.
#[must_use]
pub fn is_call(headers: &HeaderMap) -> bool {
    headers
        .get(CONTENT_TYPE)
        .and_then(|value| value.to_str().ok())
        .is_some_and(is_content_type)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_full_names_of_services_and_methods_are_known() {
        for (path, target) in [
            (
                "/lf.a2a.v1.A2AService/ListTasks",
                Some(Target::Operation(Package::V1, Method::ListTasks)),
            ),
            (
                "/a2a.v1.A2AService/TaskSubscription",
                Some(Target::Operation(Package::V0_3, Method::SubscribeToTask)),
            ),
            (
                "/a2a.v1.A2AService/ListTaskPushNotificationConfig",
                Some(Target::Operation(
                    Package::V0_3,
                    Method::ListTaskPushNotificationConfigs,
                )),
            ),
            ("/a2a.v1.A2AService/ListTasks", Some(Target::Unknown)),
            ("/lf.a2a.v1.A2AService/getTask", Some(Target::Unknown)),
            ("/lf.a2a.v1.A2AService/GetTask/x", Some(Target::Unknown)),
            ("/grpc.health.v1.Health/Watch", Some(Target::HealthWatch)),
            (
                "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
                Some(Target::Reflection),
            ),
            ("/lf.a2a.v1.A2AService", None),
            ("/A2AService/GetTask", None),
            ("/tasks/x", None),
        ] {
            assert_eq!(Target::of_path(path), target, "{path}");
        }
    }
}
