package certificate

import "maps"

// known is what memory has of all rows. It never changes.
type known struct {
	rows    map[string]row // by key
	account []byte         // PEM; nil: none yet
	hosts   map[string]*Host
	tokens  map[string]*Challenge
	asked   map[string]*Challenge // by host: what tls-alpn-01 is answered with; that of an authority, if there is one
}

// A row is one of the table, as it is kept and read.
type row struct {
	value     string
	host      *Host
	challenge *Challenge
	account   []byte
}

// readRow reads a row. One that memory has already is not read again: a certificate takes a tenth of a millisecond.
func (k *known) readRow(key, value []byte) (row, error) {
	if had, there := k.rows[string(key)]; there && had.value == string(value) {
		return had, nil
	}
	r, err := row{value: string(value)}, errFormat
	switch {
	case len(key) == 0:
	case key[0] == ofAccount:
		r.account, err = decodeAccount(value)
	case key[0] == ofHost:
		r.host, err = decodeHost(key, value)
	case key[0] == ofChallenge:
		r.challenge, err = decodeChallenge(key, value)
	}
	return r, err
}

// newKnown returns what is known of these rows.
func newKnown(rows map[string]row) *known {
	k := &known{rows: rows, hosts: make(map[string]*Host), tokens: make(map[string]*Challenge), asked: make(map[string]*Challenge)}
	for _, r := range rows {
		switch {
		case r.host != nil:
			k.hosts[r.host.Name] = r.host
		case r.challenge != nil:
			k.tokens[r.challenge.Token] = r.challenge
			if had := k.asked[r.challenge.Host]; had == nil || had.Check {
				k.asked[r.challenge.Host] = r.challenge
			}
		case r.account != nil:
			k.account = r.account
		}
	}
	return k
}

// with returns what is known after a write.
func (k *known) with(sets map[string]row, deletes [][]byte) *known {
	rows := maps.Clone(k.rows)
	maps.Copy(rows, sets)
	for _, key := range deletes {
		delete(rows, string(key))
	}
	return newKnown(rows)
}
