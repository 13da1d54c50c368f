package kutt

import (
	"strconv"

	"github.com/valyala/fasthttp"

	"shunt/api/exchange"
	"shunt/api/jsontext"
	"shunt/api/ops"
	"shunt/engine"
)

// writeLink answers with a link.
func (k *kutt) writeLink(ctx *fasthttp.RequestCtx, status int, l *ops.Link) error {
	return exchange.WriteAppended(ctx, status, func(dst []byte) []byte { return append(k.appendLink(append(dst, '{'), l), '}') })
}

// appendLink appends the members of a link.
func (k *kutt) appendLink(dst []byte, l *ops.Link) []byte {
	text := func(name, value string) { dst = jsontext.AppendString(append(dst, `"`+name+`":`...), value) }
	text("id", k.idOf(l))
	dst = append(dst, ',')
	text("address", l.Code)
	dst = strconv.AppendBool(append(dst, `,"banned":`...), l.State == engine.StateBlocked || l.State == engine.StateDisabled)
	dst = jsontext.AppendTime(append(dst, `,"created_at":`...), l.CreatedAt)
	dst = jsontext.AppendTime(append(dst, `,"updated_at":`...), l.UpdatedAt)
	dst = strconv.AppendBool(append(dst, `,"password":`...), l.Lock != 0)
	dst = appendOr(append(dst, `,"description":`...), l.Note)
	dst = append(dst, `,"expire_in":`...)
	if l.ExpiresAt.IsZero() {
		dst = append(dst, `null,"relative_expire_in":null`...)
	} else {
		dst = append(jsontext.AppendTime(dst, l.ExpiresAt), `,"relative_expire_in":`...)
		dst = jsontext.AppendString(dst, spanText(max(0, l.ExpiresAt.Sub(k.Now()))))
	}
	dst = append(dst, ',')
	text("target", l.Target)
	dst = strconv.AppendUint(append(dst, `,"visit_count":`...), l.Hits, 10)
	dst = appendOr(append(dst, `,"domain":`...), l.Host)
	dst = append(dst, ',')
	text("link", l.ShortURL)
	return dst
}

// appendOr appends a text, or null if it is empty.
func appendOr(dst []byte, text string) []byte {
	if text == "" {
		return append(dst, "null"...)
	}
	return jsontext.AppendString(dst, text)
}
