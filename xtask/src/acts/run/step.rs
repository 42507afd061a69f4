//! Does what one step says and checks what it expects.

use std::time::Duration;

use serde_json::Value;
use tokio::time::{Instant, sleep, timeout_at};

use super::{Scene, Stop};
use crate::acts::bindings::{Answer, Events, Item, Opened, prepare};
use crate::acts::checks::error::{self, Refusal};
use crate::acts::checks::{condition, matcher, path, stream};
use crate::acts::client_step;
use crate::acts::corpus::{
    Action, Backoff, ClientResponse, Expect, ExpectError, ExpectStream, ExpectWebhook, Operation,
    RawRequest, Repeat, Step,
};

/// For a whole stream, where the test names no limit.
const STREAM_LIMIT: Duration = Duration::from_secs(30);
/// For push notifications, where the test names no limit.
const WEBHOOK_LIMIT: Duration = Duration::from_secs(20);

/// A stream from its opening to its end.
#[derive(Debug)]
pub(super) struct Recorded {
    pub(super) events: Vec<Value>,
    pub(super) refusal: Option<Refusal>,
    /// The agent closed the stream in time.
    pub(super) closed: bool,
}

impl Scene<'_> {
    pub(super) async fn step(&mut self, step: &Step) -> Result<(), Stop> {
        sleep(Duration::from_millis(step.delay_ms)).await;
        let root = match &step.action {
            Action::Operation(operation, params) => {
                self.operation(step, *operation, params).await?
            }
            Action::Raw(request) => self.raw(step, request).await?,
            Action::Client(client) => self.client(client)?,
            Action::Assertion(assertion) => {
                self.assert(assertion)?;
                Value::Null
            }
            Action::Webhook(expected) => self.webhook(expected).await?,
        };
        for (name, place) in &step.capture {
            let place = place.as_str().unwrap_or_default();
            let value = path::get(place, &root)
                .ok_or_else(|| Stop::fail(format!("nothing at `{place}` to capture in {root}")))?;
            self.scope.keep(&step.id, name, value.clone());
        }
        self.scope.keep(&step.id, "response", root);
        step.assertions
            .iter()
            .try_for_each(|assertion| self.assert(assertion))
    }

    async fn operation(
        &mut self,
        step: &Step,
        operation: Operation,
        params: &Value,
    ) -> Result<Value, Stop> {
        let params = self.fill(params)?;
        let new_id = || uuid::Uuid::new_v4().to_string();
        let (operation, params) = prepare(operation, params, new_id);
        if operation.streams() {
            return match self.bench.peer.open(operation, &params).await? {
                Opened::Stream(events) => self.recorded(step, *events, true).await,
                Opened::Refused(answer) => self.answered(step, answer, false),
            };
        }
        let Some(repeat) = &step.repeat else {
            let answer = self.bench.peer.call(operation, &params).await?;
            return self.answered(step, answer, false);
        };
        self.repeated(step, repeat, operation, &params).await
    }

    async fn repeated(
        &mut self,
        step: &Step,
        repeat: &Repeat,
        operation: Operation,
        params: &Value,
    ) -> Result<Value, Stop> {
        let mut last = Value::Null;
        for attempt in 0..repeat.max_attempts {
            if attempt > 0 {
                sleep(pause(repeat, attempt)).await;
            }
            let answer = self.bench.peer.call(operation, params).await?;
            last = self.answered(step, answer, false)?;
            if condition::holds(&repeat.until, &last)
                .map_err(|error| Stop::error(error.to_string()))?
            {
                return Ok(last);
            }
        }
        let text = format!("`{}` does not come true; last: {last}", repeat.until);
        Err(Stop::fail(text))
    }

    async fn raw(&mut self, step: &Step, request: &RawRequest) -> Result<Value, Stop> {
        let mut request = request.clone();
        if let Some(body) = &mut request.body {
            *body = self.fill(body)?;
        }
        for value in request.headers.values_mut() {
            *value = self.fill(value)?;
        }
        request.path = self.fill_text(&request.path)?;
        request.body_raw = match &request.body_raw {
            Some(text) => Some(self.fill_text(text)?),
            None => None,
        };
        if step.expect_stream.is_some() {
            let events = self.bench.peer.open_raw(&request).await?;
            return self.recorded(step, events, false).await;
        }
        let answer = self.bench.peer.raw(&request).await?;
        self.answered(step, answer, true)
    }

    fn fill_text(&self, text: &str) -> Result<String, Stop> {
        let filled = self.fill(&Value::String(text.to_owned()))?;
        Ok(filled
            .as_str()
            .map_or_else(|| filled.to_string(), str::to_owned))
    }

    /// Checks one answer; `raw`: its body is looked at whether it tells of an error or not.
    fn answered(&mut self, step: &Step, answer: Answer, raw: bool) -> Result<Value, Stop> {
        let root = answer.root.clone();
        if let Some(expected) = &step.expect {
            self.check_head(expected, &answer)?;
        }
        if let Some(expected) = &step.expect_error {
            self.check_refusal(expected, answer.refusal.as_ref(), &root)?;
        } else {
            if let Some(refusal) = answer.refusal.as_ref().filter(|_| !raw) {
                return Err(Stop::fail(format!("refused: {refusal:?}")));
            }
            if step.expect_stream.is_some() {
                return Err(Stop::fail(format!("no stream, but {root}")));
            }
            if let Some(pattern) = step.expect.as_ref().and_then(|expect| expect.body.as_ref()) {
                matcher::check(&self.fill(pattern)?, Some(&root), "")?;
            }
        }
        self.answers.insert(step.id.clone(), answer);
        Ok(root)
    }

    fn check_head(&self, expected: &Expect, answer: &Answer) -> Result<(), Stop> {
        if let Some(pattern) = &expected.status {
            matcher::check(&self.fill(pattern)?, Some(&answer.status.into()), "status")?;
        }
        for (name, pattern) in expected.headers.iter().flatten() {
            let value = answer.headers.get(&name.to_ascii_lowercase());
            let value = value.map(|text| Value::String(text.clone()));
            let place = format!("headers.{name}");
            matcher::check(&self.fill(pattern)?, value.as_ref(), &place)?;
        }
        Ok(())
    }

    fn check_refusal(
        &self,
        expected: &ExpectError,
        refusal: Option<&Refusal>,
        root: &Value,
    ) -> Result<(), Stop> {
        let refusal = refusal.ok_or_else(|| {
            Stop::fail(format!("an error was expected, not this success: {root}"))
        })?;
        let fill = |pattern: &Option<Value>| match pattern {
            Some(pattern) => self.fill(pattern).map(Some),
            None => Ok(None),
        };
        let expected = ExpectError {
            error_type: fill(&expected.error_type)?,
            message: fill(&expected.message)?,
            data: fill(&expected.data)?,
            details: fill(&expected.details)?,
        };
        Ok(error::check(&expected, refusal)?)
    }

    /// Reads a stream to its end and checks it.
    async fn recorded(
        &mut self,
        step: &Step,
        events: Events,
        unwrapped: bool,
    ) -> Result<Value, Stop> {
        let expected = step.expect_stream.clone().unwrap_or_default();
        let head = Answer {
            status: events.status,
            headers: events.headers.clone(),
            root: Value::Null,
            refusal: None,
        };
        if let Some(expect) = &step.expect {
            self.check_head(expect, &head)?;
        }
        let limit = expected
            .timeout_ms
            .map_or(STREAM_LIMIT, Duration::from_millis);
        let recorded = record(events, limit).await?;
        let root = Value::Array(recorded.events.clone());
        self.answers.insert(
            step.id.clone(),
            Answer {
                root: root.clone(),
                ..head
            },
        );
        if let Some(expected) = &step.expect_error {
            self.check_refusal(expected, recorded.refusal.as_ref(), &root)?;
            return Ok(root);
        }
        if let Some(refusal) = &recorded.refusal {
            return Err(Stop::fail(format!(
                "the stream ends with {refusal:?} after {root}"
            )));
        }
        if !recorded.closed {
            return Err(Stop::fail(format!(
                "the stream was not closed within {limit:?}: {root}"
            )));
        }
        stream::check(&self.filled(&expected)?, &recorded.events, unwrapped)?;
        Ok(root)
    }

    fn filled(&self, expected: &ExpectStream) -> Result<ExpectStream, Stop> {
        let mut filled = expected.clone();
        for pattern in [&mut filled.final_event, &mut filled.each_event]
            .into_iter()
            .flatten()
        {
            *pattern = self.fill(pattern)?;
        }
        for event in &mut filled.events {
            for value in event.values_mut() {
                *value = self.fill(value)?;
            }
        }
        Ok(filled)
    }

    fn client(&self, client: &ClientResponse) -> Result<Value, Stop> {
        let parsed = client_step::parse(client)
            .map_err(|error| Stop::fail(format!("the client cannot read it: {error}")))?;
        matcher::check(&self.fill(&client.expect_parsed)?, Some(&parsed), "")?;
        Ok(parsed)
    }

    async fn webhook(&self, expected: &ExpectWebhook) -> Result<Value, Stop> {
        let limit = expected
            .timeout_ms
            .map_or(WEBHOOK_LIMIT, Duration::from_millis);
        let receiver = self.bench.receiver;
        let last = match &expected.final_event {
            Some(pattern) => Some(self.fill(pattern)?),
            None => None,
        };
        let ends = |body: &Value| {
            let pattern = last.as_ref();
            pattern.is_none_or(|it| matcher::check(it, Some(&stream::view(body)), "").is_ok())
        };
        let arrived = receiver
            .wait(&self.inbox, limit, |all| {
                all.len() >= expected.min_count && all.last().is_some_and(|it| ends(&it.body))
            })
            .await;
        if arrived.len() < expected.min_count {
            return Err(Stop::fail(format!(
                "only {} push notifications",
                arrived.len()
            )));
        }
        let token = expected
            .token
            .iter()
            .map(|it| ("X-A2A-Notification-Token", it));
        let headers = expected.headers.iter().flatten();
        let wanted: Vec<_> = headers
            .map(|(name, it)| (name.as_str(), it))
            .chain(token)
            .collect();
        for delivery in &arrived {
            if let Some(pattern) = &expected.each_event {
                matcher::check(
                    &self.fill(pattern)?,
                    Some(&stream::view(&delivery.body)),
                    "webhook",
                )?;
            }
            for (name, pattern) in &wanted {
                let value = delivery.headers.get(&name.to_ascii_lowercase());
                let value = value.map(|text| Value::String(text.clone()));
                matcher::check(&self.fill(pattern)?, value.as_ref(), name)?;
            }
        }
        if !arrived.last().is_some_and(|it| ends(&it.body)) {
            return Err(Stop::fail(
                "the last push notification is not the expected one",
            ));
        }
        Ok(arrived.into_iter().map(|it| it.body).collect())
    }
}

