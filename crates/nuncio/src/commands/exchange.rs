//! One message to an agent and what comes of it: by a stream where there is one, else by asking, until
//! the task is at its end or waits for somebody.

use nuncio_client::{
    Client, ClientError, EventStream, Follow, Pace, Progress, StreamEvent, TaskView,
};
use nuncio_wire::operation::SendMessageRequest;
use nuncio_wire::{ErrorKind, Request, Response, StreamResponse};

use crate::agent::credential_hint;
use crate::output::{self, CliError};

/// Sees every step in order.
pub(crate) type Observer<'a> = dyn FnMut(Progress<'_>, &TaskView) + Send + 'a;

/// One message on its way.
pub(crate) struct Exchange<'a> {
    pub(crate) client: &'a Client,
    pub(crate) request: &'a SendMessageRequest,
    /// How often the task is asked for, where it has to be.
    pub(crate) pace: Pace,
    /// Whether a stream was asked for, so that the want of one is told and its errors count.
    pub(crate) wants_stream: bool,
}

impl Exchange<'_> {
    /// Sends the message and waits for the end.
    ///
    /// # Errors
    /// The agent's refusal, or why the task cannot be seen any more; `view` keeps what was known.
    pub(crate) async fn run(
        &self,
        view: &mut TaskView,
        observe: &mut Observer<'_>,
    ) -> Result<(), CliError> {
        let stream = self.open_stream().await?;
        if stream.is_none() {
            self.ask(view, observe).await?;
        }
        let follow = Follow {
            client: self.client,
            pace: self.pace,
            stream_errors_end: self.wants_stream,
            observe,
        };
        let followed = follow.run(view, stream).await;
        followed.map_err(|error| with_card(error, self.client))
    }

    /// Sends the message without a stream.
    ///
    /// # Errors
    /// The agent's refusal, or why there is no answer.
    pub(crate) async fn ask(
        &self,
        view: &mut TaskView,
        observe: &mut Observer<'_>,
    ) -> Result<(), CliError> {
        let request = Request::SendMessage(self.request.clone());
        let answer = self.client.call(request).await;
        let Response::SendMessage(answer) =
            answer.map_err(|error| with_card(error, self.client))?
        else {
            return Err(CliError::internal("the answer is of another call"));
        };
        *view = TaskView::of_answer(answer);
        if let Some(event) = as_event(view) {
            observe(Progress::Event(&event), view);
        }
        Ok(())
    }

    /// The stream of the send, if the agent has streams. What it refuses for want of them runs nothing,
    /// so that the same message can be sent the plain way.
    async fn open_stream(&self) -> Result<Option<EventStream>, CliError> {
        if self.request.configuration.return_immediately {
            return Ok(None);
        }
        if !self.client.can_stream() {
            if self.wants_stream {
                output::warn("the agent does not stream: waiting for the result instead");
            }
            return Ok(None);
        }
        let request = Request::SendStreamingMessage(self.request.clone());
        match self.client.stream(request).await {
            Ok(stream) => Ok(Some(stream)),
            Err(error) if !self.wants_stream && lacks_streams(&error) => Ok(None),
            Err(error) => Err(with_card(error, self.client)),
        }
    }
}

fn lacks_streams(error: &ClientError) -> bool {
    error.is_protocol(ErrorKind::UnsupportedOperation)
        || error.is_protocol(ErrorKind::MethodNotFound)
}

fn as_event(view: &TaskView) -> Option<StreamEvent> {
    let task = view.task().cloned().map(StreamResponse::Task);
    let event = task.or_else(|| view.message().cloned().map(StreamResponse::Message))?;
    Some(StreamEvent {
        id: None,
        event,
        last: false,
    })
}

/// A refused credential gets the flag that the agent's card wants.
pub(crate) fn with_card(error: ClientError, client: &Client) -> CliError {
    let error = CliError::from(error);
    if error.is_about_credentials() {
        return error.or_hint(|| credential_hint(client.card()));
    }
    error
}
