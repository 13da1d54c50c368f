package settings

import (
	"fmt"
	"net/netip"
	"strings"

	"github.com/spf13/pflag"
)

// Networks returns a flag that appends networks and addresses to list, and may be repeated.
func Networks(list *[]netip.Prefix) pflag.Value { return prefixes{list} }

// prefixes is the flag that networks returns.
type prefixes struct{ list *[]netip.Prefix }

func (p prefixes) Set(text string) error {
	for part := range strings.SplitSeq(text, ",") {
		if err := p.Append(strings.TrimSpace(part)); err != nil {
			return err
		}
	}
	return nil
}

// parsePrefix reads a network such as 10.0.0.0/8, or a single address.
func parsePrefix(text string) (netip.Prefix, error) {
	if addr, err := netip.ParseAddr(text); err == nil && addr.Zone() == "" {
		addr = addr.Unmap()
		return netip.PrefixFrom(addr, addr.BitLen()), nil
	}
	prefix, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, fmt.Errorf("%q is neither an address nor a network such as 10.0.0.0/8", text)
	}
	return prefix.Masked(), nil
}

var (
	_ pflag.Value      = prefixes{}
	_ pflag.SliceValue = prefixes{}
)

// Append implements pflag.SliceValue.
func (p prefixes) Append(text string) error {
	prefix, err := parsePrefix(text)
	if err == nil {
		*p.list = append(*p.list, prefix)
	}
	return err
}

// Replace implements pflag.SliceValue.
func (p prefixes) Replace(texts []string) error {
	*p.list = nil
	for _, text := range texts {
		if err := p.Append(text); err != nil {
			return err
		}
	}
	return nil
}

// GetSlice implements pflag.SliceValue.
func (p prefixes) GetSlice() []string {
	texts := make([]string, len(*p.list))
	for i, prefix := range *p.list {
		texts[i] = prefix.String()
	}
	return texts
}

func (p prefixes) String() string { return strings.Join(p.GetSlice(), ",") }

func (p prefixes) Type() string { return "NETWORK" }
