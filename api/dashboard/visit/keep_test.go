package visit

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/valyala/fasthttp"

	"shunt/api/account"
	"shunt/engine/expect"
)

func callerOf(user int, session string) account.Caller {
	return account.Caller{User: account.User{ID: uint32(user)}, SessionID: session}
}

// keptAt returns a keep, and its clock.
func keptAt() (keep, *time.Time) {
	now := time.Unix(1e9, 0)
	return newKeep(func() time.Time { return now }), &now
}

func (k *keep) setSecret(c account.Caller, secret string) {
	k.change(c, func(e *kept) { e.secret = secret })
}

func (k *keep) secretOf(c account.Caller) (secret string) {
	k.take(c.SessionID, func(e *kept) { secret, e.secret = e.secret, "" })
	return secret
}

func TestWhatIsKeptIsGivenOnceToItsSession(t *testing.T) {
	k, now := keptAt()
	ann, ben := callerOf(1, "ann"), callerOf(2, "ben")
	k.setSecret(ann, "x")
	expect.That(t, k.secretOf(ben) == "" && k.secretOf(ann) == "x" && k.secretOf(ann) == "" && len(k.of) == 0, "want it given once, and nothing left")
	k.setSecret(ann, "x")
	*now = now.Add(keptFor + time.Second)
	expect.That(t, k.secretOf(ann) == "" && len(k.of) == 0, "what is too old is given, or stays")
	k.setSecret(ann, "old")
	*now = now.Add(keptFor + time.Second)
	k.change(ann, func(e *kept) { e.notice = &notice{} })
	expect.Equal(t, k.secretOf(ann), "", "a new notice has revived what is too old")
}

func TestOneUserCannotPushOutWhatOthersKeep(t *testing.T) {
	k, now := keptAt()
	ann := callerOf(1, "ann")
	k.setSecret(ann, "x")
	for i := range 10 * maxKept {
		*now = now.Add(time.Millisecond)
		k.setSecret(callerOf(2, fmt.Sprint("ben", i)), "y")
	}
	expect.That(t, len(k.of) == 1+maxKeptUser && k.secretOf(callerOf(2, fmt.Sprint("ben", 10*maxKept-1))) == "y" && k.secretOf(ann) == "x",
		"%d sessions have something kept, want %d, with the newest", len(k.of), 1+maxKeptUser)
}

func TestWhatIsKeptIsBounded(t *testing.T) {
	k, now := keptAt()
	for i := range 2 * maxKept {
		*now = now.Add(time.Millisecond)
		k.setSecret(callerOf(i, fmt.Sprint(i)), "x")
	}
	expect.That(t, len(k.of) == maxKept && k.secretOf(callerOf(0, fmt.Sprint(maxKept-1))) == "" && k.secretOf(callerOf(0, fmt.Sprint(maxKept))) == "x",
		"%d sessions have something kept, want the newest %d", len(k.of), maxKept)
}

func TestRacingSessionsKeepTheirOwn(t *testing.T) {
	k := newKeep(time.Now)
	var racers sync.WaitGroup
	for i := range 8 {
		racers.Go(func() {
			c := callerOf(i, fmt.Sprint(i))
			for n := range 1000 {
				k.setSecret(c, fmt.Sprint(i, n))
				expect.Equal(t, k.secretOf(c), fmt.Sprint(i, n), "of session %d", i)
			}
		})
	}
	racers.Wait()
}

func argsOf(text string) *fasthttp.Args {
	args := &fasthttp.Args{}
	args.Parse(text)
	return args
}

func TestAKeptFormHasNoSecretsAndAllElse(t *testing.T) {
	fields, lost := PackForm(argsOf("url=http%3A%2F%2Fa%2F%3Fb%26c&tag=a&tag=b&password=x&new-password=x&current-password=x&code=x&empty=&t%C3%A4g=1%0D%0A2"))
	want := "[{kept.url http://a/?b&c} {kept.tag a} {kept.tag b} {kept.empty } {kept.täg 1\r\n2}]"
	got := fmt.Sprint(fields)
	expect.That(t, !lost && got == want, "got %q, want %q", got, want)
	again := KeptFields(argsOf("email=ann&password=x&next=%2F_%2F&kept.url=http%3A%2F%2Fa%2F&kept.password=x&kept.code=x&kept.=y"))
	expect.Equal(t, fmt.Sprint(again), "[{kept.url http://a/} {kept. y}]", "from the form to sign in")
	fields, lost = PackForm(&fasthttp.Args{})
	expect.That(t, !lost && fields == nil, "an empty form: got %v, %v", fields, lost)
}

func TestAKeptFormFitsIntoASignIn(t *testing.T) {
	for name, text := range map[string]string{"letters": "x", "percent": "%25", "umlauts": "%C3%A4", "lines": "%0D%0A"} {
		for n := 1000; ; n += 100 {
			args := argsOf("f=" + strings.Repeat(text, n))
			fields, lost := PackForm(args)
			if lost {
				expect.That(t, n*len(text) >= maxFormBytes-1000, "%s: %d are too many", name, n)
				break
			}
			sent := &fasthttp.Args{}
			for _, f := range fields {
				sent.Add(f.Name, f.Value)
			}
			expect.MustThat(t, len(sent.String()) <= maxFormBytes && len(KeptFields(sent)) == 1, "%s: %d are sent as %d bytes", name, n, len(sent.String()))
		}
	}
}
