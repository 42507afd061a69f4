//! What is posted for one version of a task, in the shape of the dialect the webhook was registered
//! in: 1.0 gets the event, older ones the whole task as it stood then (specification 4.3.3).

use nuncio_store::{Include, PushConfig, Store, StoreError, Visibility};
use nuncio_wire::dialects::{Dialect, hermes_fleet};
use nuncio_wire::{StreamResponse, Task, TaskState, TaskStatus};

use nuncio_wire::sorted_json as canonical;

/// Events that are read at once while an older task is put together.
const BATCH: usize = 16;
/// The version of a task that was just made; there is no event for it.
const CREATION: u64 = 1;

/// A task put together from its events, so that the next one need not begin anew.
pub(super) struct Folded {
    task: Task,
    version: u64,
}

/// What there is to send.
pub(super) enum Payload {
    /// This body, and whether it tells of the task's end.
    Body(Vec<u8>, bool),
    /// The task has no such version yet.
    Nothing,
    /// The task is no more.
    Gone,
}

/// What `config` is to be sent for this version of its task. `folded` is kept between calls.
pub(super) async fn build(
    store: &dyn Store,
    config: &PushConfig,
    version: u64,
    folded: &mut Option<Folded>,
) -> Result<Payload, StoreError> {
    match config.dialect {
        Dialect::V1 | Dialect::V1Slash if version > CREATION => {
            let events = store.events(&config.task, version - 1, 1).await?;
            let event = events.first();
            Ok(event.map_or(Payload::Nothing, |event| {
                let last = event.state.is_some_and(TaskState::is_terminal);
                Payload::Body(canonical(&event.payload), last)
            }))
        }
        Dialect::V1 | Dialect::V1Slash => {
            let Some(folded) = begin(store, config).await? else {
                return Ok(Payload::Gone);
            };
            let mut json = Vec::new();
            config
                .dialect
                .write_event(&StreamResponse::Task(folded.task), false, &mut json);
            Ok(Payload::Body(canonical(&json), false))
        }
        Dialect::Fleet => build_fleet(store, config, version, folded).await,
        Dialect::V0_3 | Dialect::Legacy => {
            if folded.as_ref().is_none_or(|f| f.version > version) {
                *folded = begin(store, config).await?;
            }
            let Some(folded) = folded else {
                return Ok(Payload::Gone);
            };
            if !advance(store, &config.task, folded, version).await? {
                return Ok(Payload::Nothing);
            }
            let mut json = Vec::new();
            config.dialect.write_task(&folded.task, &mut json);
            let last = folded.task.status.state.is_terminal();
            Ok(Payload::Body(canonical(&json), last))
        }
    }
}

/// The fleet's events name tasks as their callers do.
async fn build_fleet(
    store: &dyn Store,
    config: &PushConfig,
    version: u64,
    folded: &mut Option<Folded>,
) -> Result<Payload, StoreError> {
    if folded.is_none() {
        *folded = begin(store, config).await?;
    }
    let Some(Folded { task, .. }) = folded else {
        return Ok(Payload::Gone);
    };
    let mut event = if version > CREATION {
        let events = store.events(&config.task, version - 1, 1).await?;
        let Some(stored) = events.first() else {
            return Ok(Payload::Nothing);
        };
        let read = serde_json::from_slice(&stored.payload);
        read.map_err(|error| StoreError::Damaged(error.to_string()))?
    } else {
        StreamResponse::Task(task.clone())
    };
    let mut last = false;
    match &mut event {
        StreamResponse::StatusUpdate(update) => {
            update.task_id.clone_from(&task.id);
            last = update.status.state.is_terminal();
        }
        StreamResponse::ArtifactUpdate(update) => update.task_id.clone_from(&task.id),
        StreamResponse::Task(_) | StreamResponse::Message(_) => {}
    }
    let mut json = Vec::new();
    hermes_fleet::write_notification(&event, &mut json);
    Ok(Payload::Body(canonical(&json), last))
}

/// The task as it was made.
async fn begin(store: &dyn Store, config: &PushConfig) -> Result<Option<Folded>, StoreError> {
    let include = Include {
        history: None,
        artifacts: false,
    };
    let record = store
        .task(&config.task, &Visibility::default(), include)
        .await?;
    let Some(record) = record else {
        return Ok(None);
    };
    let mut task = record.to_task()?;
    task.status = first_status(config)?;
    if let Some(alias) = record.alias.filter(|_| config.dialect == Dialect::Fleet) {
        task.id = alias;
    }
    // What was said later belongs to later versions, but only 1.0 can say so.
    if matches!(config.dialect, Dialect::V1 | Dialect::V1Slash) {
        task.history.truncate(1);
    }
    Ok(Some(Folded {
        task,
        version: CREATION,
    }))
}

/// The status that the task was made with. Where the webhook came later, no event before its own is
/// sent, and what an event does not say is that the task is WORKING: only then there are artifacts.
fn first_status(config: &PushConfig) -> Result<TaskStatus, StoreError> {
    match &config.first_status {
        Some(json) => {
            serde_json::from_slice(json).map_err(|error| StoreError::Damaged(error.to_string()))
        }
        None => Ok(TaskStatus {
            state: TaskState::Working,
            message: None,
            timestamp: None,
        }),
    }
}

/// Takes events in up to `version`; false if there is no such version yet.
async fn advance(
    store: &dyn Store,
    task: &str,
    folded: &mut Folded,
    version: u64,
) -> Result<bool, StoreError> {
    while folded.version < version {
        let wanted = usize::try_from(version - folded.version).unwrap_or(BATCH);
        let events = store
            .events(task, folded.version, wanted.min(BATCH))
            .await?;
        if events.is_empty() {
            return Ok(false);
        }
        for event in events {
            folded.version = event.version;
            match serde_json::from_slice(&event.payload) {
                Ok(StreamResponse::StatusUpdate(update)) => folded.task.status = update.status,
                Ok(StreamResponse::ArtifactUpdate(update)) => {
                    folded.task.take_artifact(update.artifact, update.append);
                }
                Ok(StreamResponse::Task(_) | StreamResponse::Message(_)) | Err(_) => {
                    let text = format!("event {} of task {task} cannot be read", event.version);
                    return Err(StoreError::Damaged(text));
                }
            }
        }
    }
    Ok(true)
}
