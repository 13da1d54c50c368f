package client

import (
	"context"
	"net/http"
	"net/url"
	"time"
)

// An Edge is what a server knows of one of its edges. What only the edge can say is nil until it has asked since the
// server's start.
type Edge struct {
	Name       string     `json:"name"`
	State      string     `json:"state"`                  // connected, silent, revoked, or new: it was never here
	SeenAt     *time.Time `json:"seen_at"`                // when the server last heard from it
	Address    string     `json:"address"`                // of its connection
	Version    string     `json:"version"`                // of its program
	Position   *uint64    `json:"position"`               // last entry of the server's log of changes that it has applied
	Behind     *uint64    `json:"behind"`                 // entries that it lacks; nil also if it must take a copy
	Lag        *float64   `json:"lag_seconds"`            // time for which it may lack changes
	Hits       *uint64    `json:"hits_waiting"`           // that it had counted and not given when it last asked
	HitsBytes  *uint64    `json:"hits_waiting_bytes"`     // of their records
	ServesTill *time.Time `json:"certificate_expires_at"` // its certificate for visitors; nil: it has none, or has not said so
}

// Edges returns the edges of the server, by name.
func (c *Client) Edges(ctx context.Context) ([]Edge, error) {
	edges, err := ask[list[Edge]](ctx, c, call{method: http.MethodGet, path: "/edges"}, nil)
	return edges.Data, err
}

// ForgetEdge revokes the token of an edge, and frees its name.
func (c *Client) ForgetEdge(ctx context.Context, name string) error {
	_, err := c.do(ctx, call{method: http.MethodDelete, path: "/edges/" + url.PathEscape(name)}, nil, nil)
	return err
}
