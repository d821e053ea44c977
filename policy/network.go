package policy

import (
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/wexec/wexec/fault"
)

// NetRule is one host of the network block.
type NetRule struct {
	Rule    string         // file:line
	Host    string         // pattern for names, an address, or a class such as private
	Methods []string       // nil: every method
	Ports   []int          // nil: 80 and 443
	Prefix  []netip.Prefix // if Host is an address or a network
}

// netRules is the network block of one policy.
type netRules struct {
	allow, deny []NetRule
	grants      bool // the block has a list of what is allowed
}

// addressClasses are the names of classes of addresses.
var addressClasses = []string{"private", "loopback", "link-local", "metadata"}

// allows returns the rule that allows a request, or why none does.
func (n *netRules) allows(host string, addr netip.Addr, req NetRequest) (*NetRule, string) {
	why := fmt.Sprintf("no rule allows the host %s", clip(host))
	for i := range n.allow {
		r := &n.allow[i]
		if !r.covers(host, addr) {
			continue
		}
		if !r.appliesTo(req, true) {
			why = fmt.Sprintf("no rule allows %s on port %d of %s", clip(req.Method), req.Port, clip(host))
			continue
		}
		if addr.IsValid() && !isPublic(addr) && !r.namesPrivate(host, addr) {
			why = fmt.Sprintf("%s resolves to an address that is not public", clip(host))
			continue
		}
		return r, ""
	}
	return nil, why
}

// covers reports whether a rule applies to a host or its address.
func (r *NetRule) covers(host string, addr netip.Addr) bool {
	if slices.Contains(addressClasses, r.Host) {
		return inClass(r.Host, host, addr)
	}
	if len(r.Prefix) > 0 {
		return addr.IsValid() && inAny(r.Prefix, addr)
	}
	return matchWildcards(r.Host, host)
}

// namesPrivate reports whether a rule names an address that is not public: by
// number, or by a name of this machine.
func (r *NetRule) namesPrivate(host string, addr netip.Addr) bool {
	return len(r.Prefix) > 0 || isLocalName(r.Host) && r.Host == host && addr.IsLoopback()
}

// appliesTo reports whether a rule applies to the method and the port.
func (r *NetRule) appliesTo(req NetRequest, allow bool) bool {
	if len(r.Methods) > 0 && !slices.Contains(r.Methods, strings.ToUpper(req.Method)) {
		return false
	}
	if len(r.Ports) > 0 {
		return slices.Contains(r.Ports, req.Port)
	}
	return !allow || req.Port == 443 || req.Port == 80
}

// newNetRule parses the host of a rule. where is its file:line.
func newNetRule(host, where string) (NetRule, error) {
	r := NetRule{Rule: where, Host: strings.ToLower(strings.TrimSuffix(strings.TrimSpace(host), "."))}
	invalid := func(why string) (NetRule, error) {
		return r, fault.New(fault.UsagePolicy, "invalid host %q: %s", clip(host), why).
			WithHint("write api.example.com, *.example.com, 10.0.0.0/8 or an address")
	}
	switch {
	case r.Host == "" || len(r.Host) > 253:
		return invalid("empty or too long")
	case slices.Contains(addressClasses, r.Host):
		return r, nil
	}
	if p, err := netip.ParsePrefix(strings.Trim(r.Host, "[]")); err == nil {
		r.Prefix = []netip.Prefix{unmapPrefix(p)}
		return r, nil
	}
	if addr, ok := looseAddr(r.Host); ok {
		r.Prefix = []netip.Prefix{netip.PrefixFrom(addr, addr.BitLen())}
		return r, nil
	}
	switch {
	case strings.Contains(r.Host, "://"):
		return invalid("this is a URL")
	case strings.ContainsAny(r.Host, "/:@?#[]{} \t"):
		return invalid("only letters, digits, dots and dashes are allowed; set ports separately")
	}
	if !strings.Contains(r.Host, "*") {
		ascii, err := idna.Lookup.ToASCII(r.Host)
		if err != nil {
			return invalid("not a valid name")
		}
		r.Host = ascii
	}
	return r, nil
}

// cleanHost converts the host of a URL to the form of rules. An address in any
// notation that resolvers accept is returned as an address.
func cleanHost(host string) (string, netip.Addr, error) {
	h := strings.ToLower(strings.TrimSuffix(host, "."))
	if h == "" || len(h) > 253 || strings.ContainsAny(h, "/@?#\\ \t\r\n\x00%") {
		return "", netip.Addr{}, fault.New(fault.DeniedNetwork, "invalid host %q", clip(host))
	}
	if addr, ok := looseAddr(h); ok {
		return addr.String(), addr, nil
	}
	ascii, err := idna.Lookup.ToASCII(h)
	if err != nil {
		return "", netip.Addr{}, fault.New(fault.DeniedNetwork, "invalid host %q", clip(host))
	}
	if addr, ok := looseAddr(ascii); ok {
		return addr.String(), addr, nil
	}
	return ascii, netip.Addr{}, nil
}

// looseAddr parses an address as resolvers do: IPv6 with or without brackets, and
// IPv4 in one to four parts, each decimal, octal or hexadecimal.
func looseAddr(h string) (netip.Addr, bool) {
	h = strings.TrimSuffix(strings.TrimPrefix(h, "["), "]")
	if addr, err := netip.ParseAddr(h); err == nil {
		return addr.Unmap().WithZone(""), true
	}
	parts := strings.Split(h, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var v uint64
	for i, part := range parts {
		n, err := parseIPv4Part(part)
		if err != nil {
			return netip.Addr{}, false
		}
		if i < len(parts)-1 {
			if n > 255 {
				return netip.Addr{}, false
			}
			v |= n << (8 * (3 - i))
			continue
		}
		if n >= 1<<(8*(5-len(parts))) {
			return netip.Addr{}, false
		}
		v |= n
	}
	return netip.AddrFrom4([4]byte{byte(v >> 24), byte(v >> 16), byte(v >> 8), byte(v)}), true
}

func parseIPv4Part(part string) (uint64, error) {
	switch {
	case part == "" || len(part) > 16 || part[0] < '0' || part[0] > '9':
		return 0, strconv.ErrSyntax
	case strings.HasPrefix(part, "0x"):
		if part == "0x" {
			return 0, nil
		}
		return strconv.ParseUint(part[2:], 16, 32)
	case len(part) > 1 && part[0] == '0':
		return strconv.ParseUint(part[1:], 8, 32)
	}
	return strconv.ParseUint(part, 10, 32)
}

func unmapPrefix(p netip.Prefix) netip.Prefix {
	if a := p.Addr(); a.Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(a.Unmap(), p.Bits()-96).Masked()
	}
	return p.Masked()
}

func isLocalName(host string) bool {
	return host == "localhost" || strings.HasSuffix(host, ".localhost")
}

// inClass reports whether a host or its address is in a class.
func inClass(class, host string, addr netip.Addr) bool {
	named := isLocalName(host)
	switch class {
	case "loopback":
		return named || (addr.IsValid() && anyEmbedded(addr, netip.Addr.IsLoopback))
	case "link-local":
		return addr.IsValid() && anyEmbedded(addr, func(a netip.Addr) bool { return a.IsLinkLocalUnicast() || a.IsLinkLocalMulticast() })
	case "metadata":
		return isMetadataName(host) || (addr.IsValid() && anyEmbedded(addr, isMetadata))
	}
	return named || isMetadataName(host) || (addr.IsValid() && !isPublic(addr))
}
