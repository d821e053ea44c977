-- Sessions. One that sleeps has an image: a sealed blob whose wrapped key is in the row.
-- One that is awake belongs to a process, which renews the row.

CREATE TABLE sessions (
  tenant     TEXT   NOT NULL,
  actor      TEXT   NOT NULL,
  name       TEXT   NOT NULL,
  language   TEXT   NOT NULL,
  generation BIGINT NOT NULL, -- of the image; awake: of the one that it woke from
  owner      TEXT   NOT NULL, -- the process in which it is awake; empty: it sleeps
  renewed    BIGINT NOT NULL, -- by the owner
  created    BIGINT NOT NULL,
  used       BIGINT NOT NULL,
  bytes      BIGINT NOT NULL, -- of the image
  blob       TEXT   NOT NULL, -- digest of the sealed image; empty: it is awake
  seal       BLOB   NOT NULL, -- wrapped key of the blob
  PRIMARY KEY (tenant, actor, name)
);

CREATE INDEX sessions_blob ON sessions (blob);
CREATE INDEX sessions_owner ON sessions (owner);
