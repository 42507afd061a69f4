//! What the profiles of the conformance backend change in front of the agent, and that they change it
//! nowhere else.

use nuncio_wire::dialects::protobuf::Package;
use nuncio_wire::operation::{GetTaskRequest, ListTaskPushNotificationConfigsRequest};
use nuncio_wire::{ErrorKind, Request, StatusTable};
use serde_json::{Value, json};

use crate::binding::{Binding, grpc_call, grpc_status};
use crate::rig::{Answer, ECHO, Rig, Store, message};

const VALID: (&str, &str) = ("authorization", "Bearer itk-valid-token");
const INSUFFICIENT: (&str, &str) = ("authorization", "Bearer itk-insufficient-token");

async fn with_profile(profile: &str) -> Rig {
    let config = format!(
        "[agents.kit]\nbackend = \"conformance\"\nprofile = \"{profile}\"\n{ECHO}extended = {{}}\n"
    );
    Rig::start(Store::Memory, &config).await
}

async fn rest(rig: &Rig, path: &str, headers: &[(&str, &str)], body: Option<&Value>) -> Answer {
    match body {
        Some(body) => rig.post(path, headers, &body.to_string()).await,
        None => rig.get(path, headers).await,
    }
}

async fn card(rig: &Rig) -> Value {
    rig.get("/.well-known/agent-card.json", &[]).await.json
}

#[tokio::test]
async fn acts_has_an_extended_card_behind_its_token() {
    let rig = with_profile("acts").await;
    let card = card(&rig).await;
    assert_eq!(card["capabilities"]["extendedAgentCard"], true);
    assert_eq!(
        card["defaultInputModes"],
        json!(["text/plain", "application/json"])
    );
    assert!(card["securitySchemes"]["bearer"].is_object());
    assert!(card.get("securityRequirements").is_none());
    let path = "/extendedAgentCard";
    for (headers, status) in [
        (&[][..], 401),
        (&[INSUFFICIENT], 403),
        (&[("authorization", "Bearer other")], 401),
        (&[VALID], 200),
    ] {
        let answer = rest(&rig, path, headers, None).await;
        assert_eq!(answer.status, status, "{headers:?}: {}", answer.json);
    }
    // Everything else is open, and the tokens open no other agent.
    for headers in [&[][..], &[INSUFFICIENT], &[VALID]] {
        let answer = rest(&rig, "/message:send", headers, Some(&message("x"))).await;
        assert_eq!(answer.status, 200, "{}", answer.json);
        let answer = rest(&rig, "/agents/echo/extendedAgentCard", headers, None).await;
        assert_eq!(answer.status, 401, "{}", answer.json);
    }
}

#[tokio::test]
async fn acts_auth_needs_a_token_for_everything_and_only_there() {
    let rig = with_profile("acts-auth").await;
    assert!(card(&rig).await["securityRequirements"].is_array());
    for (headers, status, code) in [
        (&[][..], 401, -32050),
        (&[INSUFFICIENT], 403, -32052),
        (&[VALID], 200, 0),
    ] {
        let sent = rest(&rig, "/message:send", headers, Some(&message("x"))).await;
        assert_eq!(sent.status, status, "{}", sent.json);
        let listed = rest(&rig, "/tasks", headers, None).await;
        assert_eq!(listed.status, status, "{}", listed.json);
        let rpc = rig.call_as(headers, "ListTasks", json!({})).await;
        assert_eq!(rpc["error"]["code"].as_i64().unwrap_or_default(), code);
        let echo = rest(
            &rig,
            "/agents/echo/message:send",
            headers,
            Some(&message("x")),
        )
        .await;
        assert_eq!(echo.status, 200, "{}", echo.json);
    }
}

#[tokio::test]
async fn acts_reduced_has_neither_streams_nor_an_extended_card() {
    let rig = with_profile("acts-reduced").await;
    let capabilities = card(&rig).await["capabilities"].clone();
    for name in ["streaming", "pushNotifications", "extendedAgentCard"] {
        assert_eq!(capabilities[name], false, "{capabilities}");
    }
    for path in ["/message:stream", "/extendedAgentCard"] {
        let params = message("x");
        let body = path.contains("stream").then_some(&params);
        let answer = rest(&rig, path, &[VALID], body).await;
        assert_eq!(answer.status, 400);
        let reason = &answer.json["error"]["details"][0]["reason"];
        assert_eq!(reason, "UNSUPPORTED_OPERATION", "{}", answer.json);
    }
}

#[tokio::test]
async fn a_message_id_is_made_up_only_where_the_profile_wants_it() {
    let body = json!({"message": {"role": "ROLE_USER", "parts": [{"text": "x"}]}});
    for (profile, is_taken) in [("acts", true), ("tck", false)] {
        let rig = with_profile(profile).await;
        let answer = rest(&rig, "/message:send", &[], Some(&body)).await;
        assert_eq!(answer.status == 200, is_taken, "{}", answer.json);
        let rpc = rig.call("SendMessage", body.clone()).await;
        assert_eq!(rpc["result"].is_object(), is_taken, "{rpc}");
        let echo = rest(&rig, "/agents/echo/message:send", &[], Some(&body)).await;
        assert_eq!(echo.status, 400, "{}", echo.json);
        for (tenant, is_taken) in [("", is_taken), ("kit", is_taken), ("echo", false)] {
            let mut body = body.clone();
            body["tenant"] = json!(tenant);
            let request = Binding::Grpc.request(&rig.base, &[], "SendMessage", &body.to_string());
            let answer = Answer::of(rig.request(request).await).await;
            let status = grpc_status(&answer.headers);
            assert_eq!(status.code == 0, is_taken, "{profile} {tenant}: {status:?}");
        }
    }
}

