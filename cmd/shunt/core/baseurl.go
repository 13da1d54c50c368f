package core

import (
	"fmt"

	"shunt/storage"
)

// A command that opens the data folder itself prints the addresses that the server would. Its own
// settings rarely name them: a base URL is given to the server, on its command line or in a unit
// file. So the server leaves it in the store.

// AloneBaseURL returns the base URL of a command that has opened store: what its settings name,
// otherwise that of the last server, otherwise what follows from --listen. --listen comes last
// because a server on it may speak HTTPS, or have drawn its port.
func (s *Data) AloneBaseURL(store *storage.Store) (string, error) {
	if s.BaseURL != "" || s.ACMEDomain != "" {
		return s.ResolveBaseURL(s.Listen)
	}
	noted, err := store.BaseURL()
	if err != nil {
		return "", fmt.Errorf("the base URL of the last server in %s: %w", s.Dir, err)
	}
	if noted == "" {
		return s.ResolveBaseURL(s.Listen)
	}
	if noted, err = ParseOrigin(noted); err != nil {
		return "", fmt.Errorf("the base URL of the last server in %s: it %w; name the right one with --base-url", s.Dir, err)
	}
	return noted, nil
}
