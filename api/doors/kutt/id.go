package kutt

import (
	"encoding/base64"
	"regexp"

	"shunt/api/account"
	"shunt/api/ops"
	"shunt/engine"
)

// An id names a link in a path, where clients put it as it is. It is the code of a link of the default domain, if all
// of its characters can stand there, or else longID and the host and the code of any link, with a slash between them,
// in base64url.
const longID = "~"

// plainCode is a code that is its own id.
var plainCode = regexp.MustCompile(`^[0-9A-Za-z_-]+$`)

// idOf returns the id of a link.
func (k *kutt) idOf(l *ops.Link) string {
	if l.Host == "" && plainCode.MatchString(l.Code) {
		return l.Code
	}
	host := l.Host
	if host == "" {
		host = k.Ops.Domains().Default().Host
	}
	return longID + base64.RawURLEncoding.EncodeToString([]byte(host+"/"+l.Code))
}

// find returns the code that an id names, and whose the link is. Errors: engine.ErrNotFound if id is none.
func (k *kutt) find(caller account.Caller, id string) (code string, w ops.Whose, err error) {
	if plainCode.MatchString(id) {
		return k.Ops.Named(caller, k.Ops.Domains().Default().Host+"/"+id)
	}
	address, err := base64.RawURLEncoding.Strict().DecodeString(trimmedID(id))
	if err != nil {
		return "", w, engine.ErrNotFound
	}
	return k.Ops.Named(caller, string(address))
}

// trimmedID returns a long id without its beginning; nothing that can be decoded if it is none.
func trimmedID(id string) string {
	if len(id) <= len(longID) || id[:len(longID)] != longID {
		return longID
	}
	return id[len(longID):]
}
