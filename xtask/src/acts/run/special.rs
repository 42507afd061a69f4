//! What prose alone asks of the runner: tests whose steps are only a beginning. Named by test; run
//! after its steps have passed.

use std::time::Duration;

use serde_json::{Value, json};
use tokio::time::timeout;

use super::step::record;
use super::{Scene, Stop};
use crate::acts::bindings::{Answer, Events, Item, Opened, Peer, prepare};
use crate::acts::checks::error::Refusal;
use crate::acts::checks::shape::{self, snake_case_names};
use crate::acts::checks::stream::{is_terminal, state};
use crate::acts::corpus::{Operation, RawRequest, Test};
use crate::acts::sut::{INSUFFICIENT_TOKEN, Profile, VALID_TOKEN};
use crate::acts::webhook::Delivery;

/// For a whole stream: the longest task works under two seconds.
const STREAM_LIMIT: Duration = Duration::from_secs(20);
/// For push notifications, with one that has to be repeated among them.
const PUSH_LIMIT: Duration = Duration::from_secs(30);
/// A task that nobody has.
const MISSING_TASK: &str = "00000000-0000-0000-0000-000000000000";

/// Sets the receiver up for tests whose deliveries are to fail or to be refused.
pub(super) fn before(scene: &Scene<'_>, test: &Test) {
    let receiver = scene.bench.receiver;
    match test.id.as_str() {
        "PUSH-DELIV-002" => receiver.fail_first(&scene.inbox, 1),
        "SEC-PUSH-002" => receiver.require(&scene.inbox, "Bearer expected-token"),
        _ => {}
    }
}

/// Does what the test's prose asks.
pub(super) async fn after(scene: &mut Scene<'_>, test: &Test) -> Result<(), Stop> {
    match test.id.as_str() {
        "CARD-CACHE-001" => scene.card_can_be_cached(),
        "CARD-SCHEMA-001" => scene.answer_has_shape("step-1", &shape::AGENT_CARD),
        "DM-SERIAL-002" => scene.answer_has_shape("send", &shape::SEND_RESPONSE),
        "DM-FMT-001" => scene.names_are_camel_case("send-raw"),
        "JSONRPC-CT-001" => scene.content_type("send-raw", &["application/json"]),
        "REST-CT-001" => scene.content_type("send", &["application/a2a+json"]),
        "GRPC-STATUS-001" => scene.status_is("get-missing", 404),
        "CORE-ERR-009" | "SEC-AUTH-003" => scene.refusals_tell_nothing().await,
        "SEC-AUTH-006" => scene.refusal_fits_the_binding().await,
        "SEC-EXTCARD-001" => scene.challenged("get-extended-card-without-auth"),
        "SEC-EXTCARD-002" => scene.status_is("get-extended-card-insufficient-auth", 403),
        "SEC-EXTCARD-004" => scene.extended_card_is_consistent().await,
        "STREAM-MULTI-001" => scene.two_streams(false).await,
        "STREAM-MULTI-002" => scene.two_streams(true).await,
        "STREAM-RESUB-001" => scene.resubscribe().await,
        "SEC-PUSH-001" | "PUSH-DELIV-001" => scene.pushed_with("Bearer test-token").await,
        "SEC-PUSH-002" => scene.pushed_with("Bearer expected-token").await,
        "PUSH-DELIV-002" => scene.pushed_again_after_a_failure().await,
        "PUSH-DELIV-003" => scene.pushed_in_shape().await,
        _ => Ok(()),
    }
}

