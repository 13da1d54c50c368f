package storage

import (
	"fmt"
	"shunt/storage/row"
)

// Commands that open the store while no server runs print the same short addresses as the server
// would. So the store keeps the server's base URL. It is a row rather than a file next to the
// database, so that backups and restored stores have it too.

// BaseURL returns the base URL of the last server that ran on the store, or "" if none is known.
func (s *Store) BaseURL() (string, error) {
	v, err := s.get(row.MetaKey(row.MetaBaseURL))
	if err == nil && v == nil {
		return "", nil
	}
	baseURL := ""
	if err == nil {
		baseURL, err = row.DecodeBaseURL(v)
	}
	if err != nil {
		return "", fmt.Errorf("storage: %w", err)
	}
	return baseURL, nil
}

// NoteBaseURL stores baseURL, an origin in ASCII, for BaseURL to return. It is durable when
// NoteBaseURL returns. Nothing is written if the store already has this URL. Only one goroutine may
// call NoteBaseURL at a time.
func (s *Store) NoteBaseURL(baseURL string) error {
	if why := row.BaseURLProblem(baseURL); why != "" {
		return fmt.Errorf("storage: noting the base URL %.100q: %s", baseURL, why)
	}
	if noted, err := s.BaseURL(); err == nil && noted == baseURL {
		return nil
	}
	b := s.db.NewBatch()
	defer b.Close()
	set(b, row.MetaKey(row.MetaBaseURL), row.AppendBaseURL(nil, baseURL))
	return s.sync(b, "storage: noting the base URL")
}
