-- How the deliveries of each push configuration go.
ALTER TABLE push_configs ADD COLUMN revision INTEGER NOT NULL DEFAULT 1;
ALTER TABLE push_configs ADD COLUMN attempts INTEGER NOT NULL DEFAULT 0;
ALTER TABLE push_configs ADD COLUMN next_try_millis INTEGER NOT NULL DEFAULT 0;
ALTER TABLE push_configs ADD COLUMN failing_since_millis INTEGER;
-- Of one that came with its task: the status that the task was made with.
ALTER TABLE push_configs ADD COLUMN first_status BLOB;
-- Switched off: gets nothing more.
ALTER TABLE push_configs ADD COLUMN off INTEGER NOT NULL DEFAULT 0;
-- Has had the last event of its task, or is off: no longer counts for its owner.
ALTER TABLE push_configs ADD COLUMN done INTEGER NOT NULL DEFAULT 0;
CREATE INDEX push_configs_open ON push_configs (owner) WHERE done = 0;
