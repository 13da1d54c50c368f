package target

import "shunt/engine/internal/limits"

const (
	inHost = 1 << iota // may be in the name of a plain target
	inRest             // may be after it
	endsHost
)

// plainBytes says where the bytes of plain targets may be.
var plainBytes = func() (is [256]byte) {
	for c := byte('!'); c < 0x7f; c++ {
		is[c] = inRest
	}
	is['\\'] = 0
	for _, c := range []byte("abcdefghijklmnopqrstuvwxyz0123456789-_.") {
		is[c] |= inHost
	}
	for _, c := range []byte("/?#") {
		is[c] |= endsHost
	}
	return is
}()

// plainHost returns the host of a plain target, which is what nearly all targets are: http:// or
// https://, a name in stored form whose last label begins with a letter, no port, no xn-- label, and
// ASCII after it. It reads raw once and allocates nothing. A plain target is stored as it is. ok is
// false for everything else, well-formed or not: parse reads that.
func plainHost(raw string) (h host, ok bool) {
	const secure, insecure = "https://", "http://"
	begin := len(insecure)
	switch {
	case len(raw) > limits.MaxTargetBytes:
		return host{}, false
	case len(raw) > len(secure) && raw[:len(secure)] == secure:
		begin = len(secure)
	case len(raw) <= len(insecure) || raw[:len(insecure)] != insecure:
		return host{}, false
	}
	end := begin
	for end < len(raw) && plainBytes[raw[end]]&inHost != 0 {
		end++
	}
	if end < len(raw) && plainBytes[raw[end]]&endsHost == 0 || !plainName(raw[begin:end]) {
		return host{}, false
	}
	for i := end; i < len(raw); i++ {
		if plainBytes[raw[i]] == 0 {
			return host{}, false
		}
	}
	return host{text: raw[begin:end]}, true
}

// plainName reports whether name, of the bytes of plain names, is valid, has no trailing dot, no
// label that begins with xn--, and cannot be an address.
func plainName(name string) bool {
	if len(name) > maxNameBytes {
		return false
	}
	label := 0 // where it begins
	for i := 0; i <= len(name); i++ {
		if i < len(name) && name[i] != '.' {
			continue
		}
		if n := i - label; n == 0 || n > maxLabelBytes || n >= 4 && name[label:label+4] == "xn--" {
			return false
		}
		if i < len(name) {
			label = i + 1
		}
	}
	return name[label] >= 'a' // no digit, - or _
}
