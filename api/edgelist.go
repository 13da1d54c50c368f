package api

import (
	"errors"
	"slices"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/api/admin"
	"shunt/api/edges"
	"shunt/api/exchange"
	"shunt/api/problem"
)

// edgeList are the calls of admins about the edges of this server.
type edgeList struct {
	Edges
	accounts *account.Accounts
	known    edges.Known
	now      func() time.Time
	since    time.Time // when this server started
}

// tokenNames returns the names that tokens of edges have, and the tokens.
func (l *edgeList) tokenNames() (names []string, tokens []account.Token, err error) {
	tokens, err = l.accounts.EdgeTokens()
	for _, t := range tokens {
		names = append(names, t.Name)
	}
	return names, tokens, err
}

// list returns all edges, by name. A server that can have none has none.
func (l *edgeList) list() ([]edges.Edge, error) {
	if l.Met == nil {
		return []edges.Edge{}, nil
	}
	names, _, err := l.tokenNames()
	if err != nil {
		return nil, err
	}
	met, err := l.Met()
	if err != nil {
		return nil, err
	}
	return l.known.List(names, met, l.Head(), l.now()), nil
}

// figures returns what the metrics say of the edges that were met. It reads no table.
func (l *edgeList) figures() []admin.Edge {
	met, err := l.Met()
	if err != nil { // the store is in trouble, which other metrics say
		return nil
	}
	now := l.now()
	all := l.known.List(nil, met, 0, now)
	figures := make([]admin.Edge, len(all))
	for i := range all {
		e := &all[i]
		f := admin.Edge{Name: e.Name, Silent: now.Sub(l.since).Seconds(), Lag: -1, WaitingHits: -1, WaitingBytes: -1}
		if e.SeenAt != nil {
			f.Silent = max(0, now.Sub(*e.SeenAt).Seconds())
		}
		if e.Lag != nil {
			f.Lag = *e.Lag
		}
		if e.Hits != nil {
			f.WaitingHits = float64(*e.Hits)
		}
		if e.HitsBytes != nil {
			f.WaitingBytes = float64(*e.HitsBytes)
		}
		if e.ServesTill != nil {
			f.ServesTill = *e.ServesTill
		}
		figures[i] = f
	}
	return figures
}

// forget revokes the tokens of an edge, and frees its name. It returns what was known of the edge.
func (l *edgeList) forget(by account.Caller, name string) (edges.Edge, error) {
	all, err := l.list()
	if err != nil {
		return edges.Edge{}, err
	}
	i := slices.IndexFunc(all, func(e edges.Edge) bool { return e.Name == name })
	if i < 0 {
		return edges.Edge{}, problem.New(problem.NotFound, "this server has no edge of that name")
	}
	_, tokens, err := l.tokenNames()
	if err != nil {
		return edges.Edge{}, err
	}
	for _, t := range tokens {
		if t.Name != name {
			continue
		}
		if err := l.accounts.RevokeToken(by, t.UserID, t.ID); err != nil && !errors.Is(err, account.ErrNoToken) {
			return edges.Edge{}, err
		}
	}
	if err := l.Forget(name); err != nil {
		return edges.Edge{}, err
	}
	l.known.Forget(name)
	return all[i], nil
}

// listEdges is GET /edges.
func (l *edgeList) listEdges(ctx *fasthttp.RequestCtx, _ account.Caller) error {
	if err := exchange.NoParameters(ctx); err != nil {
		return err
	}
	all, err := l.list()
	if err != nil {
		return err
	}
	return exchange.WriteJSON(ctx, fasthttp.StatusOK, struct {
		Data []edges.Edge `json:"data"`
	}{all})
}

// forgetEdge is DELETE /edges/{name}.
func (l *edgeList) forgetEdge(ctx *fasthttp.RequestCtx, caller account.Caller) error {
	if err := exchange.NoParameters(ctx); err != nil {
		return err
	}
	name, _ := ctx.UserValue("name").(string)
	if _, err := l.forget(caller, name); err != nil {
		return err
	}
	ctx.SetStatusCode(fasthttp.StatusNoContent)
	return nil
}
