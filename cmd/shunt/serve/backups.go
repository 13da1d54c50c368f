package serve

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/pflag"

	"shunt/api/admin"
	"shunt/cmd/shunt/core"
	"shunt/cmd/shunt/offsite"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/version"
	"shunt/storage"
)

// backupSettings say where the server sends backups of itself.
type backupSettings struct {
	to        offsite.Place // zero: nowhere
	every     time.Duration
	keep      int
	keepFor   time.Duration
	encryptTo string
	server    offsite.Settings
	seal      *offsite.Seal // nil: backups are not encrypted
}

const (
	defaultBackupEvery = 5 * time.Minute
	minBackupEvery     = 10 * time.Second
	maxBackupEvery     = 7 * 24 * time.Hour

	// The newest stay if the server was off for longer than a week.
	defaultBackupKeep    = 10
	defaultBackupKeepFor = "7d"
	maxBackupKeep        = 100_000
)

func addBackupSettings(fs *pflag.FlagSet, s *backupSettings) {
	settings.Var(fs, &s.to, "backup-to", "ADDRESS", "",
		"send backups to a bucket, s3://BUCKET/PREFIX, with the credentials of AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY or of --s3-credentials", offsite.ParsePlace)
	settings.Var(fs, &s.every, "backup-every", "DURATION", defaultBackupEvery.String(),
		"how often; a machine that is lost costs at most that and what a backup takes. One a day is verified", parseBackupEvery)
	settings.Var(fs, &s.keep, "backup-keep", "N", strconv.Itoa(defaultBackupKeep), "how many of those backups are kept at least", settings.CountUpTo(maxBackupKeep))
	settings.Var(fs, &s.keepFor, "backup-keep-for", "SPAN", defaultBackupKeepFor, "how long all of those backups are kept", settings.ParseSpan)
	offsite.AddSeal(fs, &s.encryptTo)
	offsite.Add(fs, &s.server)
}

func parseBackupEvery(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err != nil || d < minBackupEvery || d > maxBackupEvery {
		return 0, fmt.Errorf("must be a duration from %v to %v, such as 5m", minBackupEvery, maxBackupEvery)
	}
	return d, nil
}

// on reports whether the server sends backups.
func (s *backupSettings) on() bool { return s.to != offsite.Place{} }

// check refuses settings that no backup could be made with, and reads whom they are encrypted to.
func (s *backupSettings) check(edge bool) (err error) {
	switch {
	case !s.on():
		return nil
	case edge:
		return settings.UsageErrorf("--backup-to is for a server that has users and figures; this one is an edge (--edge-of, --role edge), so back up the server that it follows")
	case s.encryptTo != "":
		s.seal, err = offsite.ReadSeal(s.encryptTo)
	}
	if err == nil {
		err = offsite.Possible(&s.server, s.seal)
	}
	if err != nil {
		return settings.UsageErrorf("%w", err)
	}
	return nil
}

// keepBackups starts to send backups, if the settings say so.
func (s *server) keepBackups() {
	if s.keeper != nil {
		s.parts.Run("backups off this machine", s.keeper.Run) // one that is under way at a stop is given up
	}
}

// newKeeper returns what sends backups; nil: nothing does.
func (s *server) newKeeper() *offsite.Keeper {
	cfg := &s.cfg.backups
	if !cfg.on() {
		return nil
	}
	store := s.core.Store.Identity().StoreID
	return &offsite.Keeper{
		Order: offsite.Order{
			Place: cfg.to, Settings: &cfg.server, Seal: cfg.seal, Keep: offsite.Keep{Least: cfg.keep, Span: cfg.keepFor},
		},
		Every: cfg.every, Store: store, Log: s.say.Log,
		Make: func(ctx context.Context, verify bool, take func(context.Context, offsite.Made) error) error {
			send := func(ctx context.Context, made core.Backup) error {
				return take(ctx, offsite.Made{Dir: made.Dir, Store: store, At: made.At, Links: made.Links, Program: version.Text()})
			}
			for {
				err := s.core.StreamBackup(ctx, verify, send)
				if !errors.Is(err, storage.ErrBackupRuns) {
					return err
				}
				select { // until the others have made theirs
				case <-ctx.Done():
					return ctx.Err()
				case <-time.After(time.Second):
				}
			}
		},
	}
}

// backupFigures returns the state of the backups that are sent; nil: none are.
func (s *server) backupFigures() func() admin.Offsite {
	if s.keeper == nil {
		return nil
	}
	return func() admin.Offsite { return admin.Offsite(s.keeper.Figures()) }
}