impl Scene<'_> {
    fn answer(&self, step: &str) -> Result<&Answer, Stop> {
        let answer = self.answers.get(step);
        answer.ok_or_else(|| Stop::error(format!("the corpus has no step {step} any more")))
    }

    fn card_can_be_cached(&self) -> Result<(), Stop> {
        let headers = &self.answer("step-1")?.headers;
        if headers.contains_key("etag") || headers.contains_key("cache-control") {
            return Ok(());
        }
        Err(Stop::fail("the card has neither Cache-Control nor ETag"))
    }

    fn answer_has_shape(&self, step: &str, wanted: &shape::Shape) -> Result<(), Stop> {
        Ok(shape::check(wanted, &self.answer(step)?.root, "answer")?)
    }

    fn names_are_camel_case(&self, step: &str) -> Result<(), Stop> {
        let root = &self.answer(step)?.root;
        let names = snake_case_names(root);
        if !names.is_empty() {
            return Err(Stop::fail(format!("names with underscores: {names:?}")));
        }
        Ok(shape::check(
            &shape::SEND_RESPONSE,
            &root["result"],
            "result",
        )?)
    }

    fn content_type(&self, step: &str, wanted: &[&str]) -> Result<(), Stop> {
        let headers = &self.answer(step)?.headers;
        let kind = headers.get("content-type").map_or("", String::as_str);
        let essence = kind.split(';').next().unwrap_or_default().trim();
        if wanted.contains(&essence) {
            return Ok(());
        }
        Err(Stop::fail(format!(
            "the Content-Type is `{kind}`, not {wanted:?}"
        )))
    }

    fn status_is(&self, step: &str, wanted: u16) -> Result<(), Stop> {
        let status = self.answer(step)?.status;
        if status == wanted {
            return Ok(());
        }
        Err(Stop::fail(format!("the status is {status}, not {wanted}")))
    }

    fn challenged(&self, step: &str) -> Result<(), Stop> {
        self.status_is(step, 401)?;
        is_challenge(self.answer(step)?)
    }

    fn peer_with(&self, token: Option<&str>) -> Peer {
        Peer {
            token: token.map(str::to_owned),
            ..self.bench.peer.clone()
        }
    }

    /// A task that is there and one that is not must look the same to whom they do not belong.
    async fn refusals_tell_nothing(&self) -> Result<(), Stop> {
        let other = self
            .scope
            .fill(&json!("{{otherUserTaskId}}"))
            .map_err(Stop::error)?;
        let other = other.as_str().unwrap_or_default();
        let valid = self.peer_with(Some(VALID_TOKEN));
        same_refusal(&valid, other).await?;
        if self.bench.profile != Profile::Auth {
            return Ok(());
        }
        let (_, params) = message("tck-complete-task somebody's", false);
        let sent = valid.call(Operation::SendMessage, &params).await?;
        let Some(theirs) = sent.root["task"]["id"].as_str() else {
            return Err(Stop::fail(format!("no task to hide: {:?}", sent.refusal)));
        };
        same_refusal(&self.peer_with(None), theirs).await?;
        same_refusal(&self.peer_with(Some(INSUFFICIENT_TOKEN)), theirs).await
    }

    async fn refusal_fits_the_binding(&self) -> Result<(), Stop> {
        let request = RawRequest {
            method: "GET".to_owned(),
            path: format!("/tasks/{MISSING_TASK}"),
            headers: headers(&[("Accept", "application/json"), ("A2A-Version", "1.0")]),
            body: None,
            body_raw: None,
        };
        let answer = self.bench.peer.raw(&request).await?;
        if answer.status != 401 {
            return Err(Stop::fail(format!(
                "without a credential: status {}",
                answer.status
            )));
        }
        is_challenge(&answer)
    }

    async fn extended_card_is_consistent(&self) -> Result<(), Stop> {
        let peer = self.peer_with(Some(VALID_TOKEN));
        let answer = peer
            .call(Operation::GetExtendedAgentCard, &json!({}))
            .await?;
        if let Some(refusal) = answer.refusal {
            return Err(Stop::fail(format!(
                "not for the right credential either: {refusal:?}"
            )));
        }
        Ok(shape::check(&shape::AGENT_CARD, &answer.root, "card")?)
    }

    /// Two subscribers see the same; `close_one`: one leaves early, the other sees it all.
    async fn two_streams(&self, close_one: bool) -> Result<(), Stop> {
        let peer = &self.bench.peer;
        let (id, mut first) = self.long_stream().await?;
        let mut second = subscribe(peer, &id).await?;
        let begin = next_event(&mut second).await?;
        if close_one {
            next_event(&mut first).await?;
            drop(first);
            let rest = record(second, STREAM_LIMIT).await?;
            return ends_well(&rest.events, rest.closed);
        }
        let (one, other) = tokio::join!(record(first, STREAM_LIMIT), record(second, STREAM_LIMIT));
        let (one, other) = (one?, other?);
        ends_well(&one.events, one.closed)?;
        ends_well(&other.events, other.closed)?;
        if begin["task"]["id"] != *id {
            return Err(Stop::fail(format!("a subscription begins with {begin}")));
        }
        // The second came later, so it may have missed the beginning but nothing since.
        if other.events.is_empty() || !one.events.ends_with(&other.events) {
            let text = format!(
                "the streams differ: {:?} and {:?}",
                one.events, other.events
            );
            return Err(Stop::fail(text));
        }
        Ok(())
    }

    async fn resubscribe(&self) -> Result<(), Stop> {
        let (id, first) = self.long_stream().await?;
        drop(first);
        let again = subscribe(&self.bench.peer, &id).await?;
        let again = record(again, STREAM_LIMIT).await?;
        let begin = again.events.first().map(|event| &event["task"]["id"]);
        if begin != Some(&json!(id)) {
            return Err(Stop::fail(format!("a subscription begins with {begin:?}")));
        }
        ends_well(&again.events, again.closed)
    }

    /// A stream of a task that goes on for a while, after its first event.
    async fn long_stream(&self) -> Result<(String, Events), Stop> {
        let (operation, params) = message("tck-long-running watched", true);
        let mut events = match self.bench.peer.open(operation, &params).await? {
            Opened::Stream(events) => *events,
            Opened::Refused(answer) => {
                return Err(Stop::fail(format!("no stream: {:?}", answer.refusal)));
            }
        };
        let event = next_event(&mut events).await?;
        match event["task"]["id"].as_str() {
            Some(id) => Ok((id.to_owned(), events)),
            None => Err(Stop::fail(format!("the stream begins with {event}"))),
        }
    }

    /// Everything that was pushed up to the task's end.
    async fn pushed(&self) -> Result<Vec<Delivery>, Stop> {
        let ended = |all: &[Delivery]| {
            let taken = all.iter().filter(|it| it.answered == 200);
            taken
                .into_iter()
                .any(|it| state(&it.body).is_some_and(is_terminal))
        };
        let receiver = self.bench.receiver;
        let arrived = receiver.wait(&self.inbox, PUSH_LIMIT, ended).await;
        if !ended(&arrived) {
            let bodies: Vec<_> = arrived.iter().map(|it| &it.body).collect();
            return Err(Stop::fail(format!(
                "the task's end was not pushed; only {bodies:?}"
            )));
        }
        let task = self.scope.captured("create", "taskId");
        let task = task.or_else(|| self.scope.captured("create-task", "taskId"));
        for delivery in &arrived {
            let body = &delivery.body;
            let ids = [
                &body["task"]["id"],
                &body["statusUpdate"]["taskId"],
                &body["artifactUpdate"]["taskId"],
            ];
            if !ids.into_iter().any(|id| Some(id) == task) {
                return Err(Stop::fail(format!("pushed for another task: {body}")));
            }
        }
        Ok(arrived)
    }

    async fn pushed_with(&self, authorization: &str) -> Result<(), Stop> {
        for delivery in self.pushed().await? {
            let sent = delivery.headers.get("authorization").map(String::as_str);
            if sent != Some(authorization) {
                return Err(Stop::fail(format!(
                    "pushed with {sent:?}, not `{authorization}`"
                )));
            }
        }
        Ok(())
    }

    async fn pushed_again_after_a_failure(&self) -> Result<(), Stop> {
        let arrived = self.pushed().await?;
        let refused: Vec<_> = arrived.iter().filter(|it| it.answered != 200).collect();
        let taken = |body: &Value| {
            arrived
                .iter()
                .any(|it| it.answered == 200 && it.body == *body)
        };
        if refused.is_empty() {
            return Err(Stop::error("no delivery was made to fail"));
        }
        match refused.iter().find(|it| !taken(&it.body)) {
            Some(lost) => Err(Stop::fail(format!("lost after a 503: {}", lost.body))),
            None => Ok(()),
        }
    }

    async fn pushed_in_shape(&self) -> Result<(), Stop> {
        for delivery in self.pushed().await? {
            shape::check(&shape::STREAM_RESPONSE, &delivery.body, "push")?;
            let kind = delivery
                .headers
                .get("content-type")
                .map_or("", String::as_str);
            if !["application/json", "application/a2a+json"].contains(&kind) {
                return Err(Stop::fail(format!("pushed as `{kind}`")));
            }
        }
        Ok(())
    }
}

