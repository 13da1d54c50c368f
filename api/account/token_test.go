package account

import (
	"math/rand/v2"
	"strings"
	"testing"
)

func TestATokenHasTheFormOfTheContract(t *testing.T) {
	text, err := newToken(rand.NewChaCha8([32]byte{1}))
	if err != nil {
		t.Fatal(err)
	}
	if len(text) != 42 || !strings.HasPrefix(text, "shunt_") {
		t.Errorf("got %q, want shunt_ and 36 characters", text)
	}
	if _, ok := parseToken(text); !ok {
		t.Errorf("parseToken(%q): got false, want true", text)
	}
}

func TestATokenWithOneWrongCharacterIsKnownToBeWrongWithoutALookUp(t *testing.T) {
	text, err := newToken(rand.NewChaCha8([32]byte{2}))
	if err != nil {
		t.Fatal(err)
	}
	for i := range text {
		wrong := []byte(text)
		wrong[i] ^= 1
		if _, ok := parseToken(string(wrong)); ok {
			t.Errorf("character %d changed: %q passes for a token", i, wrong)
		}
	}
	for _, wrong := range []string{"", "shunt_", text[:41], text + "0", " " + text[1:], strings.ToUpper(text)} {
		if _, ok := parseToken(wrong); ok {
			t.Errorf("%q passes for a token", wrong)
		}
	}
}

// The stream is fixed. χ² of 61 degrees of freedom is above 105 once in 2,500 fair streams.
func TestEachCharacterOfATokenIsEquallyLikely(t *testing.T) {
	const draws = 10_000
	r := rand.NewChaCha8([32]byte{3})
	var seen [256]int
	for range draws {
		text, err := newToken(r)
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []byte(text[len(tokenPrefix) : len(tokenPrefix)+secretBytes]) {
			seen[c]++
		}
	}
	want, chi2 := float64(draws*secretBytes)/62, 0.0
	for _, c := range []byte(base62) {
		d := float64(seen[c]) - want
		chi2 += d * d / want
	}
	if chi2 > 105 {
		t.Errorf("χ² of the characters: got %.0f, want at most 105", chi2)
	}
}

func TestTheChecksumIsCRC32InBase62(t *testing.T) {
	for secret, want := range map[string]string{
		strings.Repeat("0", 30): "2C8GjS", // 0x77e5db82
		"":                      "000000",
	} {
		if got := checksum(secret); got != want {
			t.Errorf("checksum(%q): got %s, want %s", secret, got, want)
		}
	}
}

// Whatever is taken for a token has the form of one, and no two texts are taken for the same.
func FuzzParseToken(f *testing.F) {
	text, err := newToken(rand.NewChaCha8([32]byte{4}))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(text)
	f.Add("shunt_" + strings.Repeat("0", 36))
	f.Add("Bearer " + text)
	f.Fuzz(func(t *testing.T, text string) {
		if _, ok := parseToken(text); !ok {
			return
		}
		secret := strings.TrimPrefix(text, tokenPrefix)
		if len(secret) != secretBytes+checksumBytes || strings.Trim(secret, base62) != "" {
			t.Errorf("%q passes for a token", text)
		}
	})
}
