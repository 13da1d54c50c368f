package redirect

import (
	"shunt/api/choice"
	"shunt/engine/extras"
	"shunt/engine/index"
)

// choose returns the address and the number of the target that q gets of a link: that of its first rule which matches,
// else that of its split, else its own, of which the address is nil. The number is 0 if the link has no other target.
// Bots get the own address of a link with a split, so that previews are alike.
func (r *Redirector) choose(l index.Link, q *Request) (url []byte, target uint8) {
	blob := l.Extras()
	own := extras.Target(blob)
	if own == 0 {
		return nil, 0
	}
	who, agent, country := r.asks(q)
	if rules := extras.Rules(blob); rules != nil {
		if agent.IsBot() {
			country = r.country(q)
		}
		url, target = choice.ByRule(rules, &choice.Request{
			Query: q.Query, UserAgent: q.UserAgent, Headers: q.Headers, Client: q.Client, NowMs: q.NowMs,
			Browser: agent.Dimensions().Browser(), Country: country,
		})
		if url != nil {
			return url, target
		}
	}
	if split := extras.Split(blob); split != nil && !agent.IsBot() {
		return choice.ByWeight(split, who, l.ID())
	}
	return nil, own
}
