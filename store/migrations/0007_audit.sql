-- Closed segments of audit logs, sealed. A chain is the log of one folder; its
-- segments are counted, so that one that is removed is missed.

CREATE TABLE audit_chains (
  tenant TEXT   NOT NULL,
  id     TEXT   NOT NULL,
  sealed BIGINT NOT NULL, -- how many segments were added
  mac    TEXT   NOT NULL, -- of that number, with a key of the servers
  PRIMARY KEY (tenant, id)
);

CREATE TABLE audit_segments (
  tenant  TEXT   NOT NULL,
  chain   TEXT   NOT NULL,
  seq     BIGINT NOT NULL, -- from 1; part of what the content is sealed for
  name    TEXT   NOT NULL, -- of the file in the folder
  content TEXT   NOT NULL, -- id of its parts
  bytes   BIGINT NOT NULL, -- of the sealed content
  created BIGINT NOT NULL,
  wrapped BLOB   NOT NULL, -- key of the content
  PRIMARY KEY (tenant, chain, seq)
);

CREATE TABLE audit_parts (
  content TEXT   NOT NULL,
  part    BIGINT NOT NULL, -- from 0
  created BIGINT NOT NULL,
  data    BLOB   NOT NULL,
  PRIMARY KEY (content, part)
);
