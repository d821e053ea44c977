-- Texts that a program or a client can choose are BLOBs where they may hold any
-- byte: PostgreSQL's TEXT holds no NUL. Times are microseconds since 1970, UTC.

CREATE TABLE runs (
  tenant   TEXT   NOT NULL,
  id       TEXT   NOT NULL,
  state    TEXT   NOT NULL, -- queued, running, waiting, parked, done
  status   TEXT   NOT NULL, -- of the result; empty until there is one
  code     TEXT   NOT NULL, -- of the error; may be empty
  actor    TEXT   NOT NULL,
  token    TEXT   NOT NULL, -- id of the token that asked for it
  language TEXT   NOT NULL,
  skill    TEXT   NOT NULL,
  session  TEXT   NOT NULL,
  intent   TEXT   NOT NULL,
  words    TEXT   NOT NULL, -- lower case text that searches see
  request  BLOB   NOT NULL, -- what starts the run
  result   BLOB   NOT NULL, -- empty until there is one
  summary  BLOB   NOT NULL, -- of the result, as lists show it
  created  BIGINT NOT NULL,
  started  BIGINT NOT NULL, -- 0: not yet
  ended    BIGINT NOT NULL, -- 0: not yet
  events   BIGINT NOT NULL, -- number of the last event
  PRIMARY KEY (tenant, id)
);

CREATE INDEX runs_state ON runs (tenant, state, id);
CREATE INDEX runs_status ON runs (tenant, status, id);
CREATE INDEX runs_actor ON runs (tenant, actor, id);
CREATE INDEX runs_created ON runs (tenant, created);
CREATE INDEX runs_ended ON runs (state, ended);

CREATE TABLE events (
  tenant TEXT   NOT NULL,
  run    TEXT   NOT NULL,
  number BIGINT NOT NULL,
  at     BIGINT NOT NULL,
  type   TEXT   NOT NULL,
  data   BLOB   NOT NULL,
  PRIMARY KEY (tenant, run, number),
  FOREIGN KEY (tenant, run) REFERENCES runs (tenant, id) ON DELETE CASCADE
);

CREATE TABLE uses ( -- what runs used, for usage and filters
  tenant TEXT   NOT NULL,
  run    TEXT   NOT NULL,
  kind   TEXT   NOT NULL, -- run, tool, skill, model
  name   TEXT   NOT NULL,
  actor  TEXT   NOT NULL,
  at     BIGINT NOT NULL,
  count  BIGINT NOT NULL,
  failed BIGINT NOT NULL,
  fuel   BIGINT NOT NULL,
  tokens BIGINT NOT NULL,
  money  BIGINT NOT NULL, -- millionths of the currency
  micros BIGINT NOT NULL,
  PRIMARY KEY (tenant, run, kind, name)
);

CREATE INDEX uses_at ON uses (tenant, at);

CREATE TABLE idempotency (
  tenant  TEXT   NOT NULL,
  token   TEXT   NOT NULL,
  name    TEXT   NOT NULL,
  run     TEXT   NOT NULL,
  digest  TEXT   NOT NULL, -- of the request
  created BIGINT NOT NULL,
  PRIMARY KEY (tenant, token, name)
);

CREATE INDEX idempotency_run ON idempotency (tenant, run);

CREATE TABLE queue (
  tenant    TEXT   NOT NULL,
  id        TEXT   NOT NULL,
  kind      TEXT   NOT NULL, -- run, task
  leased    BIGINT NOT NULL, -- 0: waits, 1: somebody works on it
  priority  BIGINT NOT NULL,
  created   BIGINT NOT NULL,
  due       BIGINT NOT NULL, -- not before
  owner     TEXT   NOT NULL,
  fence     BIGINT NOT NULL, -- rises with every lease
  expires   BIGINT NOT NULL, -- of the lease
  cancelled BIGINT NOT NULL, -- 1: the holder of the lease ends the work
  PRIMARY KEY (tenant, id)
);

CREATE INDEX queue_claim ON queue (kind, leased, tenant, priority DESC, created, id);
CREATE INDEX queue_expires ON queue (leased, expires);

CREATE TABLE approvals (
  tenant   TEXT   NOT NULL,
  id       TEXT   NOT NULL,
  run      TEXT   NOT NULL,
  tool     TEXT   NOT NULL,
  digest   TEXT   NOT NULL, -- of tool, arguments and rule
  question BLOB   NOT NULL, -- what people see; holds tokens, never values
  state    TEXT   NOT NULL, -- waiting, approved, denied, expired
  asked    BIGINT NOT NULL,
  expires  BIGINT NOT NULL,
  answered BIGINT NOT NULL,
  actor    TEXT   NOT NULL, -- who answered
  via      TEXT   NOT NULL,
  reason   TEXT   NOT NULL,
  PRIMARY KEY (tenant, id)
);

CREATE INDEX approvals_state ON approvals (tenant, state, id);
CREATE INDEX approvals_run ON approvals (tenant, run);

CREATE TABLE tokens (
  hash    TEXT   NOT NULL PRIMARY KEY, -- SHA-256 of the token
  tenant  TEXT   NOT NULL,
  id      TEXT   NOT NULL UNIQUE,
  name    TEXT   NOT NULL,
  type    TEXT   NOT NULL, -- agent, person
  scopes  TEXT   NOT NULL, -- comma-separated
  tools   TEXT   NOT NULL, -- globs, comma-separated
  created BIGINT NOT NULL,
  expires BIGINT NOT NULL, -- 0: never
  used    BIGINT NOT NULL
);

CREATE INDEX tokens_tenant ON tokens (tenant, id);
