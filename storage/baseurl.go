package storage

import (
	"fmt"
	"strings"

	"shunt/engine"
)

// Commands that open the store while no server runs print the short addresses that the server
// would. So the store keeps the server's base URL: as a row rather than a file beside the database,
// so that backups and restored stores have it too.

const baseURLVersion = 1

// maxBaseURLBytes bounds a base URL: it is checked as a target is, so none is longer.
const maxBaseURLBytes = engine.MaxTargetBytes

// appendBaseURL appends the base URL of the last server: scheme, host and port, in ASCII.
//
//	┌───────────┬──────────┐
//	│ version 1 │ base URL │
//	└───────────┴──────────┘
func appendBaseURL(dst []byte, baseURL string) []byte {
	return append(append(dst, baseURLVersion), baseURL...)
}

func decodeBaseURL(v []byte) (string, error) {
	r := readValue("base URL", v, baseURLVersion)
	text := string(r.rest)
	if why := baseURLProblem(text); r.err == nil && why != "" {
		r.fail(why)
	}
	if r.err != nil {
		return "", r.err
	}
	return text, nil
}

// baseURLProblem says why text cannot be kept as a base URL, "" if it can.
func baseURLProblem(text string) string {
	visible := func(c rune) bool { return ' ' < c && c <= '~' }
	switch {
	case text == "" || len(text) > maxBaseURLBytes:
		return fmt.Sprintf("it has %d bytes", len(text))
	case strings.ContainsFunc(text, func(c rune) bool { return !visible(c) }):
		return "it has characters that no address has"
	}
	return ""
}

// BaseURL returns the base URL of the last server that ran on the store; empty if it is not known.
func (s *Store) BaseURL() (string, error) {
	v, err := s.get(metaKey(metaBaseURL))
	if err == nil && v == nil {
		return "", nil
	}
	baseURL := ""
	if err == nil {
		baseURL, err = decodeBaseURL(v)
	}
	if err != nil {
		return "", fmt.Errorf("storage: %w", err)
	}
	return baseURL, nil
}

// NoteBaseURL stores baseURL, an origin in ASCII, for BaseURL to return. It is durable when
// NoteBaseURL returns; nothing is written if the store has it already. Only one goroutine may call
// it at a time.
func (s *Store) NoteBaseURL(baseURL string) error {
	if why := baseURLProblem(baseURL); why != "" {
		return fmt.Errorf("storage: noting the base URL %.100q: %s", baseURL, why)
	}
	if noted, err := s.BaseURL(); err == nil && noted == baseURL {
		return nil
	}
	b := s.db.NewBatch()
	defer b.Close()
	set(b, metaKey(metaBaseURL), appendBaseURL(nil, baseURL))
	return s.sync(b, "storage: noting the base URL")
}
