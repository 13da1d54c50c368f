package cluster

import (
	"context"
	"net"
	"net/http"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/relay"
)

// ForwardStream is Forward for a read at an edge whose answer is passed on as it comes.
func (f *Forwarder) ForwardStream(ctx *fasthttp.RequestCtx, s relay.Stream) error {
	sent := fasthttp.AcquireRequest()
	defer fasthttp.ReleaseRequest(sent)
	f.prepare(sent, ctx, false)
	for deadline := time.Now().Add(forwardPatience); ; time.Sleep(forwardPause) {
		for _, p := range f.places() {
			leader, _ := f.state.Leader()
			led := leader == p.Name
			resp, stop, err := f.open(p, sent)
			if err != nil {
				continue
			}
			if resp.Header.Get(relay.RefusedField) != "" {
				stop()
				continue
			}
			resp.Header.Del(sequenceField)
			s.Stop, s.Overtaken = stop, func() bool { return led && f.overtaken(p) }
			relay.AnswerStream(ctx, resp, s)
			return nil
		}
		if time.Now().After(deadline) {
			return f.unreached()
		}
	}
}

// open sends a read to a node, and gives it up if another one leads before an answer begins. stop ends it, and
// closes its connection unless the answer was read whole.
func (f *Forwarder) open(p Place, sent *fasthttp.Request) (resp *http.Response, stop func(), err error) {
	ctx, cancel := context.WithCancel(context.Background())
	req, err := relay.To(ctx, "https://"+p.Address, string(sent.Header.RequestURI()), sent, http.NoBody)
	if err != nil {
		cancel()
		return nil, nil, err
	}
	req.Host = string(sent.Header.Host())
	transport := &http.Transport{
		DialTLSContext: f.state.Gate().Dialer(FromFull(f.tls, p.Name)), DisableCompression: true, ResponseHeaderTimeout: answerTimeout,
		DialContext: (&net.Dialer{Timeout: dialTimeout}).DialContext, TLSHandshakeTimeout: dialTimeout,
	}
	unwatch := f.watch(p, cancel)
	resp, err = transport.RoundTrip(req)
	unwatch()
	if err != nil {
		cancel()
		return nil, nil, err
	}
	return resp, func() { cancel(); _ = resp.Body.Close(); transport.CloseIdleConnections() }, nil
}
