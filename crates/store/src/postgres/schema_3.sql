-- The HTTP status that the last failed try was answered with.
ALTER TABLE push_configs ADD COLUMN last_status integer;
-- JSON of the deliveries that were given up; NULL: none was.
ALTER TABLE push_configs ADD COLUMN given_up bytea;
-- Some of them are to be sent again.
ALTER TABLE push_configs ADD COLUMN replaying boolean NOT NULL DEFAULT false;