fn headers(pairs: &[(&str, &str)]) -> serde_json::Map<String, Value> {
    let pairs = pairs.iter();
    pairs
        .map(|(name, value)| ((*name).to_owned(), json!(value)))
        .collect()
}

fn message(text: &str, streaming: bool) -> (Operation, Value) {
    let operation = if streaming {
        Operation::SendStreamingMessage
    } else {
        Operation::SendMessage
    };
    let params = json!({"message": {"role": "ROLE_USER", "parts": [{"text": text}]}});
    prepare(operation, params, || uuid::Uuid::new_v4().to_string())
}

async fn subscribe(peer: &Peer, task: &str) -> Result<Events, Stop> {
    match peer
        .open(Operation::SubscribeToTask, &json!({"id": task}))
        .await?
    {
        Opened::Stream(events) => Ok(*events),
        Opened::Refused(answer) => {
            Err(Stop::fail(format!("no subscription: {:?}", answer.refusal)))
        }
    }
}

async fn next_event(events: &mut Events) -> Result<Value, Stop> {
    match timeout(STREAM_LIMIT, events.next()).await {
        Ok(Ok(Some(Item::Event(event)))) => Ok(event),
        Ok(Err(trouble)) => Err(trouble.into()),
        Ok(Ok(other)) => Err(Stop::fail(format!("an event was expected, not {other:?}"))),
        Err(_) => Err(Stop::fail("no event in time")),
    }
}

