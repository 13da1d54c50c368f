package ops

import (
	"bytes"
	"errors"
	"fmt"
	"testing"
	"time"

	"shunt/api/account"
	"shunt/api/jsonbody"
	"shunt/engine"
)

var (
	benchNow    = time.Unix(1_800_000_000, 0)
	benchCaller = account.Caller{User: account.User{ID: 1}}
)

// The bodies that clients send most: an address, an address with more fields, a line of an export.
var benchBodies = []struct{ name, text string }{
	{"url", `{"url":"https://example.org/articles/2026/a-rather-long-title?id=x7Kd01aZ"}`},
	{"fields", `{"url":"https://example.org/articles/2026/a?id=x7Kd01aZ","alias":"spring-sale","title":"Größe 1","tags":["a","b"],"expires_at":"2030-12-31T23:59:59Z","max_hits":1000,"redirect_status":301}`},
	{"export", `{"code":"x7Kd01aZ","short_url":"https://sho.rt/x7Kd01aZ","url":"https://example.org/articles/2026/a?id=x7Kd01aZ","redirect_status":302,"state":"active","owner":1,"created_at":"2026-01-02T03:04:05.678Z","updated_at":"2026-01-02T03:04:05.678Z","expires_at":null,"max_hits":null,"title":"","tags":[],"forward_query":false,"disabled":false,"hits":7}`},
}

func BenchmarkReadLink(b *testing.B) {
	c := &Calls{o: Options{Domains: onlyDefault(b, "https://sho.rt")}}
	for _, body := range benchBodies {
		read := (*linkReader).readDraft
		if body.name == "export" {
			read = (*linkReader).readImport
		}
		b.Run("body="+body.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				var r linkReader
				r.begin(c, benchCaller, 1, benchNow)
				d := engine.Draft{}
				if err := read(&r, &d, []byte(body.text)); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkReadBulk reads 1,000 items.
func BenchmarkReadBulk(b *testing.B) {
	c := &Calls{o: Options{Domains: onlyDefault(b, "https://sho.rt")}}
	for _, body := range benchBodies {
		read := (*linkReader).readDraft
		if body.name == "export" {
			read = (*linkReader).readImport
		}
		items := bytes.Repeat([]byte(body.text+",\n"), 1000)
		text := append(append([]byte("["), items[:len(items)-2]...), ']')
		bulk := Bulk{Body: jsonbody.Body{MediaType: []byte(jsonbody.JSON), Text: text}}
		b.Run("body="+body.name, func(b *testing.B) {
			b.ReportAllocs()
			room := bulkRoom{reader: linkReader{policy: c.o.Targets, domains: onlyDefault(b, "https://sho.rt"), user: 1, now: benchNow}}
			for b.Loop() {
				if err := room.readItems(&bulk, read); err != nil || len(room.items) != 1000 || room.items[999].Refused != nil {
					b.Fatal(err)
				}
				clear(room.items)
			}
		})
	}
}

func BenchmarkWriteLink(b *testing.B) {
	l := &listOf(1)[0]
	b.ReportAllocs()
	var dst []byte
	for b.Loop() {
		dst = append(l.AppendJSON(nil), '\n')
	}
	_ = dst
}

// BenchmarkWriteBulk writes the answers of 1,000 items.
func BenchmarkWriteBulk(b *testing.B) {
	made, refused := make(Results, 1000), make(Results, 1000)
	for i, l := range listOf(1000) {
		made[i].Link = l
		refused[i].Err = errors.Join(engine.InvalidError{{Field: "url", Code: "scheme", Message: fmt.Sprint("must be http or https, in item ", i)}})
	}
	for name, results := range map[string]Results{"made": made, "refused": refused} {
		b.Run("items="+name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				_ = append(results.AppendJSON(nil), '\n')
			}
		})
	}
}
