package main

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shunt/api"
	"shunt/api/admin"
	"shunt/cmd/shunt/activation"
	"shunt/cmd/shunt/notify"
	"shunt/cmd/shunt/settings"
)

// This file is what a server is told, and tells, while it runs: new settings (SIGHUP), and to a
// service manager how it is doing.

// A reloader reads the settings again and puts in force those that a running server can change.
type reloader struct {
	read    func() (*serveConfig, *pflag.FlagSet, error) // what a start would read now
	asked   chan struct{}                                // of one place: a signal during a reload is not lost
	inForce map[string]string                            // the text of each setting

	lastMs   atomic.Int64 // Unix time of the last reload that took effect; 0: none
	failures atomic.Uint64
}

// newReloader returns the reloader of the settings of cmd, which have been read.
func newReloader(cmd *cobra.Command) *reloader {
	return &reloader{
		read:    func() (*serveConfig, *pflag.FlagSet, error) { return readAgain(cmd) },
		asked:   make(chan struct{}, 1),
		inForce: settings.Texts(cmd.Flags()),
	}
}

// readAgain reads the settings of cmd from the environment and the file as they are now. What the
// command line gave stays.
func readAgain(cmd *cobra.Command) (*serveConfig, *pflag.FlagSet, error) {
	cfg, fresh := new(serveConfig), new(cobra.Command)
	addServeSettings(fresh, cfg)
	err := settings.CopyGiven(fresh.Flags(), cmd.Flags())
	if err == nil {
		err = settings.Apply(fresh.Flags(), knownSettings(cmd.Root()), os.Environ(), io.Discard) // the start has warned
	}
	return cfg, fresh.Flags(), err
}

// figures returns what has been reloaded, for the metrics. Any goroutine may call it.
func (r *reloader) figures() (f admin.Reloads) {
	f.Failures = r.failures.Load()
	if ms := r.lastMs.Load(); ms > 0 {
		f.LastAt = time.UnixMilli(ms)
	}
	return f
}

// ask asks for a reload and does not wait for it.
func (r *reloader) ask() {
	select {
	case r.asked <- struct{}{}:
	default: // one that has not begun is asked for already
	}
}

// reloadable reports whether a running server can change the setting with that name.
func reloadable(name string) bool {
	return name == "log-level" || name == "trusted-proxy" || strings.HasPrefix(name, "limit-")
}

// changed returns the settings whose text differs from the one in force: those that are reloaded, and
// those that need a restart.
func (r *reloader) changed(texts map[string]string) (reloads, restarts []string) {
	for name, text := range texts {
		switch {
		case text == r.inForce[name]:
		case reloadable(name):
			reloads = append(reloads, name)
		default:
			restarts = append(restarts, name)
		}
	}
	slices.Sort(reloads)
	slices.Sort(restarts)
	return reloads, restarts
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
		activation.Public: &cfg.data.listen, activation.HTTP: &cfg.https.redirectListen, activation.Admin: &cfg.adminListen,
	} {
		if a := passed.Address(name); a != "" {
			*address = a
		}
	}
}

// front returns the HTTP server; nil before it is there.
func (s *server) front() *api.Server { return s.served.Load() }

// isReady tells the service manager that the server redirects.
func (s *server) isReady() { s.manager.Ready(s.status()) }

// status returns a line for people who look at the service.
func (s *server) status() string {
	switch {
	case s.draining.Load():
		return "stopping"
	case s.front() == nil:
		return "starting"
	}
	return s.front().Health().Line()
}

// alive reports whether the server answers requests, as far as that does not depend on a disk: a disk
// that hangs stops no redirect, and killing the server would.
func (s *server) alive() bool { return s.front() == nil || s.front().Beat() }
