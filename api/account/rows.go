package account

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"shunt/engine"
)

// formatVersion is "v" in every value, but for limitedVersion. A row of another version is an error, never a guess.
const formatVersion = 1

// limitedVersion is "v" of a user and of a token who are limited to domains. A program that does not know of the limit
// refuses the row, instead of taking it for one without.
const limitedVersion = 2

var errFormat = errors.New("account row of unknown format")

// lastUserKey holds the highest number that a user ever had: links are owned by number, so none is
// given twice.
var lastUserKey = []byte{'s'}

func userKey(id uint32) []byte                    { return binary.BigEndian.AppendUint32([]byte{'u'}, id) }
func nameKey(name string) []byte                  { return append([]byte{'n'}, strings.ToLower(name)...) }
func tokenKey(hash []byte) []byte                 { return append([]byte{'t'}, hash...) }
func tokensOf(user uint32) []byte                 { return binary.BigEndian.AppendUint32([]byte{'x'}, user) }
func tokenIndexKey(user uint32, id string) []byte { return append(tokensOf(user), id...) }

func sessionKey(hash []byte) []byte { return append([]byte{'c'}, hash...) }
func sessionsOf(user uint32) []byte { return binary.BigEndian.AppendUint32([]byte{'y'}, user) }
func useKey(hash []byte) []byte     { return append([]byte{'l'}, hash...) }

func sessionIndexKey(user uint32, hash []byte) []byte { return append(sessionsOf(user), hash...) }

func setupCodeKey(hash []byte) []byte { return append([]byte{'k'}, hash...) }
func setupCodesOf(user uint32) []byte { return binary.BigEndian.AppendUint32([]byte{'w'}, user) }

func setupCodeIndexKey(user uint32, hash []byte) []byte {
	return append(setupCodesOf(user), hash...)
}

func filtersKey(user uint32) []byte   { return binary.BigEndian.AppendUint32([]byte{'f'}, user) }
func campaignsKey(user uint32) []byte { return binary.BigEndian.AppendUint32([]byte{'m'}, user) }

// tokenRows returns the keys of all rows of a token.
func tokenRows(user uint32, id string, hash []byte) [][]byte {
	return [][]byte{tokenIndexKey(user, id), tokenKey(hash), useKey(hash)}
}

// sessionRows returns the keys of all rows of a session.
func sessionRows(user uint32, hash [sha256.Size]byte) [][]byte {
	return [][]byte{sessionIndexKey(user, hash[:]), sessionKey(hash[:]), useKey(hash[:])}
}

// setupCodeRows returns the keys of all rows of a setup code.
func setupCodeRows(user uint32, hash [sha256.Size]byte) [][]byte {
	return [][]byte{setupCodeIndexKey(user, hash[:]), setupCodeKey(hash[:])}
}

type userRow struct {
	V         int    `json:"v"`
	ID        uint32 `json:"id"`
	Name      string `json:"name"`
	Role      Role   `json:"role"`
	CreatedMs int64  `json:"created_ms"`
	Password  string `json:"password,omitempty"`
	limitRow
}

// limitRow is the limit to domains in the row of a user or a token.
type limitRow struct {
	Domains []engine.Domain `json:"domains,omitempty"` // in order; absent: no limit
}

func (d Domains) row() (version int, row limitRow) {
	if !d.limited {
		return formatVersion, row
	}
	return limitedVersion, limitRow{d.Numbers()}
}

// limit returns the domains in a row of that version, and what is wrong with them.
func (r limitRow) limit(version int) (Domains, error) {
	d := OnlyIn(r.Domains...)
	switch {
	case version == formatVersion && r.Domains == nil:
		return Domains{}, nil
	case version == limitedVersion && len(r.Domains) > 0 && slices.Equal(d.Numbers(), r.Domains):
		return d, nil
	}
	return d, fmt.Errorf("%w (version %d with the domains %v)", errFormat, version, r.Domains)
}

type sessionRow struct {
	V         int    `json:"v"`
	Hash      []byte `json:"hash"` // repeated, to compare it with the hash that was asked for
	User      uint32 `json:"user"`
	CreatedMs int64  `json:"created_ms"`
}

type setupCodeRow struct {
	V         int    `json:"v"`
	Hash      []byte `json:"hash"` // repeated, to compare it with the hash that was asked for
	User      uint32 `json:"user"`
	ExpiresMs int64  `json:"expires_ms"`
}

// useRow is separate from the token or session, so that to record a use changes no row that
// identifies a caller.
type useRow struct {
	V    int   `json:"v"`
	AtMs int64 `json:"at_ms"`
}

type campaignsRow struct {
	V         int        `json:"v"`
	User      uint32     `json:"user"` // repeated, as in other rows
	Campaigns []Campaign `json:"campaigns"`
}

type filtersRow struct {
	V       int      `json:"v"`
	User    uint32   `json:"user"` // repeated, as in other rows
	Filters []Filter `json:"filters"`
}

