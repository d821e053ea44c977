package review

import (
	"slices"
	"strings"

	"github.com/wexec/wexec/catalogue"
)

// protections are words for what protects or watches a system.
var protections = []string{"logging", "log", "logs", "trail", "audit", "firewall", "mfa", "2fa", "antivirus", "defender", "protection", "guard", "guardduty", "alarm", "alarms", "monitoring", "monitor",
	"backup", "backups", "encryption", "detector", "sso", "waf", "siem", "snapshot", "snapshots", "edr", "hook", "approval", "approvals", "verification", "ratelimit"}

// rights are words for what decides who may do what.
var rights = []string{"policy", "role", "roles", "permission", "permissions", "admin", "admins", "acl", "access", "member", "membership", "owner", "collaborator", "ingress", "firewall", "security", "iam", "group",
	"privilege", "privileges", "binding", "bucket", "share", "sharing", "user", "scope", "scopes", "visibility", "sudo", "grant", "org"}

// visitAuthority applies the rule about rights, protection and money to a call of a
// tool.
func (p *program) visitAuthority(n *node, id string, a *around) {
	words := catalogue.Words(id)
	name := catalogue.Words(id[strings.IndexByte(id, '.')+1:])
	has := func(list ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(list, w) })
	}
	does := func(list ...string) bool {
		return slices.ContainsFunc(name, func(w string) bool { return slices.Contains(list, w) })
	}
	changes := catalogue.NameWrites(strings.Join(name, "_")) || deletes(strings.Join(name, "_")) || does("attach", "authorize", "enable", "make", "promote", "allow", "open", "configure", "change", "elevate", "change", "toggle")
	off := does("disable", "stop", "suspend", "pause", "mute", "bypass", "off") || does("delete", "remove", "clear", "purge", "wipe", "drop", "erase", "truncate") && !does("log")
	if (off || does("delete", "purge", "wipe", "clear", "erase") && (does("group", "stream", "file", "audit") || len(name) == 2)) && protects(name, protections) && !does("user", "users", "entry") {
		p.find(ruleAuthority, High, n.start, id+" turns off what protects or watches a system")
		return
	}
	if does("grant", "make", "promote", "elevate", "add") && does("admin", "admins", "administrator", "superuser", "owner", "root", "sudoer", "sudo") {
		p.find(ruleAuthority, High, n.start, id+" gives all rights")
		return
	}
	money := has("bank", "banking", "payment", "payments", "wallet", "money", "fund", "funds", "crypto", "coin", "bitcoin", "btc", "eth", "ethereum", "treasury", "payout", "payouts", "wire", "stripe", "paypal", "sepa", "ledger", "broker", "balance", "payroll", "exchange", "cash") &&
		does("transfer", "withdraw", "pay", "send", "wire", "payout", "swap", "sweep", "move", "transfers", "payment", "withdrawal", "drain") && !does("list", "get", "find", "search")
	if money {
		level := Medium
		if repeated(a) || p.literalReceiver(n) {
			level = High
		}
		p.find(ruleAuthority, level, n.start, id+" moves money")
	}
	if !changes {
		return
	}
	p.entries(n, func(key string, e *node) {
		key = strings.ToLower(strings.ReplaceAll(key, "_", ""))
		if e.kind == truth {
			switch {
			case e.text == "true" && (key == "force" && has("push", "branch", "ref", "git") || key == "admin" || key == "isadmin" || key == "superuser" || key == "allowforcepushes" || key == "bypass" || key == "sudo" || key == "skipapproval" || key == "public" && has("bucket", "file", "drive", "database", "repository", "document")):
				p.find(ruleAuthority, High, e.start, id+" sets "+shorten(key))
			case e.text == "false" && (protects(name, protections) && (key == "enabled" || key == "active" || key == "required") || guards(key)):
				p.find(ruleAuthority, High, e.start, id+" turns off "+shorten(key))
			}
			return
		}
		for _, v := range p.resolve(e, nil) {
			all := []value{v}
			if v.sort == items {
				all = v.items
			}
			for _, v := range all {
				if v.known() && everything(key, strings.ToLower(v.text), has(rights...)) {
					p.find(ruleAuthority, High, e.start, id+" gives rights to everything or access to everybody")
				}
			}
		}
	})
}

func protects(name, list []string) bool {
	return slices.ContainsFunc(name, func(w string) bool { return slices.Contains(list, w) })
}

// guards reports whether a setting protects when it is on.
func guards(key string) bool {
	for _, part := range [...]string{"mfa", "twofactor", "2fa", "audit", "logging", "encrypt", "protection", "blockpublic", "publicaccessblock", "verifyssl", "verifytls", "requirereview", "requireapproval", "enforceadmins", "signedcommits", "firewall", "secretscanning", "deletionprotection"} {
		if strings.Contains(key, part) {
			return true
		}
	}
	return false
}

// everything reports whether an argument gives all rights, or access to everybody.
func everything(key, v string, rights bool) bool {
	switch v {
	case "0.0.0.0/0", "::/0", "public-read-write", "public-read", "administratoraccess", "cluster-admin", "allusers", "allauthenticatedusers", "roles/owner", "roles/editor", "superuser", "superadmin", "global administrator", "global_admin", "*:*":
		return true
	case "admin", "administrator", "owner", "root", "*", "all", "poweruseraccess", "full", "full_access", "public", "everyone", "anyone", "sudo", "org_admin", "admins", "owners", "wheel":
		if !rights {
			return false
		}
		for _, part := range [...]string{"role", "permission", "policy", "access", "acl", "scope", "privilege", "group", "visibility", "principal", "grant", "rights", "level", "actions", "action", "resource", "team", "source"} {
			if strings.Contains(key, part) {
				return true
			}
		}
	}
	return strings.HasPrefix(v, "arn:aws:iam::aws:policy/administratoraccess") || strings.Contains(v, `"action":"*"`) || strings.Contains(v, `"principal":"*"`)
}

// entries calls do for the arguments of a call that have names, in objects too.
func (p *program) entries(n *node, do func(key string, e *node)) {
	var in func(n *node, depth int)
	in = func(n *node, depth int) {
		if n == nil || depth > 8 {
			return
		}
		if n.kind == keyword {
			if c := n.child(0); c != nil {
				do(n.text, c)
				in(c, depth+1)
			}
			return
		}
		v := p.one(n, nil)
		if v.sort == code && v.node.kind == object && v.owner == p || n.kind == list {
			if n.kind != list {
				n = v.node
			}
			for _, c := range n.children {
				if c != nil && (c.kind == keyword || c.kind == object) {
					in(c, depth+1)
				}
			}
		}
	}
	for _, c := range n.arguments() {
		in(c, 0)
	}
}

// literalReceiver reports whether the receiver of the money is a constant.
func (p *program) literalReceiver(n *node) bool {
	found := false
	p.entries(n, func(key string, e *node) {
		switch strings.ToLower(strings.ReplaceAll(key, "_", "")) {
		case "to", "destination", "recipient", "toaccount", "receiver", "iban", "address", "toaddress", "payee", "beneficiary", "target", "account", "email":
			found = found || p.one(e, nil).known()
		}
	})
	return found
}
