CREATE TABLE spent ( -- on one day, by accounts that have quotas
  tenant TEXT   NOT NULL,
  token  TEXT   NOT NULL, -- empty: all of the tenant
  day    BIGINT NOT NULL, -- since 1970, UTC
  runs   BIGINT NOT NULL,
  fuel   BIGINT NOT NULL,
  tokens BIGINT NOT NULL,
  money  BIGINT NOT NULL, -- millionths of the currency
  PRIMARY KEY (tenant, token)
);

ALTER TABLE queue ADD COLUMN token TEXT NOT NULL DEFAULT '';

CREATE INDEX queue_token ON queue (tenant, token, leased);

ALTER TABLE tokens ADD COLUMN quotas TEXT NOT NULL DEFAULT ''; -- JSON

ALTER TABLE tokens ADD COLUMN model TEXT NOT NULL DEFAULT '';
