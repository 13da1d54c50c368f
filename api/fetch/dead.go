package fetch

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	"shunt/engine"
)

// errUnasked says that a target is none that this server may ask, as its text shows: a private address, a blocked host,
// an app. It says nothing about the target. A name that leads to a private address is no such target but a dead one, as
// if nobody had it: who may check links would learn otherwise which names the server's own network has.
var errUnasked = errors.New("cannot be asked from here")

// answers returns nil if a server answers for an address with anything but 404, 410 and 5xx: a page that asks for a
// password is not dead. It asks with HEAD, and with GET if that does not end well, because many servers do not know
// HEAD. errUnasked: the target, or one that it redirects to, may not be asked.
func (c *Client) answers(ctx context.Context, address string, may func(address string) (string, error)) (err error) {
	for _, method := range []string{http.MethodHead, http.MethodGet} {
		one, cancel := context.WithTimeout(ctx, c.patience/2) // some never answer HEAD
		err = c.answersTo(one, method, address, may)
		if cancel(); err == nil || errors.Is(err, errUnasked) {
			return err
		}
	}
	return err
}

func (c *Client) answersTo(ctx context.Context, method, address string, may func(address string) (string, error)) error {
	a, err := c.get(ctx, method, address, "*/*", may)
	var refused engine.FieldError
	switch {
	case errors.As(err, &refused):
		return errUnasked
	case err != nil:
		return err
	}
	_ = a.Body.Close() // nothing of it is read
	if s := a.StatusCode; s == http.StatusNotFound || s == http.StatusGone || s >= 500 {
		return fmt.Errorf("answers with status %d", s)
	}
	return nil
}
