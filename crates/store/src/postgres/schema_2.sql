-- What an agent's backend calls a conversation, so that it goes on there after a restart. Named by a
-- hash of agent, owner and context, whose length strangers choose.
CREATE TABLE sessions (
    context_hash bytea PRIMARY KEY,
    name text COLLATE "C" NOT NULL,
    kept_millis bigint NOT NULL
);
CREATE INDEX sessions_by_age ON sessions (kept_millis);
