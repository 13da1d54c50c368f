package index

// Flags are the bits of a link that a redirect needs. The low two bits are the redirect status.
// Flags are part of the durable hot record: a bit's meaning never changes.
type Flags uint8

const (
	flagStatusMask   Flags = 0b11   // 0: 302, 1: 301, 2: 307, 3: 308
	FlagForwardQuery Flags = 1 << 2 // the query string after the code is added to the target
	FlagExpires      Flags = 1 << 3 // ExpiresAtMs is set
	FlagCapped       Flags = 1 << 4 // MaxHits is set
	FlagTombstone    Flags = 1 << 5 // deleted: the code stays taken, DeletedAtMs is set, there is no target
	FlagDisabled     Flags = 1 << 6 // the owner has switched the link off

	// DurableFlags are the flags of hot records. A store may refuse any other bit. A flag that is
	// added here must not need a field that hot records of the present format lack.
	DurableFlags = flagStatusMask | FlagForwardQuery | FlagExpires | FlagCapped | FlagTombstone | FlagDisabled

	// flagElsewhere is in records in memory only: the link is not in the default domain (see OwnerIn).
	flagElsewhere Flags = 1 << 7
)

var redirectStatuses = [4]int{302, 301, 307, 308}

// StatusFlags returns the flag bits of an HTTP redirect status; ok is false if a link cannot have
// that status.
func StatusFlags(status int) (f Flags, ok bool) {
	for i, s := range redirectStatuses {
		if s == status {
			return Flags(i), true
		}
	}
	return 0, false
}

// Disabled reports whether the owner has switched the link off.
func (f Flags) Disabled() bool { return f&FlagDisabled != 0 }

// RedirectStatus returns the HTTP status that the link answers with: 301, 302, 307 or 308.
func (f Flags) RedirectStatus() int { return redirectStatuses[f&flagStatusMask] }

// WithRedirectStatus returns f with the flag bits of an HTTP redirect status, or of 302 if status
// is 0. ok is false if a link cannot have that status.
func (f Flags) WithRedirectStatus(status int) (_ Flags, ok bool) {
	if status == 0 {
		status = redirectStatuses[0]
	}
	s, ok := StatusFlags(status)
	return f&^flagStatusMask | s, ok
}
