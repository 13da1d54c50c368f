package core

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"

	"shunt/api"
	"shunt/api/admin"
	"shunt/cmd/shunt/version"
)

// APIOptions returns the options of the API that follow from c; serve adds its own.
func (c *Core) APIOptions(s *Data, baseURL string, log *slog.Logger) api.Options {
	clients, admins := connectionsWithin(descriptors(), openTables())
	return api.Options{
		MaxConnections: clients, AdminConnections: admins,
		Engine: c.Engine, Accounts: c.Accounts, Domains: c.Domains, Folders: c.Folders, BeginScan: c.Store.BeginScan, BaseURL: baseURL, Listens: []string{s.Listen}, PrivateTargets: s.PrivateTargets,
		TargetSchemes: s.targetSchemes,
		Logger:        log, Version: version.Text(), Metrics: admin.Sources{Store: c.storageMetrics, Backup: c.lastBackup},
		Operations: api.Operations{Backup: c.backUp, Check: c.check},
	}
}

// ServeOn serves ln as a part of parts; it ends by the server's Shutdown. An error of the listener
// after that is not a failure: the server may have been shut down before it began to serve.
func ServeOn(parts *Stack, name string, serve func(net.Listener) error, ln net.Listener) {
	parts.Run(name, func(context.Context) error {
		err := serve(ln)
		if parts.stopping.Load() {
			return nil
		}
		return err
	})
}

// DrainOnStop makes closing the listeners of server the first step of the stop.
func DrainOnStop(parts *Stack, server *api.Server, log *slog.Logger) {
	parts.OnStop("drain", func() error {
		until := max(leastDrain, time.Until(parts.began.Add(drainBy))) // idle clients get api's own 3 s of it
		ctx, cancel := context.WithTimeout(context.Background(), until)
		defer cancel()
		err := server.Shutdown(ctx)
		if errors.Is(err, context.DeadlineExceeded) {
			log.Warn("some requests did not finish in time and were cut off", "after", drainBy)
			return nil
		}
		return err
	})
}

// SettleOnStop makes it the first step of the stop that the store settles, which goes on while clients finish. It is
// called last.
func (c *Core) SettleOnStop(parts *Stack) {
	parts.OnStop("settling", func() error {
		c.Store.Settle(parts.began.Add(settleBy))
		c.Engine.CloseBy(parts.began.Add(flushBy))
		return nil
	})
}