#[tokio::test]
async fn statuses_are_those_of_the_profiles_edition() {
    for (profile, status) in [("tck", 409), ("acts", 400)] {
        let rig = with_profile(profile).await;
        for (agent, status) in [("", status), ("/agents/echo", 400)] {
            let path = format!("{agent}/message:send");
            let sent = rest(&rig, &path, &[], Some(&message("x"))).await.json;
            let id = sent["task"]["id"].as_str().expect("a task");
            let path = format!("{agent}/tasks/{id}:cancel");
            let answer = rest(&rig, &path, &[], Some(&json!({}))).await;
            assert_eq!(answer.status, status, "{profile} {agent}: {}", answer.json);
        }
    }
}

#[tokio::test]
async fn grpc_statuses_are_those_of_the_agent_that_the_tenant_names() {
    let kit = "[agents.kit]\nbackend = \"conformance\"\nprofile = \"tck\"\n";
    let rig = Rig::start(Store::Memory, &format!("{ECHO}{kit}")).await;
    let not_supported = |table| ErrorKind::VersionNotSupported.grpc_code(table);
    for (tenant, table) in [
        (None, StatusTable::V1_0_1),
        (Some("echo"), StatusTable::V1_0_1),
        (Some("kit"), StatusTable::V1_0_0),
    ] {
        let request =
            Request::ListTaskPushNotificationConfigs(ListTaskPushNotificationConfigsRequest {
                tenant: tenant.map(str::to_owned),
                task_id: "x".to_owned(),
                page_size: None,
                page_token: None,
            });
        let request = Package::V1.write_request(request).unwrap();
        let method = format!("/{}/ListTaskPushNotificationConfigs", Package::V1.service());
        let call = grpc_call(&rig.base, &method, &request, &[("a2a-version", "99.0")]);
        let answer = Answer::of(rig.request(call).await).await;
        let status = grpc_status(&answer.headers);
        assert_eq!(status.code, not_supported(table), "{tenant:?}: {status:?}");
        let request = GetTaskRequest {
            tenant: tenant.map(str::to_owned),
            id: "x".to_owned(),
            history_length: None,
        };
        let request = Package::V1
            .write_request(Request::GetTask(request))
            .unwrap();
        let method = format!("/{}/GetTask", Package::V1.service());
        let call = grpc_call(&rig.base, &method, &request, &[("a2a-version", "99.0")]);
        let answer = Answer::of(rig.request(call).await).await;
        let status = grpc_status(&answer.headers);
        assert_eq!(status.code, not_supported(table), "{tenant:?}: {status:?}");
    }
    assert_ne!(
        not_supported(StatusTable::V1_0_0),
        not_supported(StatusTable::V1_0_1)
    );
}

#[tokio::test]
async fn the_profile_of_0_3_has_a_merged_card() {
    for (profile, is_merged) in [("tck03", true), ("tck", false)] {
        let rig = with_profile(profile).await;
        assert_eq!(card(&rig).await.get("url").is_some(), is_merged);
        let echo = rig
            .get("/agents/echo/.well-known/agent-card.json", &[])
            .await;
        assert!(echo.json.get("url").is_none());
    }
}

#[tokio::test]
async fn the_profile_of_0_3_gives_grpc_addresses_as_urls() {
    for (profile, is_url) in [("tck03", true), ("itk", false)] {
        let rig = with_profile(profile).await;
        let address = rig.base.trim_start_matches("http://");
        let expected = if is_url { rig.base.as_str() } else { address };
        let card = card(&rig).await;
        let interfaces = card["supportedInterfaces"].as_array().expect("a list");
        let grpc = interfaces
            .iter()
            .filter(|it| it["protocolBinding"] == "GRPC");
        let urls: Vec<_> = grpc
            .map(|it| (&it["protocolVersion"], &it["url"]))
            .collect();
        let v1 = (&json!("1.0"), &json!(address));
        assert_eq!(urls, [v1, (&json!("0.3"), &json!(expected))], "{profile}");
    }
}

/// The kit sets a configuration without an id and asks for the one called `default`.
#[tokio::test]
async fn the_profile_of_0_3_names_push_configurations_that_have_no_id() {
    for (profile, is_named) in [("tck03", true), ("tck", false)] {
        let rig = with_profile(profile).await;
        let sent = rest(&rig, "/message:send", &[], Some(&message("x"))).await;
        let id = sent.json["task"]["id"].as_str().expect("a task");
        let path = format!("/tasks/{id}/pushNotificationConfigs");
        for url in ["https://example.com/one", "https://example.com/two"] {
            let made = rest(&rig, &path, &[], Some(&json!({ "url": url }))).await;
            assert_eq!(made.json["id"] == "default", is_named, "{}", made.json);
        }
        let found = rest(&rig, &format!("{path}/default"), &[], None).await;
        let url = found.json["url"].as_str();
        let expected = is_named.then_some("https://example.com/two");
        assert_eq!(url, expected, "{profile}: {}", found.json);
    }
}
