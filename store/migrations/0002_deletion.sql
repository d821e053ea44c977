-- What is sealed has a key, which the seal key of the servers wraps. Digests of
-- values are HMACs with a key of this table, so they tell nothing without the seal key.

CREATE TABLE keys (
  name    TEXT NOT NULL PRIMARY KEY,
  wrapped BLOB NOT NULL
);

CREATE TABLE vaults ( -- the values of the tokens of runs
  tenant  TEXT NOT NULL,
  run     TEXT NOT NULL,
  wrapped BLOB NOT NULL,
  sealed  BLOB NOT NULL,
  PRIMARY KEY (tenant, run),
  FOREIGN KEY (tenant, run) REFERENCES runs (tenant, id) ON DELETE CASCADE
);

CREATE TABLE subjects ( -- which runs have a value in their vaults
  tenant TEXT NOT NULL,
  digest TEXT NOT NULL, -- of kind and value
  run    TEXT NOT NULL,
  PRIMARY KEY (tenant, digest, run),
  FOREIGN KEY (tenant, run) REFERENCES runs (tenant, id) ON DELETE CASCADE
);

CREATE INDEX subjects_run ON subjects (tenant, run);

CREATE TABLE details ( -- what the audit keeps of runs outside the chain
  tenant  TEXT   NOT NULL,
  run     TEXT   NOT NULL,
  number  BIGINT NOT NULL,
  wrapped BLOB   NOT NULL,
  sealed  BLOB   NOT NULL,
  PRIMARY KEY (tenant, run, number),
  FOREIGN KEY (tenant, run) REFERENCES runs (tenant, id) ON DELETE CASCADE
);

CREATE TABLE deletions ( -- what was deleted, to be applied to a restored backup
  id      TEXT   NOT NULL PRIMARY KEY,
  tenant  TEXT   NOT NULL,
  at      BIGINT NOT NULL, -- applies to what was accepted until then
  applied BIGINT NOT NULL, -- 0: not yet; else when
  wrapped BLOB   NOT NULL,
  sealed  BLOB   NOT NULL
);
