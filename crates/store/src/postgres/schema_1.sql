-- One row per task. `row` is used inside, `id` outside. Tables refer to it without foreign keys:
-- each statement that makes or deletes a task does so with all that belongs to it, and checking
-- every row again would cost a fifth of the writing. Text sorts by its bytes, as in the other stores.
CREATE TABLE tasks (
    row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    version bigint NOT NULL,
    lease_epoch bigint NOT NULL,
    status_millis bigint NOT NULL,
    -- How many messages and artifact events there are.
    messages integer NOT NULL,
    artifacts integer NOT NULL,
    -- Number of the state in the protocol's enum.
    state smallint NOT NULL,
    id text COLLATE "C" NOT NULL UNIQUE,
    agent text COLLATE "C" NOT NULL,
    owner text COLLATE "C" NOT NULL,
    context_id text COLLATE "C" NOT NULL,
    dialect text COLLATE "C" NOT NULL,
    alias text COLLATE "C",
    -- What makes a repeat of the send recognisable; NULL once the task is finished.
    open_send bytea,
    status bytea NOT NULL,
    metadata bytea
);

-- Pages of a caller's list.
CREATE INDEX tasks_by_status ON tasks (agent, owner, status_millis DESC, id DESC, state);
-- Strangers choose these texts, and a hash takes any length of them.
CREATE INDEX tasks_by_context ON tasks USING hash (context_id);
CREATE INDEX tasks_by_alias ON tasks USING hash (alias) WHERE alias IS NOT NULL;
-- Few rows: the unfinished tasks.
CREATE INDEX tasks_open ON tasks (open_send) WHERE open_send IS NOT NULL;
-- For retention: the finished tasks in the order they finished.
CREATE INDEX tasks_finished ON tasks (status_millis, row) WHERE open_send IS NULL;

-- The caller's messages, from 1.
CREATE TABLE messages (
    task bigint NOT NULL,
    number integer NOT NULL,
    payload bytea NOT NULL,
    PRIMARY KEY (task, number)
);

-- The event log. Rows are never changed: which chunks of an artifact still count is found when
-- they are read.
CREATE TABLE events (
    task bigint NOT NULL,
    version bigint NOT NULL,
    -- Of a status event: the state entered.
    state smallint,
    -- Of an artifact event: whether it adds to the artifact, where in the payload its JSON stands,
    -- and which artifact it is.
    artifact_append boolean,
    artifact_from integer,
    artifact_to integer,
    artifact_id text COLLATE "C",
    payload bytea NOT NULL,
    PRIMARY KEY (task, version)
);

-- Who holds the backend session of a conversation. No row: nobody has yet. Named by a hash of
-- agent, owner and context, whose length strangers choose.
CREATE TABLE contexts (
    context_hash bytea PRIMARY KEY,
    lease_holder text COLLATE "C",
    lease_epoch bigint NOT NULL,
    lease_until timestamptz NOT NULL
);

-- Keys of sends, by a hash of agent, owner and key. They outlive their task: a repeat must not do
-- the work again.
CREATE TABLE idempotency (
    key_hash bytea PRIMARY KEY,
    task_id text COLLATE "C" NOT NULL,
    payload_hash bytea NOT NULL,
    expires_millis bigint NOT NULL
);
CREATE INDEX idempotency_by_task ON idempotency (task_id);
CREATE INDEX idempotency_by_expiry ON idempotency (expires_millis);

-- Where a task's events are pushed to, and how far each place has them. A task has few, so ids,
-- whose length strangers choose, are not indexed.
CREATE TABLE push_configs (
    row bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    task bigint NOT NULL,
    revision bigint NOT NULL DEFAULT 1,
    cursor_version bigint NOT NULL,
    attempts bigint NOT NULL DEFAULT 0,
    next_try_millis bigint NOT NULL DEFAULT 0,
    failing_since_millis bigint,
    -- Switched off: gets nothing more.
    off boolean NOT NULL DEFAULT false,
    -- Has had the last event of its task, or is off: no longer counts for its owner.
    done boolean NOT NULL DEFAULT false,
    id text COLLATE "C" NOT NULL,
    owner text COLLATE "C" NOT NULL,
    dialect text COLLATE "C" NOT NULL,
    config bytea NOT NULL,
    -- Of one that came with its task: the status that the task was made with.
    first_status bytea
);
CREATE INDEX push_configs_by_task ON push_configs (task);
CREATE INDEX push_configs_open ON push_configs (owner) WHERE NOT done;

-- One row. `clean` is false while a gateway uses the database.
CREATE TABLE meta (
    epoch bigint NOT NULL,
    clean boolean NOT NULL
);
INSERT INTO meta (epoch, clean) VALUES (1, true);