type tokenRow struct {
	V         int     `json:"v"`
	ID        string  `json:"id"`
	Hash      []byte  `json:"hash"` // repeated, to compare it with the hash that was asked for
	User      uint32  `json:"user"`
	Name      string  `json:"name"`
	Begins    string  `json:"begins,omitempty"`
	Scopes    []Scope `json:"scopes"`
	CreatedMs int64   `json:"created_ms"`
	ExpiresMs int64   `json:"expires_ms,omitempty"` // 0: never
	limitRow
}

func encodeUser(u userRecord) []byte {
	version, limit := u.Domains.row()
	return encode(userRow{
		V: version, limitRow: limit, ID: u.ID, Name: u.Name, Role: u.Role, CreatedMs: u.CreatedAt.UnixMilli(), Password: u.password,
	})
}

func encodeSession(s session, hash []byte) []byte {
	return encode(sessionRow{V: formatVersion, Hash: hash, User: s.UserID, CreatedMs: s.CreatedAt.UnixMilli()})
}

func encodeSetupCode(s setupCode, hash []byte) []byte {
	return encode(setupCodeRow{V: formatVersion, Hash: hash, User: s.UserID, ExpiresMs: s.ExpiresAt.UnixMilli()})
}

func encodeUse(at time.Time) []byte { return encode(useRow{V: formatVersion, AtMs: at.UnixMilli()}) }

func encodeCampaigns(user uint32, all []Campaign) []byte {
	return encode(campaignsRow{V: formatVersion, User: user, Campaigns: all})
}

func encodeFilters(user uint32, all []Filter) []byte {
	return encode(filtersRow{V: formatVersion, User: user, Filters: all})
}

func encodeToken(t Token, hash []byte) []byte {
	version, limit := t.Domains.row()
	row := tokenRow{
		V: version, limitRow: limit, ID: t.ID, Hash: hash, User: t.UserID, Name: t.Name, Begins: t.Begins, Scopes: t.Scopes,
		CreatedMs: t.CreatedAt.UnixMilli(),
	}
	if !t.ExpiresAt.IsZero() {
		row.ExpiresMs = t.ExpiresAt.UnixMilli()
	}
	return encode(row)
}

func encode(row any) []byte {
	b, err := json.Marshal(row)
	if err != nil {
		panic(fmt.Sprintf("account: encoding a row: %v", err)) // encoding its fields cannot fail
	}
	return b
}

// decode decodes a row, of which version is a field. Its error wraps errFormat; what is in the row then means nothing.
func decode(value []byte, row any, version *int) error {
	if json.Unmarshal(value, row) != nil || *version != formatVersion {
		return fmt.Errorf("%w (version %d)", errFormat, *version)
	}
	return nil
}

// decodeLimited is decode for the row of a user or a token.
func decodeLimited(value []byte, row any, version *int, limit *limitRow) (Domains, error) {
	if json.Unmarshal(value, row) != nil {
		return Domains{}, fmt.Errorf("%w (version %d)", errFormat, *version)
	}
	return limit.limit(*version)
}

func decodeUser(value []byte) (userRecord, error) {
	var row userRow
	domains, err := decodeLimited(value, &row, &row.V, &row.limitRow)
	return userRecord{
		User: User{
			ID: row.ID, Name: row.Name, Role: row.Role, CreatedAt: time.UnixMilli(row.CreatedMs).UTC(),
			HasPassword: row.Password != "", Domains: domains,
		},
		password: row.Password,
	}, err
}

func decodeSession(value []byte) (s session, hash []byte, err error) {
	var row sessionRow
	err = decode(value, &row, &row.V)
	return session{row.User, time.UnixMilli(row.CreatedMs).UTC()}, row.Hash, err
}

func decodeSetupCode(value []byte) (s setupCode, hash []byte, err error) {
	var row setupCodeRow
	err = decode(value, &row, &row.V)
	return setupCode{row.User, time.UnixMilli(row.ExpiresMs).UTC()}, row.Hash, err
}

func decodeUse(value []byte) (time.Time, error) {
	var row useRow
	err := decode(value, &row, &row.V)
	return time.UnixMilli(row.AtMs).UTC(), err
}

func decodeCampaigns(value []byte) ([]Campaign, error) {
	var row campaignsRow
	err := decode(value, &row, &row.V)
	return row.Campaigns, err
}

func decodeFilters(value []byte) ([]Filter, error) {
	var row filtersRow
	err := decode(value, &row, &row.V)
	return row.Filters, err
}

func decodeToken(value []byte) (t Token, hash []byte, err error) {
	var row tokenRow
	domains, err := decodeLimited(value, &row, &row.V, &row.limitRow)
	t = Token{
		ID: row.ID, UserID: row.User, Name: row.Name, Begins: row.Begins, Scopes: row.Scopes, Domains: domains,
		CreatedAt: time.UnixMilli(row.CreatedMs).UTC(),
	}
	if row.ExpiresMs != 0 {
		t.ExpiresAt = time.UnixMilli(row.ExpiresMs).UTC()
	}
	return t, row.Hash, err
}
