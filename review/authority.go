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
	changes := catalogue.NameWrites(strings.Join(name, "_")) || deletes(strings.Join(name, "_")) || does("attach", "authorize", "enable", "make", "promote", "allow", "open", "configure", "change", "elevate", "toggle", "apply", "put", "set", "share", "bind")
	if has("approval", "approvals") && does("respond", "approve", "accept", "confirm", "resolve", "grant", "answer", "decide") {
		p.find(ruleAuthority, High, n.start, id+" answers a request for approval")
	}
	if has("dns") && changes && repeated(a) {
		p.find(ruleAuthority, High, n.start, id+" changes where names lead, in a loop")
	}
	if does("delete", "remove") && does("access") && does("block") {
		p.find(ruleAuthority, High, n.start, id+" opens access")
	}
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
		does("transfer", "withdraw", "pay", "send", "wire", "payout", "swap", "sweep", "move", "transfers", "payment", "withdrawal", "drain") && !does("list", "get", "find", "search") ||
		does("transfer", "withdraw", "send", "payout") && !does("list", "get", "find", "search") && p.paysTo(n)
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
		if v := p.one(e, nil); v.known() {
			switch {
			case (strings.HasPrefix(key, "forward") || key == "redirectto" || does("forwarding") && key == "address") && strings.Contains(v.text, "@"):
				p.find(ruleAuthority, High, e.start, id+" forwards mail to an address in the code")
			case does("update", "set", "change", "edit", "patch") && len(v.text) > 6 && strings.ContainsAny(v.text, "0123456789") && (strings.Contains(key, "bank") || strings.Contains(key, "iban") || strings.Contains(key, "payout") || key == "accountnumber" || key == "routingnumber"):
				p.find(ruleAuthority, High, e.start, id+" changes an account that money goes to")
			}
		}
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
		for _, part := range [...]string{"role", "permission", "policy", "access", "acl", "scope", "privilege", "group", "visibility", "principal", "grant", "rights", "level", "actions", "action", "resource", "team", "source", "type"} {
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
		if n.kind == call {
			switch p.one(n.children[0], nil).path() {
			case "json.dumps", "JSON.stringify":
				in(n.argument(0), depth+1)
				return
			}
		}
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

// paysTo reports whether a call has an amount and an account or a wallet in the code.
func (p *program) paysTo(n *node) bool {
	amount, account := false, false
	p.entries(n, func(key string, e *node) {
		v := p.one(e, nil)
		switch strings.ToLower(strings.ReplaceAll(key, "_", "")) {
		case "amount", "value", "sum", "quantity":
			amount = true
		case "iban", "bic", "accountnumber", "routingnumber", "wallet", "toaddress":
			account = account || v.known() && len(v.text) > 6
		case "to", "address", "recipient", "destination":
			account = account || v.known() && len(v.text) >= 26 && !strings.ContainsAny(v.text, " @/")
		}
	})
	return amount && account
}

// visitSupplies applies the rule to what changes the packages of others.
func (p *program) visitSupplies(n *node, path string) {
	switch path {
	case "sys.setrecursionlimit":
		if v := p.one(n.argument(0), nil); v.sort == integer && v.int >= 1_000_000 {
			p.find(ruleEscape, High, n.start, "the limit of recursion is taken away")
		}
	case "yaml.load", "yaml.load_all":
		for _, c := range n.arguments() {
			if c != nil && c.kind == keyword {
				c = c.child(0)
			}
			if l := p.one(c, nil).path(); l == "yaml.UnsafeLoader" || l == "yaml.Loader" {
				p.find(ruleDynamic, High, n.start, path+" may run code of the text that it reads")
			}
		}
	}
}

// visitRegistry looks for addresses of packages that are replaced.
func (p *program) visitRegistry(n *node) {
	c := n.children[0]
	if c.kind != member || c.text != "replace" && c.text != "replaceAll" {
		return
	}
	from, to := p.one(n.argument(0), nil), p.one(n.argument(1), nil)
	for _, registry := range [...]string{"registry.npmjs.org", "registry.yarnpkg.com", "pypi.org", "files.pythonhosted.org", "proxy.golang.org", "crates.io", "rubygems.org"} {
		if from.known() && to.known() && strings.Contains(from.text, registry) && strings.Contains(to.text, "://") && !strings.Contains(to.text, registry) {
			p.find(ruleAuthority, High, n.start, "the packages of "+registry+" are replaced")
		}
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
