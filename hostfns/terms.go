package hostfns

import (
	"github.com/wexec/wexec/catalogue"
	"github.com/wexec/wexec/policy"
)

func (t *Table) limits() policy.Limits       { return t.policy.Limits() }
func (t *Table) keep() policy.Audit          { return t.policy.Audit() }
func (t *Table) pii() policy.PII             { return t.policy.PII() }
func (t *Table) approvals() policy.Approvals { return t.policy.Approvals() }

// outlook is the best that a call of a tool can come to.
func (t *Table) outlook(tool catalogue.Tool) policy.Effect { return t.policy.Outlook(tool.ID()) }
