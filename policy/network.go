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

// netRules is the network block of one policy.
type netRules struct {
	allow, deny []NetRule
	drawn       bool // the file has a list of what is allowed
}

// addressClasses are the words that stand for addresses, with what they cover.
var addressClasses = []string{"private", "loopback", "link-local", "metadata"}

// DecideNetwork says whether a request may be made. Allow with a zero IP means:
// resolve the name and ask again for each address. Addresses of machines and
// networks that are not public pass only where a rule names them by address or
// as localhost, and never where private is denied.
func (p *Policy) DecideNetwork(req NetRequest) Decision {
	if p == nil {
		return Decision{Message: "there is no policy, and so no host may be reached"}
	}
	host, addr, err := cleanHost(req.Host)
	if err != nil {
		return Decision{Rule: p.file(), Message: err.Error()}
	}
	if req.IP.IsValid() {
		addr = req.IP.Unmap().WithZone("")
	}
	drawn := false
	for _, l := range p.layers {
		if l.network == nil {
			continue
		}
		drawn = drawn || l.network.drawn
		for _, r := range l.network.deny {
			if r.covers(host, addr) && r.fits(req, false) {
				return Decision{Rule: r.Rule, Message: fmt.Sprintf("the policy denies %s", r.Host)}
			}
		}
	}
	var final *NetRule
	for _, l := range p.layers {
		if l.network == nil || (l.origin == FromCLI && drawn) || (l.origin != FromCLI && !l.network.drawn) {
			continue
		}
		r, why := l.network.allows(host, addr, req)
		if r == nil {
			return Decision{Rule: l.file, Message: why}
		}
		if final == nil {
			final = r
		}
	}
	if final == nil {
		return Decision{Rule: p.file(), Message: fmt.Sprintf("no rule allows the host %s", clip(host))}
	}
	return Decision{Effect: Allow, Rule: final.Rule}
}

// allows finds the rule that lets a request pass, or says why none does.
func (n *netRules) allows(host string, addr netip.Addr, req NetRequest) (*NetRule, string) {
	why := fmt.Sprintf("no rule allows the host %s", clip(host))
	for i := range n.allow {
		r := &n.allow[i]
		if !r.covers(host, addr) {
			continue
		}
		if !r.fits(req, true) {
			why = fmt.Sprintf("no rule allows %s on port %d of %s", clip(req.Method), req.Port, clip(host))
			continue
		}
		if addr.IsValid() && !public(addr) && !r.names(host, addr) {
			why = fmt.Sprintf("%s leads to an address that is not public", clip(host))
			continue
		}
		return r, ""
	}
	return nil, why
}

// covers reports whether a rule speaks of a host or its address.
func (r *NetRule) covers(host string, addr netip.Addr) bool {
	if slices.Contains(addressClasses, r.Host) {
		return inClass(r.Host, host, addr)
	}
	if len(r.Prefix) > 0 {
		return addr.IsValid() && slices.ContainsFunc(r.Prefix, func(p netip.Prefix) bool { return p.Contains(addr) })
	}
	return wild(r.Host, host)
}

// names reports whether a rule means an address that is not public: it says so
// by number, or by a name of this machine.
func (r *NetRule) names(host string, addr netip.Addr) bool {
	if len(r.Prefix) > 0 {
		return true
	}
	return isLocalName(r.Host) && r.Host == host && addr.IsLoopback()
}

// fits reports whether a rule speaks of the method and the port.
func (r *NetRule) fits(req NetRequest, allow bool) bool {
	if len(r.Methods) > 0 && !slices.Contains(r.Methods, strings.ToUpper(req.Method)) {
		return false
	}
	if len(r.Ports) > 0 {
		return slices.Contains(r.Ports, req.Port)
	}
	return !allow || req.Port == 443 || req.Port == 80
}

// newNetRule reads the host of a rule.
func newNetRule(host, where string) (NetRule, error) {
	r := NetRule{Rule: where, Host: strings.ToLower(strings.TrimSuffix(strings.TrimSpace(host), "."))}
	bad := func(why string) (NetRule, error) {
		return r, fault.New(fault.UsagePolicy, "%q is no host: %s", clip(host), why).
			WithHint("write api.example.com, *.example.com, 10.0.0.0/8 or an address")
	}
	switch {
	case r.Host == "" || len(r.Host) > 253:
		return bad("it is empty or too long")
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
		return bad("it is a URL")
	case strings.ContainsAny(r.Host, "/:@?#[]{} \t"):
		return bad("a host has letters, digits, dots and dashes; ports stand apart")
	}
	if !strings.Contains(r.Host, "*") {
		ascii, err := idna.Lookup.ToASCII(r.Host)
		if err != nil {
			return bad("it is no valid name")
		}
		r.Host = ascii
	}
	return r, nil
}

// cleanHost brings a host as a URL writes it into the form that rules have. An
// address in any notation that resolvers read comes back as an address.
func cleanHost(host string) (string, netip.Addr, error) {
	h := strings.ToLower(strings.TrimSuffix(host, "."))
	if h == "" || len(h) > 253 || strings.ContainsAny(h, "/@?#\\ \t\r\n\x00%") {
		return "", netip.Addr{}, fault.New(fault.DeniedNetwork, "%q is no host", clip(host))
	}
	if addr, ok := looseAddr(h); ok {
		return addr.String(), addr, nil
	}
	ascii, err := idna.Lookup.ToASCII(h)
	if err != nil {
		return "", netip.Addr{}, fault.New(fault.DeniedNetwork, "%q is no host", clip(host))
	}
	if addr, ok := looseAddr(ascii); ok {
		return addr.String(), addr, nil
	}
	return ascii, netip.Addr{}, nil
}

// looseAddr reads an address as resolvers do: IPv6 with or without brackets,
// and IPv4 in one to four parts, each decimal, octal or hexadecimal.
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
		n, err := parsePart(part)
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

func parsePart(part string) (uint64, error) {
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

// inClass reports whether a host or its address is of a class.
func inClass(class, host string, addr netip.Addr) bool {
	named := isLocalName(host)
	switch class {
	case "loopback":
		return named || (addr.IsValid() && embedded(addr, netip.Addr.IsLoopback))
	case "link-local":
		return addr.IsValid() && embedded(addr, func(a netip.Addr) bool { return a.IsLinkLocalUnicast() || a.IsLinkLocalMulticast() })
	case "metadata":
		return isMetadataName(host) || (addr.IsValid() && embedded(addr, isMetadata))
	}
	return named || isMetadataName(host) || (addr.IsValid() && !public(addr))
}
