//! `nuncio worker run`: an agent started for one piece of work, here or on the gateway of a peer.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, Subcommand};
use nuncio_client::Client;
use nuncio_wire::bindings::jsonrpc::{self, RequestId};
use nuncio_wire::dialects::Dialect;
use nuncio_wire::operation::{
    CancelTaskRequest, GetTaskRequest, SendMessageRequest, SendMessageResponse,
};
use nuncio_wire::{Message, Metadata, Part, Request, Response, Role, Task, TaskState};
use serde_json::{Value, json};

use crate::agent::connect;
use crate::client_settings::{AgentOptions, OutputOptions, agent_settings};
use crate::commands::session::Session;
use crate::control;
use crate::exit_code::ExitCode;
use crate::load_config::{home, process_env};
use crate::output::{CliError, Fields};

/// Pause between two looks at the work.
const LOOK_AGAIN_AFTER: Duration = Duration::from_millis(250);
/// How long one question to a gateway may take.
const CALL_LIMIT: Duration = Duration::from_secs(60);
/// How long the work may take unless said otherwise, in seconds.
const DEFAULT_TIMEOUT_SECONDS: u64 = 300;

/// What to do with workers.
#[derive(Debug, Subcommand)]
pub(crate) enum WorkerCommand {
    Run(Box<RunArgs>),
}

/// Start an agent for one piece of work, with a session and a directory of its own.
///
/// The work is a task like any other; Ctrl-C and the time limit cancel it. When it ends its directory
/// is removed, and its session where the agent can forget one. Without --remote the agent is one of the
/// running gateway's.
#[derive(Debug, Args)]
pub(crate) struct RunArgs {
    /// The agent's name; with --remote a URL, a host, or a known peer.
    #[arg(value_name = "AGENT")]
    name: String,
    /// What is to be done.
    #[arg(value_name = "MESSAGE")]
    message: String,
    /// Run it on the agent's own gateway, which must let you.
    #[arg(long)]
    remote: bool,
    /// How long the work may take, in seconds; then it is cancelled.
    #[arg(long, value_name = "SECONDS", default_value_t = DEFAULT_TIMEOUT_SECONDS)]
    timeout: u64,
    /// Data directory of the gateway. Else NUNCIO_HOME, ~/.local/share/nuncio.
    #[arg(long, value_name = "DIRECTORY")]
    home: Option<PathBuf>,
    #[command(flatten)]
    agent: AgentOptions,
    #[command(flatten)]
    output: OutputOptions,
}

/// Runs the command.
pub(crate) async fn run(command: WorkerCommand) -> ExitCode {
    let WorkerCommand::Run(args) = command;
    let session = match Session::begin(&args.output) {
        Ok(session) => session,
        Err(code) => return code,
    };
    let result = work(&session, &args).await;
    session.end(result)
}

async fn work(session: &Session, args: &RunArgs) -> Result<(), CliError> {
    let door = Door::open(session, args).await?;
    let request = request(args)?;
    let task = door.send(request.clone()).await?;
    let limit = Duration::from_secs(args.timeout);
    let task = tokio::select! {
        ended = tokio::time::timeout(limit, door.end_of(task.clone())) => match ended {
            Ok(ended) => ended?,
            Err(_) => {
                door.cancel(&task.id).await;
                let text = format!("the work took longer than {} s and was cancelled", args.timeout);
                return Err(CliError::timeout(text));
            }
        },
        _ = tokio::signal::ctrl_c() => {
            door.cancel(&task.id).await;
            return Err(CliError::interrupted("the work was cancelled"));
        }
    };
    show(session, args, &task, &request);
    Ok(())
}

/// Where the work is done.
enum Door {
    /// By the gateway with this data directory.
    Local { home: PathBuf, path: String },
    /// By the gateway behind this client.
    Remote(Box<Client>),
}

impl Door {
    async fn open(session: &Session, args: &RunArgs) -> Result<Self, CliError> {
        if !args.remote {
            let home = home::data_dir(args.home.as_deref(), &process_env)
                .map_err(|errors| CliError::internal(errors.to_string()))?;
            let path = format!("/agents/{}", args.name);
            return Ok(Self::Local { home, path });
        }
        let mut options = args.agent.clone();
        options.agent_card = Some(args.name.clone());
        let settings = agent_settings(&options, &session.layers)?;
        Ok(Self::Remote(Box::new(connect(&settings).await?)))
    }

