//go:build !linux || race

package api

// servePublic serves the public address in memory, where the lane answers.
func (st *site) servePublic() dialer { return st.serve(st.ServePublic) }
