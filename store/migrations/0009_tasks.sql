-- Work that clients leave to a server. Each attempt is a run, which waits in the queue
-- with the kind task until it is due.

ALTER TABLE runs ADD COLUMN task TEXT NOT NULL DEFAULT ''; -- the task whose attempt it is

CREATE INDEX runs_task ON runs (tenant, task, id) WHERE task <> '';

CREATE TABLE tasks (
  tenant   TEXT   NOT NULL,
  id       TEXT   NOT NULL,
  state    TEXT   NOT NULL, -- queued, running, review, accepted, rejected, failed, cancelled
  actor    TEXT   NOT NULL,
  token    TEXT   NOT NULL, -- id of the token that asked for it
  name     TEXT   NOT NULL, -- unique among the tasks that have not ended; may be empty
  priority BIGINT NOT NULL,
  plan     BLOB   NOT NULL, -- when it is tried again, and when it runs again
  run      TEXT   NOT NULL, -- its present or last attempt
  attempt  BIGINT NOT NULL, -- of the present occurrence, from 1
  times    BIGINT NOT NULL, -- occurrences that have ended
  status   TEXT   NOT NULL, -- of the last attempt that has ended
  code     TEXT   NOT NULL, -- of its error
  due      BIGINT NOT NULL, -- of the present attempt
  created  BIGINT NOT NULL,
  updated  BIGINT NOT NULL,
  ended    BIGINT NOT NULL, -- 0: not yet
  PRIMARY KEY (tenant, id),
  FOREIGN KEY (tenant, run) REFERENCES runs (tenant, id) ON DELETE CASCADE
);

CREATE UNIQUE INDEX tasks_name ON tasks (tenant, name) WHERE name <> '' AND ended = 0;
CREATE INDEX tasks_state ON tasks (tenant, state, id);
CREATE INDEX tasks_run ON tasks (tenant, run);
