package password

import (
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/alexedwards/argon2id"

	"shunt/api/turnstile"
	"shunt/engine"
	"shunt/engine/expect"
)

const maxHashesCaller = 8

// nobody has no share of hashing.
var nobody = turnstile.Key{}

func TestPasswordsAreHashedOnHalfTheCores(t *testing.T) {
	for cores, want := range map[int]int{1: 1, 2: 1, 3: 1, 4: 2, 8: 4, 64: 4} {
		synctest.Test(t, func(t *testing.T) {
			h := New(cores, maxHashesCaller)
			end := make(chan struct{})
			var askers sync.WaitGroup
			var hashing, refused atomic.Int32
			for range maxHashings + maxHashWaiters + 5 {
				askers.Go(func() {
					if h.inTurn(nobody, func() error { hashing.Add(1); <-end; return nil }) != nil {
						refused.Add(1)
					}
				})
			}
			synctest.Wait() // no time passes
			if got := int(hashing.Load()); got != want || int(refused.Load()) != maxHashings-want+5 {
				t.Errorf("%d cores: %d hash and %d are refused, want %d and %d", cores, got, refused.Load(), want, maxHashings-want+5)
			}
			time.Sleep(Patience)
			synctest.Wait()
			expect.Equal(t, int(refused.Load()), maxHashings-want+5+maxHashWaiters, "%d cores are refused in the end", cores)
			close(end)
			askers.Wait()
		})
	}
}

func TestOneCallerDoesNotKeepOthersFromHashing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h := New(engine.Cores(), maxHashesCaller)
		greedy, other := turnstile.Key{User: 1}, turnstile.Key{User: 2}
		for range h.places.Limits().Places {
			expect.OK(t, h.places.Enter(nobody))
		}
		var order []turnstile.Key
		var askers sync.WaitGroup
		for range maxHashesCaller {
			askers.Go(func() {
				expect.NoError(t, h.inTurn(greedy, func() error { order = append(order, greedy); return nil }))
			})
			synctest.Wait()
		}
		expect.Error(t, h.inTurn(greedy, nil), ErrOverloaded, "one more than a caller's share")
		askers.Go(func() {
			expect.NoError(t, h.inTurn(other, func() error { order = append(order, other); return nil }))
		})
		synctest.Wait()
		h.places.Leave(nobody)
		askers.Wait()
		expect.That(t, len(order) == maxHashesCaller+1 && order[0] == greedy && order[1] == other, "got %v, want the other caller second", order)
	})
}

// Whoever imports a link with a hash decides what each visitor who types a password costs.
func TestAHashThatCostsTooMuchIsRefused(t *testing.T) {
	made := func(p argon2id.Params) string {
		hash, err := argon2id.CreateHash("secret", &p)
		expect.OK(t, err)
		return hash
	}
	usual := made(argon2id.Params{Memory: 1 << 10, Iterations: 1, Parallelism: 1, SaltLength: 16, KeyLength: 32})
	h := New(engine.Cores(), maxHashesCaller)
	for name, hash := range map[string]string{
		"usual": usual, "many passes": made(argon2id.Params{Memory: 8 << 10, Iterations: 8, Parallelism: 2, SaltLength: 8, KeyLength: 16}),
	} {
		expect.NoError(t, CheckHash(hash), name)
		ok, _, err := h.Matches(nobody, "secret", hash)
		expect.That(t, ok && err == nil, "%s: its password is refused: %v", name, err)
		ok, _, err = h.Matches(nobody, "Secret", hash)
		expect.That(t, !ok && err == nil, "%s: another password passes, or %v", name, err)
	}
	costs := func(params string) string { return strings.Replace(usual, "m=1024,t=1,p=1", params, 1) }
	for name, hash := range map[string]string{
		"too much memory": costs("m=65537,t=1,p=1"), "all memory": costs("m=4294967295,t=1,p=1"), "too many passes": costs("m=1024,t=9,p=1"),
		"too much of both": costs("m=65536,t=3,p=1"), "a product that overflows": costs("m=65536,t=65536,p=1"), "too many lanes": costs("m=1024,t=1,p=5"),
		"no lane": costs("m=1024,t=1,p=0"), "no pass": costs("m=1024,t=0,p=1"), "less memory than its lanes": costs("m=8,t=1,p=4"),
		"another version": strings.Replace(usual, "v=19", "v=16", 1), "another algorithm": strings.Replace(usual, "argon2id", "argon2i", 1),
		"rubbish after a number": costs("m=1024,t=1,p=1,x=2"), "no salt": usual[:strings.LastIndex(usual[:strings.LastIndex(usual, "$")], "$")+1] + usual[strings.LastIndex(usual, "$"):],
		"a short key": usual[:strings.LastIndex(usual, "$")+9], "the password": "secret", "nothing": "",
	} {
		expect.That(t, errors.Is(CheckHash(hash), ErrFormat), "%s: %s passes", name, hash)
	}
}
