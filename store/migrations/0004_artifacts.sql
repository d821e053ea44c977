-- Artifacts: content that programs and clients keep. The content is a sealed blob,
-- and the row has its wrapped key: without the row the blob cannot be read.

CREATE TABLE artifacts (
  tenant  TEXT   NOT NULL,
  id      TEXT   NOT NULL, -- 64 hexadecimal digits
  name    TEXT   NOT NULL,
  type    TEXT   NOT NULL, -- media type
  text    BIGINT NOT NULL, -- 1: readers get tokens instead of values
  bytes   BIGINT NOT NULL,
  created BIGINT NOT NULL,
  expires BIGINT NOT NULL,
  run     TEXT   NOT NULL, -- that put it; may be empty
  token   TEXT   NOT NULL, -- id of the token that put it
  blob    TEXT   NOT NULL, -- digest of the sealed content
  seal    BLOB   NOT NULL, -- wrapped key of the blob
  pages   BLOB   NOT NULL, -- where lines are in a text
  PRIMARY KEY (tenant, id)
);

CREATE INDEX artifacts_blob ON artifacts (blob);
CREATE INDEX artifacts_run ON artifacts (tenant, run);
CREATE INDEX artifacts_expires ON artifacts (expires);
CREATE INDEX artifacts_created ON artifacts (tenant, created, id);

CREATE TABLE artifact_totals ( -- what the artifacts of a tenant take
  tenant TEXT   NOT NULL PRIMARY KEY,
  bytes  BIGINT NOT NULL
);
