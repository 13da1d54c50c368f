package core

import (
	"context"
	"errors"
	"io"
	"time"

	"shunt/cmd/shunt/backups"
)

// SendLinks writes what an edge of the cluster may have to w, as SendBackup does a backup.
func (c *Core) SendLinks(w io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), sendTimeout)
	defer cancel()
	made, err := c.Store.LinksToStream(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Store.RemoveStream()) }()
	return backups.Send(ctx, w, made.Dir, time.Now(), func(uint64) {})
}

// SendBackup writes a backup to w as a tar stream. Who receives it verifies it.
func (c *Core) SendBackup(w io.Writer) (err error) {
	ctx, cancel := context.WithTimeout(context.Background(), sendTimeout)
	defer cancel()
	if err := c.Engine.FlushRecorded(ctx); err != nil {
		return err
	}
	made, err := c.Store.BackupToStream(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.Store.RemoveStream()) }()
	return backups.Send(ctx, w, made.Dir, time.Now(), func(uint64) {})
}

// sendTimeout bounds the making of a copy for another node, and its sending.
const sendTimeout = 6 * time.Hour
