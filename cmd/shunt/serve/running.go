package serve

import (
	"context"
	"errors"
	"log/slog"
	"strings"
	"time"

	"shunt/api"
	"shunt/cmd/shunt/activation"
	"shunt/cmd/shunt/notify"
	"shunt/cmd/shunt/settings"
)

// This file is what a server is told, and tells, while it runs: new settings (SIGHUP), and to a
// service manager how it is doing.

// meetManager takes what the service manager has passed: sockets, and how to talk to it. A manager
// that cannot be talked to is no reason not to serve.
func (s *server) meetManager() (err error) {
	if s.passed, err = activation.Take(); err != nil {
		return err
	}
	s.cfg.listenAt(s.passed)
	if s.manager, err = notify.Open(); err != nil {
		s.say.Log.Warn("the service manager is not told how this server is doing", slog.Any("cause", err))
	}
	return nil
}

// listenAt replaces the addresses by those of the sockets that were passed.
func (cfg *serveConfig) listenAt(passed activation.Sockets) {
	for name, address := range map[string]*string{
		activation.Public: &cfg.data.Listen, activation.HTTP: &cfg.https.redirectListen, activation.Admin: &cfg.adminListen,
	} {
		if a := passed.Address(name); a != "" {
			*address = a
		}
	}
}

// reloadWhenAsked reloads the settings whenever it is asked to, until ctx ends.
func (s *server) reloadWhenAsked(ctx context.Context) error {
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-s.settings.asked:
		}
		s.manager.Reloading()
		if s.access != nil { // also if a setting is wrong: its file may have been moved away
			s.access.Reopen()
		}
		if err := s.reload(); err != nil {
			s.settings.failures.Add(1)
			s.say.Log.Error("the settings were not reloaded, and nothing has changed", slog.Any("cause", err))
		}
		s.manager.Ready(s.status())
	}
}

// reload puts the settings in force that a running server can change, and what the files hold that it
// reads: certificates, the block list and the countries. If anything is wrong, nothing changes; only a bad
// file of countries stops nothing else.
func (s *server) reload() error {
	cfg, fs, err := s.settings.read()
	if err != nil {
		return err
	}
	cfg.listenAt(s.passed)
	if err := cfg.check(); err != nil {
		return err
	}
	commits, err := s.prepare()
	if err != nil {
		return err
	}
	texts := settings.Texts(fs)
	reloads, restarts := s.settings.changed(texts)
	s.say.SetLevel(cfg.logLevel)
	s.front().Reload(api.Reloadable{TrustedProxies: cfg.trustedProxies, RateLimits: cfg.rateLimits})
	for _, commit := range commits {
		commit()
	}
	for _, name := range reloads {
		s.settings.inForce[name] = texts[name]
	}
	s.settings.lastMs.Store(time.Now().UnixMilli())
	s.say.Log.Info("the settings have been reloaded", slog.String("changed", orNone(reloads)))
	if len(restarts) > 0 {
		s.say.Log.Warn("some settings have changed that need a restart; until then the old ones are in force",
			slog.String("settings", strings.Join(restarts, " ")))
	}
	return nil
}

func orNone(names []string) string {
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, " ")
}

// prepare reads the files that a reload takes up, and returns what puts them in force.
func (s *server) prepare() (commits []func(), err error) {
	var prepares []func() (func(), error)
	if s.certs != nil {
		prepares = append(prepares, s.certs.Prepare)
	}
	if s.blocks != nil {
		prepares = append(prepares, s.blocks.Prepare)
	}
	if s.countries != nil {
		prepares = append(prepares, s.countries.Prepare)
	}
	var errs []error
	for _, prepare := range prepares {
		commit, err := prepare()
		commits, errs = append(commits, commit), append(errs, err)
	}
	return commits, errors.Join(errs...)
}
