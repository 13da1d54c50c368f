package serve

import (
	"errors"
	"log/slog"

	"shunt/api"
	"shunt/api/account"
	"shunt/cmd/shunt/core"
)

// This file has the first steps that serve prints as long as nobody can sign in.

// sayNext says how to begin if nobody can: the oldest admin has neither a password nor a token, or
// there is no user. At a terminal it prints the address of the page that sets a password. Elsewhere
// it names the command that prints one, because a log is kept and read by others, and the address of the pages.
func (s *server) sayNext(baseURL string) error {
	begun, err := s.begun()
	if begun || err != nil {
		return err
	}
	if s.cfg.noDashboard {
		s.say.Next("There is no API token yet", baseURL+"/api/v1", s.withData("token", "add", "--name", "first")...)
		return nil
	}
	if s.say.Person() {
		link, err := s.setupLink(baseURL)
		if err == nil {
			s.say.Open(link)
			return nil
		}
		s.say.Log.Warn("no setup link could be made", slog.Any("cause", err))
	}
	s.say.Next("Nobody can sign in yet; this command prints the set-up link for the first admin", api.PagesURL(baseURL), s.withData("user", "setup-link")...)
	return nil
}

// withData returns the words of one of our commands about the data of this server.
func (s *server) withData(words ...string) []string {
	command := append([]string{s.program}, words...)
	if s.cfg.data.Dir != core.DefaultDataDir {
		command = append(command, "--data", s.cfg.data.Dir)
	}
	return command
}

// begun reports whether the oldest admin has a password or a token.
func (s *server) begun() (bool, error) {
	admin, err := s.core.Accounts.OldestAdmin()
	if errors.Is(err, account.ErrNoUser) {
		return false, nil
	}
	if err != nil || admin.HasPassword {
		return err == nil, err
	}
	tokens, err := s.core.Accounts.ListTokens(admin.ID)
	return len(tokens) > 0, err
}

// setupLink makes a setup link for the oldest admin, and the admin if there is no user.
func (s *server) setupLink(baseURL string) (string, error) {
	admin, _, err := s.core.Accounts.EnsureAdmin()
	if err != nil {
		return "", err
	}
	code, _, err := s.core.Accounts.NewSetupCode(account.Caller{Origin: account.Origin{Local: true}}, admin.ID)
	return api.SetupURL(baseURL, code), err
}
