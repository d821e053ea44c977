ALTER TABLE approvals ADD COLUMN always BIGINT NOT NULL DEFAULT 0; -- 1: the answer wrote a rule
ALTER TABLE approvals ADD COLUMN notify BIGINT NOT NULL DEFAULT 0; -- 1: a webhook is told what happens to it

CREATE INDEX approvals_asked ON approvals (tenant, state, asked, id);
CREATE INDEX approvals_expires ON approvals (state, expires);

CREATE TABLE notices ( -- what a webhook is told next; a row is removed when it was told
  tenant   TEXT   NOT NULL,
  number   BIGINT NOT NULL, -- counts the notices of the tenant
  id       TEXT   NOT NULL,
  type     TEXT   NOT NULL, -- approval.asked, approval.answered, approval.expired
  approval TEXT   NOT NULL,
  created  BIGINT NOT NULL,
  attempts BIGINT NOT NULL,
  PRIMARY KEY (tenant, number)
);

CREATE TABLE notice_numbers (
  tenant TEXT   NOT NULL PRIMARY KEY,
  number BIGINT NOT NULL -- of the last notice
);
