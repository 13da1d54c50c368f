package target

import (
	"strings"
	"testing"

	"shunt/engine/expect"
)

// FuzzTypedTargetsAreJudgedLikeOthers checks that what is typed is stored in a form that Parse stores
// unchanged under the same policy, and that what Parse takes is only trimmed at its end.
func FuzzTypedTargetsAreJudgedLikeOthers(f *testing.F) {
	for _, seed := range []string{"127.0.0.1:80/x", "java script:x", " \tjavascript:x", "http:\\\\a", "１２７.0.0.1", "a.b:1@c", "[::1]", ".", "..", "a.:1", "\xff.a",
		"sho.rt", "evil.example/", "\t\r\nhttps://a.example/x\n\v\f", "\ufeff\u200bhttps://a.example/x\u200d\u2060", "https://a.example/b c?d e#f g",
		"HTTP://a.example:/%7e", "WWW.Example.COM:8080/Path", "Bücher.example/ü", "例え。jp/", "example.com/@user", "8.8.8.8:80/x", "xn--a-.b", "\u00ad.b", "a.\u00ad", "％.b", ":80", "a.b:٣"} {
		f.Add(seed)
	}
	p := Policy{RefusePrivate: true, OwnOrigins: ParseOrigins("https://sho.rt"), Blocked: new(BlockList)}
	expect.OK(f, expect.Err(p.Blocked.Replace([]byte("evil.example"))))
	f.Fuzz(func(t *testing.T, raw string) {
		got, err := p.ParseTyped(raw)
		strict, errStrict := p.Parse(raw)
		switch {
		case err != nil:
			expect.MustThat(t, fieldCode(err) != "" && got == "" && errStrict != nil, "%q: got %q, %v; as it was sent %q, %v", raw, got, err, strict, errStrict)
			return
		case errStrict == nil && strings.TrimRightFunc(strict, isBlank) != got:
			t.Fatalf("%q: got %q, as it was sent %q", raw, got, strict)
		}
		again, err := p.Parse(got)
		expect.MustThat(t, err == nil && again == got, "%q became %q, which became %q, %v", raw, got, again, err)
		if again, err := p.ParseTyped(got); err != nil || again != got {
			t.Fatalf("%q became %q, which, typed, became %q, %v", raw, got, again, err)
		}
		checkAgainstNetURL(t, got, got)
	})
}

func TestTypedTargetsThatArePlainTakeNoMemory(t *testing.T) {
	p := Policy{OwnOrigins: ParseOrigins("https://sho.rt"), RefusePrivate: true}
	raw := "https://www.example.com/a/page/of/some/length?and=a#query"
	if n := testing.AllocsPerRun(100, func() { _, _ = p.ParseTyped(raw) }); n != 0 {
		t.Errorf("got %v allocations", n)
	}
}
