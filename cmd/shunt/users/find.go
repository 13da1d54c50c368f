package users

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"shunt/api/client"
	"shunt/cmd/shunt/reach"
)

// findUser returns the user of an e-mail address, in any case.
func findUser(ctx context.Context, c *reach.Connection, email string) (client.User, error) {
	return userWhere(ctx, c, email, func(u *client.User, name string) bool { return strings.EqualFold(u.Email, name) })
}

// FindOrID is findUser that also takes an ID.
func FindOrID(ctx context.Context, c *reach.Connection, name string) (client.User, error) {
	return userWhere(ctx, c, name, func(u *client.User, name string) bool {
		return strings.EqualFold(u.Email, name) || strconv.FormatUint(uint64(u.ID), 10) == name
	})
}

func userWhere(ctx context.Context, c *reach.Connection, name string, is func(u *client.User, name string) bool) (client.User, error) {
	users, err := c.Users(ctx)
	if err != nil {
		return client.User{}, err
	}
	for i := range users {
		if is(&users[i], strings.TrimSpace(name)) {
			return users[i], nil
		}
	}
	return client.User{}, fmt.Errorf("there is no user %q; 'shunt user ls' lists them", name)
}