/// Reads events until the agent closes the stream, an error ends it, or the time is up.
pub(super) async fn record(mut stream: Events, limit: Duration) -> Result<Recorded, Stop> {
    let deadline = Instant::now() + limit;
    let mut recorded = Recorded {
        events: Vec::new(),
        refusal: None,
        closed: false,
    };
    while let Ok(next) = timeout_at(deadline, stream.next()).await {
        match next? {
            Some(Item::Event(event)) => recorded.events.push(event),
            Some(Item::Refused(refusal)) => {
                recorded.refusal = Some(refusal);
                break;
            }
            None => {
                recorded.closed = true;
                break;
            }
        }
    }
    Ok(recorded)
}

fn pause(repeat: &Repeat, attempt: u32) -> Duration {
    let factor = match repeat.backoff {
        Backoff::None => 1,
        Backoff::Linear => attempt,
        Backoff::Exponential => 1 << (attempt - 1).min(10),
    };
    Duration::from_millis(repeat.delay_ms) * factor
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn pauses_grow_as_told() {
        let pauses = |backoff: &str| {
            let form = json!({"until": "a == 1", "delay_ms": 10, "backoff": backoff});
            let repeat: Repeat = serde_json::from_value(form).unwrap();
            [1, 2, 3].map(|attempt| pause(&repeat, attempt).as_millis())
        };
        assert_eq!(pauses("none"), [10, 10, 10]);
        assert_eq!(pauses("linear"), [10, 20, 30]);
        assert_eq!(pauses("exponential"), [10, 20, 40]);
    }
}
