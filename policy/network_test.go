package policy

import (
	"net/netip"
	"testing"
)

func TestHostsMethodsAndPorts(t *testing.T) {
	p := parse(t, `
version: 1
network:
  allow:
    - {host: api.github.com, methods: [get], ports: [443]}
    - "*.example.org"
    - {host: 10.1.0.0/16, ports: [8080]}
    - {host: localhost, ports: [3000]}
    - {host: "[::1]", ports: [3001]}
    - münchen.de
    - {host: 203.0.113.7, ports: [1]}
  deny: [secret.example.org, {host: "*.example.org", methods: [DELETE]}]
`)
	for _, c := range []struct {
		host, method string
		port         int
		ip           string
		want         Effect
	}{
		{"api.github.com", "GET", 443, "", Allow},
		{"API.GitHub.com.", "get", 443, "", Allow},
		{"api.github.com", "GET", 443, "140.82.112.5", Allow},
		{"api.github.com", "POST", 443, "", Deny},
		{"api.github.com", "GET", 80, "", Deny},
		{"api.github.com.evil.org", "GET", 443, "", Deny},
		{"xapi.github.com", "GET", 443, "", Deny},
		{"www.example.org", "PUT", 80, "", Allow},
		{"www.example.org", "PUT", 8080, "", Deny},
		{"a.b.example.org", "PUT", 443, "", Allow},
		{"example.org", "GET", 443, "", Deny},
		{"secret.example.org", "GET", 443, "", Deny},
		{"www.example.org", "DELETE", 443, "", Deny},
		{"www.example.org", "GET", 443, "127.0.0.1", Deny}, // rebinding
		{"www.example.org", "GET", 443, "10.1.2.3", Deny},
		{"10.1.2.3", "GET", 8080, "", Allow},
		{"10.1.2.3", "GET", 8080, "10.1.2.3", Allow},
		{"10.2.2.3", "GET", 8080, "", Deny},
		{"localhost", "GET", 3000, "127.0.0.1", Allow},
		{"localhost", "GET", 3000, "::1", Allow},
		{"localhost", "GET", 3000, "10.0.0.1", Deny},
		{"127.0.0.1", "GET", 3000, "127.0.0.1", Deny},
		{"::1", "GET", 3001, "", Allow},
		{"[::1]", "GET", 3001, "::1", Allow},
		{"MÜNCHEN.de", "GET", 443, "", Allow},
		{"xn--mnchen-3ya.de", "GET", 443, "", Allow},
		{"", "GET", 443, "", Deny},
		{"a b", "GET", 443, "", Deny},
		{"user@api.github.com", "GET", 443, "", Deny},
	} {
		req := NetRequest{Host: c.host, Method: c.method, Port: c.port}
		if c.ip != "" {
			req.IP = netip.MustParseAddr(c.ip)
		}
		if d := p.DecideNetwork(req); d.Effect != c.want {
			t.Errorf("%s %s:%d (%s): %v by %s: %s", c.method, c.host, c.port, c.ip, d.Effect, d.Rule, d.Message)
		}
	}
}

