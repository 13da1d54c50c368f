package reach

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"shunt/api/client"
	"shunt/cmd/shunt/console"
	"shunt/cmd/shunt/core"
)

// Shared by backup, restore and check, which work on a whole folder and may take long.

// operationLine is a line of the answer to an operation.
type operationLine struct {
	Progress string          `json:"progress"`
	Made     json.RawMessage `json:"made"` // to be taken before the operation goes on
	Result   json.RawMessage `json:"result"`
	Error    string          `json:"error"`
}

// Operate has the server do something that may take long, and decodes its result into result. It
// closes c.
func (c *Connection) Operate(ctx context.Context, path string, body any, say func(string), result any) error {
	return errors.Join(c.follow(ctx, path, body, say, nil, result), c.close())
}

// TakeBackup has the server make a backup in a folder that it removes afterwards, and has send take
// it from there. The lines of the server are read meanwhile: they show that both live.
func (c *Connection) TakeBackup(
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
func (c *Connection) follow(
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
