package command

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"time"

	"shunt/api/client"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/core"
	"shunt/cmd/shunt/socket"
	"shunt/storage"
)

// Shared by backup, restore and check, which work on a whole folder and may take long.

// reach connects to the server that runs on the folder; or returns nil, and what alone has
// returned: it opens the folder, and storage.ErrLocked means that a process without a socket has
// it.
func (t *localTarget) reach(ctx context.Context, alone func() error) (*connection, error) {
	if err := t.data.CheckFolder(); err != nil {
		return nil, err
	}
	path, tooLong := socket.Path(t.data.Dir) // too long: no server can run on it, but a backup can be there
	patience, cancel := context.WithTimeout(ctx, t.patience)
	defer cancel()
	for {
		if tooLong == nil {
			if c, err := t.connectSocket(patience, path); c != nil || err != nil {
				return c, err
			}
		}
		err := alone()
		if !errors.Is(err, storage.ErrLocked) {
			return nil, err
		}
		select {
		case <-patience.Done():
			return nil, fmt.Errorf("%w (and nothing has answered at %s for %v)", err, path, t.patience)
		case <-time.After(retryInterval):
		}
	}
}

// operationLine is a line of the answer to an operation.
type operationLine struct {
	Progress string          `json:"progress"`
	Made     json.RawMessage `json:"made"` // to be taken before the operation goes on
	Result   json.RawMessage `json:"result"`
	Error    string          `json:"error"`
}

// operate has the server do something that may take long, and decodes its result into result. It
// closes c.
func (c *connection) operate(ctx context.Context, path string, body any, say func(string), result any) error {
	return errors.Join(c.follow(ctx, path, body, say, nil, result), c.close())
}

// takeBackup has the server make a backup in a folder that it removes afterwards, and has send take
// it from there. The lines of the server are read meanwhile: they show that both live.
func (c *connection) takeBackup(
	ctx context.Context, body any, say func(string), done *core.Backup, send func(context.Context, core.Backup) error,
) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	take := func(made json.RawMessage) {
		var folder core.Backup
		err := json.Unmarshal(made, &folder)
		if err == nil {
			err = send(ctx, folder)
		}
		if err == nil {
			err = c.Do(ctx, http.MethodPost, "/backup/taken", nil, nil)
		}
		if err != nil {
			cancel(err) // the server sees that the client has gone
		}
	}
	err := c.follow(ctx, "/backup", body, say, func(made json.RawMessage) { go take(made) }, done)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = cause
	}
	return errors.Join(err, c.close())
}

// follow reads the lines of an operation. made is called with what is to be taken; nil: nothing is.
func (c *connection) follow(
	ctx context.Context, path string, body any, say func(string), made func(json.RawMessage), result any,
) error {
	for text, err := range c.Lines(ctx, http.MethodPost, path, body) {
		if refused := (*client.Problem)(nil); errors.As(err, &refused) {
			return err
		}
		if err != nil {
			return fmt.Errorf("the server ended, or was stopped, before this was done: %w", err)
		}
		var line operationLine
		if err := json.Unmarshal(text, &line); err != nil {
			return fmt.Errorf("the server's answer: %w", err)
		}
		switch {
		case line.Error != "":
			return errors.New(console.Printable(line.Error))
		case line.Result != nil:
			return json.Unmarshal(line.Result, result)
		case line.Made != nil && made != nil:
			made(line.Made)
			continue
		}
		say(console.Printable(line.Progress))
	}
	return errors.New("the server was stopped before this was done")
}