    async fn call(&self, request: Request) -> Result<Response, CliError> {
        let (home, path) = match self {
            Self::Remote(client) => return client.call(request).await.map_err(CliError::from),
            Self::Local { home, path } => (home, path),
        };
        let method = request.method();
        let (mut params, mut body) = (Vec::new(), Vec::new());
        Dialect::V1.write_params(&request, &mut params);
        jsonrpc::write_call(&RequestId::number(1), method.name(), &params, &mut body);
        let answer: Value = control::post_json(home, path, body, CALL_LIMIT)
            .await
            .map_err(|error| CliError::internal(error.into_text()))?;
        if let Some(error) = answer.get("error") {
            let text = error["message"].as_str().unwrap_or("the gateway refused");
            return Err(CliError::internal(text));
        }
        Dialect::V1
            .read_response(method, &answer["result"].to_string())
            .map_err(|error| CliError::internal(error.message.into_owned()))
    }

    async fn send(&self, request: SendMessageRequest) -> Result<Task, CliError> {
        match self.call(Request::SendMessage(request)).await? {
            Response::SendMessage(SendMessageResponse::Task(task)) => Ok(task),
            Response::SendMessage(SendMessageResponse::Message(message)) => Ok(told(message)),
            _ => Err(CliError::internal("the answer is of another call")),
        }
    }

    /// Looks at the task until it is over or asks.
    async fn end_of(&self, mut task: Task) -> Result<Task, CliError> {
        while !task.status.state.is_terminal() && !task.status.state.is_interrupted() {
            tokio::time::sleep(LOOK_AGAIN_AFTER).await;
            let request = GetTaskRequest {
                tenant: None,
                id: task.id,
                history_length: None,
            };
            task = match self.call(Request::GetTask(request)).await? {
                Response::Task(task) => task,
                _ => return Err(CliError::internal("the answer is of another call")),
            };
        }
        Ok(task)
    }

    async fn cancel(&self, task: &str) {
        let request = CancelTaskRequest {
            tenant: None,
            id: task.to_owned(),
            metadata: None,
        };
        // A task that ended meanwhile needs no cancel.
        drop(self.call(Request::CancelTask(request)).await);
    }
}

/// A direct answer as the finished task it stands for.
fn told(message: Message) -> Task {
    Task {
        id: message.task_id.clone().unwrap_or_default(),
        context_id: message.context_id.clone().unwrap_or_default(),
        status: nuncio_wire::TaskStatus {
            state: TaskState::Completed,
            message: Some(message),
            timestamp: None,
        },
        artifacts: None,
        history: Vec::new(),
        metadata: None,
    }
}

/// How the fleet plugin asks for workers, which is how everybody does.
fn request(args: &RunArgs) -> Result<SendMessageRequest, CliError> {
    let id = nuncio_client::new_message_id();
    let message = Message::new(id, Role::User, vec![Part::text(&*args.message)]);
    let mut request = SendMessageRequest::new(message);
    request.configuration.return_immediately = true;
    let mut metadata = json!({ "hermes": hermes(args) });
    if args.remote {
        metadata["worker_at"] = "target".into();
    }
    let metadata = Metadata::parse(metadata.to_string());
    request.metadata = Some(metadata.map_err(|error| CliError::internal(error.to_string()))?);
    Ok(request)
}

fn hermes(args: &RunArgs) -> Value {
    let (execution, isolation) = match args.remote {
        true => ("remote_subprocess", "target_profile"),
        false => ("local_subprocess", "local_profile"),
    };
    json!({ "version": "1", "route": "worker", "execution": execution, "isolation": isolation })
}

fn show(session: &Session, args: &RunArgs, task: &Task, request: &SendMessageRequest) {
    let artifacts = task.artifacts.iter().flatten();
    let texts = artifacts
        .flat_map(|it| &it.parts)
        .chain(task.status.message.iter().flat_map(|it| &it.parts));
    let texts: Vec<&str> = texts.filter_map(Part::as_text).collect();
    let response = texts.join("\n");
    let state = task.status.state.to_string();
    let (prefix, mode) = if args.remote {
        ("ephemeral", "3")
    } else {
        ("ephemeral-local", "2")
    };
    let result = json!({
        "task_id": task.id,
        "state": state.trim_start_matches("TASK_STATE_").to_lowercase(),
        "response": response,
        "source": format!("{prefix}:{}", args.name),
        "mode": mode,
        "hermes": hermes(args),
        "a2a_envelope": request,
        "raw_result": task,
    });
    session.output.result(&result, || {
        let mut fields = Fields::default();
        fields.field("Task ID", &task.id).field("State", &state);
        fields.block("Text", &response);
        fields.finish()
    });
}
