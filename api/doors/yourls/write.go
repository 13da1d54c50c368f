package yourls

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"regexp"
	"strconv"

	"github.com/valyala/fasthttp"

	"shunt/api/doors/door"
	"shunt/api/exchange"
	"shunt/api/jsontext"
)

// The formats; every other one is simple.
const (
	formatXML   = "xml"
	formatJSON  = "json"
	formatJSONP = "jsonp"
)

// callbackForm is what may be called with an answer: a name in JavaScript, or a place in an array.
var callbackForm = regexp.MustCompile(`^[A-Za-z0-9_$.\[\]]{1,64}$`)

// errCallback is the answer to a request for JSONP without a callback that may be called.
var errCallback = answer{400, fields{{"errorCode", "400"}, {"error", "Invalid callback parameter"}}, "Invalid callback parameter"}

// A form is how an answer is written.
type form struct{ format, callback string }

// formOf returns the form that a request asks for. It is good unless it is JSONP that nothing could call.
func formOf(v door.Values) (f form, good bool) {
	f.format = formatXML
	if asked, sent := v["format"]; sent {
		f.format = asked
	}
	f.callback = v.First("callback", "jsonp")
	if good = callbackForm.MatchString(f.callback); !good {
		f.callback = ""
	}
	return f, good || f.format != formatJSONP
}

// write answers with a.
func (f form) write(ctx *fasthttp.RequestCtx, a answer) error {
	if f.callback != "" {
		a.fields = append(a.fields[:len(a.fields):len(a.fields)], field{"callback", f.callback})
	}
	switch f.format {
	case formatXML:
		return exchange.Write(ctx, a.status, "application/xml; charset=utf-8", asXML(a.fields))
	case formatJSON:
		return exchange.Write(ctx, a.status, "application/json", appendJSON(nil, a.fields))
	case formatJSONP:
		if f.callback == "" {
			return exchange.Write(ctx, a.status, "application/json", appendJSON(nil, a.fields))
		}
		text := append([]byte(f.callback), '(')
		return exchange.Write(ctx, a.status, "application/javascript; charset=utf-8", append(appendJSON(text, a.fields), ')'))
	}
	return exchange.WriteText(ctx, a.status, a.simple)
}

// appendJSON appends fields as an object.
func appendJSON(dst []byte, all fields) []byte {
	dst = append(dst, '{')
	for i, f := range all {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = append(jsontext.AppendString(dst, f.name), ':')
		switch value := f.value.(type) {
		case fields:
			dst = appendJSON(dst, value)
		case int:
			dst = strconv.AppendInt(dst, int64(value), 10)
		default:
			dst = jsontext.AppendString(dst, fmt.Sprint(value))
		}
	}
	return append(dst, '}')
}

// asXML returns a document of fields. Their names are names of elements.
func asXML(all fields) []byte {
	var b bytes.Buffer
	b.WriteString(`<?xml version="1.0" encoding="UTF-8"?>` + "\n<root>")
	writeXML(&b, all)
	b.WriteString("</root>\n")
	return b.Bytes()
}

func writeXML(b *bytes.Buffer, all fields) {
	for _, f := range all {
		b.WriteString("<" + f.name + ">")
		if inner, several := f.value.(fields); several {
			writeXML(b, inner)
		} else {
			_ = xml.EscapeText(b, []byte(fmt.Sprint(f.value))) // a bytes.Buffer takes everything
		}
		b.WriteString("</" + f.name + ">")
	}
}
