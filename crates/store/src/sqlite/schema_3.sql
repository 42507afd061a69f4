-- What an agent's backend calls a conversation, so that it goes on there after a restart.
CREATE TABLE sessions (
    agent TEXT NOT NULL,
    owner TEXT NOT NULL,
    context_id TEXT NOT NULL,
    name TEXT NOT NULL,
    kept_millis INTEGER NOT NULL,
    PRIMARY KEY (agent, owner, context_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX sessions_by_age ON sessions (kept_millis);
