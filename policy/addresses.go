package policy

import (
	"net/netip"
	"slices"
)

// reserved are the networks that are not public and that netip has no method
// for: IANA's special-purpose registries.
var reserved = prefixes(
	"0.0.0.0/8", "100.64.0.0/10", "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24",
	"192.88.99.0/24", "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "240.0.0.0/4",
	"::/96", "::ffff:0:0/96", "::ffff:0:0:0/96", "100::/64", "2001::/23", "2001:db8::/32", "3fff::/20", "5f00::/16", "fec0::/10",
)

// metadata are the addresses of the metadata services of clouds, which hand out
// credentials.
var metadata = prefixes(
	"169.254.169.254/32", "169.254.170.2/32", "169.254.170.23/32", "169.254.0.23/32", "100.100.100.200/32",
	"192.0.0.192/32", "168.63.129.16/32", "fd00:ec2::254/128", "fd00:ec2::23/128", "fd20:ce::254/128",
)

var metadataNames = []string{"metadata", "metadata.google.internal", "metadata.goog", "instance-data", "instance-data.ec2.internal"}

func prefixes(texts ...string) []netip.Prefix {
	out := make([]netip.Prefix, len(texts))
	for i, t := range texts {
		out[i] = netip.MustParsePrefix(t)
	}
	return out
}

func isMetadataName(host string) bool { return slices.Contains(metadataNames, host) }

func isMetadata(a netip.Addr) bool { return inAny(metadata, a) }

func inAny(list []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(list, func(p netip.Prefix) bool { return p.Contains(a) })
}

// isPublic reports whether an address belongs to the public internet.
func isPublic(a netip.Addr) bool {
	return !anyEmbedded(a, func(a netip.Addr) bool {
		return !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || isMetadata(a) || inAny(reserved, a)
	})
}

// anyEmbedded reports whether test is true for an address or for the IPv4 address
// embedded in it: mapped, NAT64, 6to4 or Teredo.
func anyEmbedded(a netip.Addr, test func(netip.Addr) bool) bool {
	a = a.Unmap().WithZone("")
	if test(a) {
		return true
	}
	if !a.Is6() {
		return false
	}
	b := a.As16()
	at := -1
	flip := byte(0)
	switch {
	case nat64.Contains(a), nat64Local.Contains(a):
		at = 12
	case b[0] == 0x20 && b[1] == 0x02:
		at = 2
	case b[0] == 0x20 && b[1] == 0x01 && b[2] == 0 && b[3] == 0:
		at, flip = 12, 0xff
	}
	if at < 0 {
		return false
	}
	return test(netip.AddrFrom4([4]byte{b[at] ^ flip, b[at+1] ^ flip, b[at+2] ^ flip, b[at+3] ^ flip}))
}

var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	nat64Local = netip.MustParsePrefix("64:ff9b:1::/48")
)