fn ends_well(events: &[Value], closed: bool) -> Result<(), Stop> {
    let last = events.last().and_then(state);
    match (last.is_some_and(is_terminal), closed) {
        (true, true) => Ok(()),
        (true, false) => Err(Stop::fail("the stream stays open after the task's end")),
        (false, _) => Err(Stop::fail(format!(
            "the stream does not reach the task's end: {events:?}"
        ))),
    }
}

async fn same_refusal(peer: &Peer, task: &str) -> Result<(), Stop> {
    let mut seen = Vec::new();
    for id in [task, MISSING_TASK] {
        let answer = peer.call(Operation::GetTask, &json!({ "id": id })).await?;
        let Some(refusal) = answer.refusal else {
            return Err(Stop::fail(format!("task {id} was shown: {}", answer.root)));
        };
        seen.push((answer.status, without(&refusal, id)));
    }
    if seen[0] == seen[1] {
        return Ok(());
    }
    let text = format!(
        "a task of others and none at all differ: {:?}, {:?}",
        seen[0], seen[1]
    );
    Err(Stop::fail(text))
}

/// A refusal as text, without the id it is about.
fn without(refusal: &Refusal, id: &str) -> String {
    format!("{refusal:?}").replace(id, "<id>")
}

fn is_challenge(answer: &Answer) -> Result<(), Stop> {
    let challenge = answer
        .headers
        .get("www-authenticate")
        .map_or("", String::as_str);
    if challenge.to_ascii_lowercase().starts_with("bearer") {
        return Ok(());
    }
    Err(Stop::fail(format!(
        "WWW-Authenticate is `{challenge}`, not Bearer"
    )))
}
