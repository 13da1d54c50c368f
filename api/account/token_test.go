package account

import (
	"bytes"
	"crypto/sha256"
	"hash/crc32"
	"math/big"
	"math/rand/v2"
	"regexp"
	"strings"
	"testing"
	"unicode"

	"shunt/engine/expect"
)

func TestATokenHasTheFormOfTheContract(t *testing.T) {
	text, err := newToken(rand.NewChaCha8([32]byte{1}))
	expect.OK(t, err)
	expect.That(t, len(text) == 42 && strings.HasPrefix(text, "shunt_"), "got %q, want shunt_ and 36 characters", text)
	_, ok := parseToken(text)
	expect.That(t, ok, "parseToken(%q): got false, want true", text)
}

func TestAMistypedTokenIsRefusedWithoutALookUp(t *testing.T) {
	text, err := newToken(rand.NewChaCha8([32]byte{2}))
	expect.OK(t, err)
	for i := range text {
		wrong := []byte(text)
		wrong[i] ^= 1
		_, ok := parseToken(string(wrong))
		expect.That(t, !ok, "character %d changed: %q passes for a token", i, wrong)
	}
	for _, wrong := range []string{"", "shunt_", text[:41], text + "0", " " + text[1:], strings.ToUpper(text)} {
		_, ok := parseToken(wrong)
		expect.That(t, !ok, "%q passes for a token", wrong)
	}
}

// The stream is fixed. χ² of 61 degrees of freedom is above 105 once in 2,500 fair streams.
func TestEachCharacterOfATokenIsEquallyLikely(t *testing.T) {
	const draws = 10_000
	r := rand.NewChaCha8([32]byte{3})
	var seen [256]int
	for range draws {
		text, err := newToken(r)
		expect.OK(t, err)
		for _, c := range []byte(text[len(tokenPrefix) : len(tokenPrefix)+secretBytes]) {
			seen[c]++
		}
	}
	want, chi2 := float64(draws*secretBytes)/62, 0.0
	for _, c := range []byte(base62) {
		d := float64(seen[c]) - want
		chi2 += d * d / want
	}
	expect.That(t, chi2 <= 105, "χ² of the characters: got %.0f, want at most 105", chi2)
}

func TestTheChecksumIsCRC32InBase62(t *testing.T) {
	for secret, want := range map[string]string{
		strings.Repeat("0", 30): "2C8GjS", // 0x77e5db82
		"":                      "000000",
	} {
		got := checksum(secret)
		expect.Equal(t, string(got[:]), want, "checksum(%q): got %s", secret, got)
	}
}

// FuzzParseToken checks that every accepted text has the form of a token, by a calculation of its
// own, that every drawn token is accepted, and that a token with one byte changed is refused.
func FuzzParseToken(f *testing.F) {
	text, err := newToken(rand.NewChaCha8([32]byte{4}))
	expect.OK(f, err)
	random := bytes.Repeat([]byte{0, 61, 62, 247, 248, 255}, 40)
	f.Add(text, random, byte(7), byte(1))
	f.Add("shunt_"+strings.Repeat("0", 36), random, byte(40), byte(2))
	f.Add("Bearer "+text, random[1:], byte(0), byte(0))
	f.Fuzz(func(t *testing.T, text string, random []byte, at, flip byte) {
		hash, ok := parseToken(text)
		expect.That(t, !ok || hasFormOfToken(text) && hash == sha256.Sum256([]byte(text)), "%q passes for a token", text)
		drawn, err := newToken(bytes.NewReader(random))
		if err != nil {
			return
		}
		_, ok = parseToken(drawn)
		expect.That(t, ok && hasFormOfToken(drawn), "%q was drawn, but is refused", drawn)
		changed := []byte(drawn)
		changed[int(at)%len(changed)] ^= flip
		_, ok = parseToken(string(changed))
		expect.That(t, !ok || flip == 0, "%q is accepted, and so is %q", drawn, changed)
	})
}

var tokenForm = regexp.MustCompile(`^shunt_([0-9A-Za-z]{30})([0-9A-Za-z]{6})$`)

// hasFormOfToken is a second implementation of parseToken, with math/big, whose base 62 has the
// capitals last.
func hasFormOfToken(text string) bool {
	part := tokenForm.FindStringSubmatch(text)
	if part == nil {
		return false
	}
	digits := strings.Map(func(r rune) rune {
		if unicode.IsLetter(r) {
			return r ^ 0x20
		}
		return r
	}, part[2])
	n, ok := new(big.Int).SetString(digits, 62)
	return ok && n.Cmp(big.NewInt(int64(crc32.ChecksumIEEE([]byte(part[1]))))) == 0
}
