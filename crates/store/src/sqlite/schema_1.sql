-- One row per task. `row` is used inside, `id` outside.
CREATE TABLE tasks (
    row INTEGER PRIMARY KEY,
    id TEXT NOT NULL UNIQUE,
    agent TEXT NOT NULL,
    owner TEXT NOT NULL,
    context_id TEXT NOT NULL,
    dialect TEXT NOT NULL,
    alias TEXT,
    -- Number of the state in the protocol's enum.
    state INTEGER NOT NULL,
    version INTEGER NOT NULL,
    lease_epoch INTEGER NOT NULL,
    status_millis INTEGER NOT NULL,
    -- What makes a repeat of the send recognisable; NULL once the task is finished.
    open_send BLOB,
    -- How many messages and artifact events there are.
    messages INTEGER NOT NULL,
    artifacts INTEGER NOT NULL,
    status BLOB NOT NULL,
    metadata BLOB
) STRICT;

-- Pages of a caller's list, without touching the rows.
CREATE INDEX tasks_by_status ON tasks (agent, owner, status_millis DESC, id DESC, state);
CREATE INDEX tasks_by_context ON tasks (context_id, agent, owner);
CREATE INDEX tasks_by_alias ON tasks (alias) WHERE alias IS NOT NULL;
-- Few rows: the unfinished tasks.
CREATE INDEX tasks_open ON tasks (open_send) WHERE open_send IS NOT NULL;
-- For retention: the finished tasks in the order they finished.
CREATE INDEX tasks_finished ON tasks (status_millis) WHERE open_send IS NULL;

-- The caller's messages, from 1.
CREATE TABLE messages (
    task INTEGER NOT NULL REFERENCES tasks (row) ON DELETE CASCADE,
    number INTEGER NOT NULL,
    payload BLOB NOT NULL,
    PRIMARY KEY (task, number)
) STRICT, WITHOUT ROWID;

-- The event log. The payload is the last column, so that the others are read without it.
CREATE TABLE events (
    task INTEGER NOT NULL REFERENCES tasks (row) ON DELETE CASCADE,
    version INTEGER NOT NULL,
    -- Of a status event: the state entered.
    state INTEGER,
    -- Of an artifact event: the artifact, the version that started it, whether this adds to it,
    -- where in the payload its JSON stands, and whether a later event replaced it.
    artifact_id TEXT,
    artifact_start INTEGER,
    artifact_append INTEGER,
    artifact_from INTEGER,
    artifact_to INTEGER,
    artifact_replaced INTEGER,
    payload BLOB NOT NULL,
    PRIMARY KEY (task, version)
) STRICT, WITHOUT ROWID;

-- Who holds the backend session of a conversation. No row: nobody has yet.
CREATE TABLE contexts (
    agent TEXT NOT NULL,
    owner TEXT NOT NULL,
    context_id TEXT NOT NULL,
    lease_holder TEXT,
    lease_epoch INTEGER NOT NULL,
    lease_until INTEGER NOT NULL,
    PRIMARY KEY (agent, owner, context_id)
) STRICT, WITHOUT ROWID;

-- Keys of sends. They outlive their task: a repeat must not do the work again.
CREATE TABLE idempotency (
    agent TEXT NOT NULL,
    owner TEXT NOT NULL,
    key TEXT NOT NULL,
    task_id TEXT NOT NULL,
    payload_hash BLOB NOT NULL,
    expires_millis INTEGER NOT NULL,
    PRIMARY KEY (agent, owner, key)
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_task ON idempotency (task_id);
CREATE INDEX idempotency_by_expiry ON idempotency (expires_millis);

-- Where a task's events are pushed to, and the version up to which each place has them.
CREATE TABLE push_configs (
    row INTEGER PRIMARY KEY,
    task INTEGER NOT NULL REFERENCES tasks (row) ON DELETE CASCADE,
    id TEXT NOT NULL,
    owner TEXT NOT NULL,
    dialect TEXT NOT NULL,
    cursor_version INTEGER NOT NULL,
    config BLOB NOT NULL,
    UNIQUE (task, id)
) STRICT;

CREATE TABLE meta (
    name TEXT NOT NULL PRIMARY KEY,
    value INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
-- `clean` is 0 while a process has the file open.
INSERT INTO meta (name, value) VALUES ('epoch', 1), ('clean', 1);
