package certificate

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"time"
)

// formatVersion is "v" in every value. A row of another version is an error, never a guess.
const formatVersion = 1

var errFormat = errors.New("certificate row of unknown format")

// The first byte of a key says what its row is.
const (
	ofAccount   = 'a'
	ofHost      = 'h'
	ofChallenge = 'p'
)

var accountKey = []byte{ofAccount}

func hostKey(name string) []byte { return append([]byte{ofHost}, name...) }

func challengeKey(token string) []byte { return append([]byte{ofChallenge}, token...) }

type accountRow struct {
	V   int    `json:"v"`
	Key string `json:"key"`
}

type hostRow struct {
	V        int    `json:"v"`
	Host     string `json:"host"` // repeated, to compare it with the key
	Chain    string `json:"chain,omitempty"`
	Key      string `json:"key,omitempty"`
	TriedMs  int64  `json:"tried_ms"`
	Failures int    `json:"failures,omitempty"`
	Error    string `json:"error,omitempty"`
	NextMs   int64  `json:"next_ms,omitempty"`

	Server    bool    `json:"server,omitempty"`
	OrderedMs []int64 `json:"ordered_ms,omitempty"`
}

type challengeRow struct {
	V     int    `json:"v"`
	Token string `json:"token"` // repeated, to compare it with the key
	Host  string `json:"host"`
	Text  string `json:"text"`
	Chain string `json:"chain"`
	Key   string `json:"key"`
	Check bool   `json:"check,omitempty"`
}

func encode(row any) []byte {
	b, err := json.Marshal(row)
	if err != nil {
		panic(fmt.Sprintf("certificate: encoding a row: %v", err)) // encoding its fields cannot fail
	}
	return b
}

func encodeAccount(key []byte) []byte { return encode(accountRow{formatVersion, string(key)}) }

func encodeHost(h *Host) []byte {
	row := hostRow{
		V: formatVersion, Host: h.Name, Chain: string(h.Chain), Key: string(h.Key),
		TriedMs: unixMs(h.TriedAt), Failures: h.Failures, Error: h.Error, NextMs: unixMs(h.NextAt), Server: h.Server,
	}
	for _, t := range h.Ordered {
		row.OrderedMs = append(row.OrderedMs, unixMs(t))
	}
	return encode(row)
}

func encodeChallenge(c *Challenge) []byte {
	return encode(challengeRow{formatVersion, c.Token, c.Host, c.Text, string(c.Chain), string(c.Key), c.Check})
}

func unixMs(t time.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.UnixMilli()
}

func fromMs(ms int64) time.Time {
	if ms == 0 {
		return time.Time{}
	}
	return time.UnixMilli(ms).UTC()
}

// read reads a value into a row, of which v points to the version.
func read(value []byte, row any, v *int) error {
	if json.Unmarshal(value, row) != nil || *v != formatVersion {
		return fmt.Errorf("%w (version %d)", errFormat, *v)
	}
	return nil
}

func decodeAccount(value []byte) (key []byte, err error) {
	var row accountRow
	err = read(value, &row, &row.V)
	return []byte(row.Key), err
}

func decodeHost(key, value []byte) (*Host, error) {
	var row hostRow
	if err := read(value, &row, &row.V); err != nil {
		return nil, err
	}
	if !bytes.Equal(key, hostKey(row.Host)) {
		return nil, fmt.Errorf("the certificate of %s is under the key %q", row.Host, key)
	}
	h := &Host{
		Name: row.Host, Chain: []byte(row.Chain), Key: []byte(row.Key),
		TriedAt: fromMs(row.TriedMs), Failures: row.Failures, Error: row.Error, NextAt: fromMs(row.NextMs), Server: row.Server,
	}
	for _, ms := range row.OrderedMs {
		h.Ordered = append(h.Ordered, fromMs(ms))
	}
	return h, h.parse()
}

func decodeChallenge(key, value []byte) (*Challenge, error) {
	var row challengeRow
	if err := read(value, &row, &row.V); err != nil {
		return nil, err
	}
	if !bytes.Equal(key, challengeKey(row.Token)) {
		return nil, fmt.Errorf("the challenge of %s is under another key", row.Host)
	}
	c := &Challenge{Token: row.Token, Host: row.Host, Text: row.Text, Chain: []byte(row.Chain), Key: []byte(row.Key), Check: row.Check}
	return c, c.parse()
}
