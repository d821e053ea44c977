-- Runs that outlive their process. A run in the queue with leased = 2 is parked: no
-- process works on it, and it waits for work again when its expires has passed.

ALTER TABLE queue ADD COLUMN signals TEXT NOT NULL DEFAULT ''; -- parked: the names that wake it, a JSON list

CREATE TABLE journal ( -- the sealed records with which a run goes on
  tenant  TEXT   NOT NULL,
  run     TEXT   NOT NULL,
  number  BIGINT NOT NULL, -- from 0; part of what the record is sealed for
  wrapped BLOB   NOT NULL,
  sealed  BLOB   NOT NULL,
  PRIMARY KEY (tenant, run, number),
  FOREIGN KEY (tenant, run) REFERENCES runs (tenant, id) ON DELETE CASCADE
);

CREATE TABLE signals ( -- what clients sent to a run that has not ended
  tenant  TEXT   NOT NULL,
  run     TEXT   NOT NULL,
  name    TEXT   NOT NULL,
  number  BIGINT NOT NULL, -- from 0, of those with the name
  arrived BIGINT NOT NULL,
  wrapped BLOB   NOT NULL,
  sealed  BLOB   NOT NULL,
  PRIMARY KEY (tenant, run, name, number),
  FOREIGN KEY (tenant, run) REFERENCES runs (tenant, id) ON DELETE CASCADE
);