// Every notation of an address that is not public is denied by a policy that
// allows all names.
func TestPrivateAddressesAreDeniedInEveryNotation(t *testing.T) {
	open := parse(t, "version: 1\nnetwork: {allow: [{host: \"*\", ports: [443]}]}\n")
	closed := parse(t, "version: 1\nnetwork: {allow: [{host: \"*\", ports: [443]}, {host: 127.0.0.0/8, ports: [443]}, {host: localhost, ports: [443]}], deny: [private]}\n")
	for _, host := range []string{
		"127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7f.1", "0177.0.0.1", "017700000001", "127.0.0.1.", "0", "0.0.0.0", "00.0.0.0",
		"[::1]", "::1", "[::]", "::ffff:127.0.0.1", "[::ffff:7f00:1]", "::ffff:0:127.0.0.1", "::127.0.0.1", "64:ff9b::127.0.0.1", "64:ff9b:1::a00:1", "2002:7f00:1::", "2001:0:0:0:0:0:80ff:fffe",
		"10.0.0.1", "172.16.5.4", "192.168.1.1", "167772161", "0xa000001", "012.0.0.1", "100.64.0.1", "169.254.169.254", "0xa9fea9fe", "2852039166", "169.254.1.1",
		"fe80::1", "fe80::1%25eth0", "fc00::1", "fd00:ec2::254", "fec0::1", "ff02::1", "224.0.0.1", "255.255.255.255", "240.0.0.1", "198.18.0.1", "192.0.2.1", "203.0.113.9", "2001:db8::1",
		"metadata.google.internal", "localhost", "LOCALHOST", "a.localhost", "１２７.０.０.１", "127。0。0。1", "ⓛocalhost", "168.63.129.16", "100.100.100.200",
	} {
		req := NetRequest{Host: host, Method: "GET", Port: 443}
		if d := closed.DecideNetwork(req); d.Effect != Deny {
			t.Errorf("%s passes although private is denied: %+v", host, d)
		}
		if isLocalName(host) || host == "LOCALHOST" || host == "ⓛocalhost" || host == "metadata.google.internal" {
			// A name: what it leads to is decided when it is known.
			req.IP = netip.MustParseAddr("127.0.0.1")
		}
		if d := open.DecideNetwork(req); d.Effect != Deny {
			t.Errorf("%s passes: %+v", host, d)
		}
	}
	for _, host := range []string{"93.184.215.14", "2606:2800:21f:cb07::1", "example.com", "8.8.8.8", "134744072"} {
		for _, p := range []*Policy{open, closed} {
			if d := p.DecideNetwork(NetRequest{Host: host, Method: "GET", Port: 443}); d.Effect != Allow {
				t.Errorf("%s: %+v", host, d)
			}
		}
	}
	if d := closed.DecideNetwork(NetRequest{Host: "example.com", Port: 443, IP: netip.MustParseAddr("::ffff:10.0.0.1")}); d.Effect != Deny {
		t.Errorf("a mapped private address passes: %+v", d)
	}
}

func TestFlagsOpenTheNetworkOnlyWithoutANetworkBlock(t *testing.T) {
	f := flags(t, Flags{AllowNet: []string{"example.com", "127.0.0.1:8080", "[::1]:9"}})
	req := NetRequest{Host: "127.0.0.1", Method: "GET", Port: 8080, IP: netip.MustParseAddr("127.0.0.1")}
	alone := Layer(Layered{f, FromCLI})
	if d := alone.DecideNetwork(req); d.Effect != Allow || d.Rule != "command line: allow net 127.0.0.1:8080" {
		t.Errorf("%+v", d)
	}
	req.Port = 80
	if d := alone.DecideNetwork(req); d.Effect != Deny {
		t.Errorf("%+v", d)
	}
	if d := alone.DecideNetwork(NetRequest{Host: "::1", Port: 9}); d.Effect != Allow {
		t.Errorf("%+v", d)
	}
	file := parse(t, "version: 1\nnetwork: {allow: [other.com]}\n")
	if d := Layer(Layered{file, User}, Layered{f, FromCLI}).DecideNetwork(NetRequest{Host: "example.com", Port: 443}); d.Effect != Deny {
		t.Errorf("%+v", d)
	}
	deny := parse(t, "version: 1\nnetwork: {deny: [example.com]}\n")
	both := Layer(Layered{deny, User}, Layered{f, FromCLI})
	if both.DecideNetwork(NetRequest{Host: "example.com", Port: 443}).Effect != Deny || both.DecideNetwork(NetRequest{Host: "::1", Port: 9}).Effect != Allow {
		t.Error("a file that only denies")
	}
	if n := both.Network(); len(n.Allow) != 3 || len(n.Deny) != 1 {
		t.Errorf("%+v", n)
	}
}
