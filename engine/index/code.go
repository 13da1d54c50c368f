package index

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"

	"shunt/engine/internal/limits"
	"shunt/engine/invalid"
)

// DrawnCodeBytes is the length of a drawn code: 62^8 = 2.2e14 codes, so that at 100 M links a draw
// hits a taken code (or one that differs from it only by case) about once in ten thousand.
const DrawnCodeBytes = 8

const (
	base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	base36 = "0123456789abcdefghijklmnopqrstuvwxyz" // where codes may be typed in any case: 36^8 = 2.8e12 codes
)

// unbiasedBytes is the largest multiple of 62 that a byte can stay below. A random byte at or above
// it is discarded: modulo 62 it would make the first eight characters 25 % likelier than the
// others. unbiasedLower is the same for 36.
const (
	unbiasedBytes = 256 / len(base62) * len(base62)
	unbiasedLower = 256 / len(base36) * len(base36)
)

// What a byte is to a code. A code is some segments with slashes between them, nearly always one of plain bytes only.
const (
	plainByte = 1 << iota // [0-9A-Za-z_-]
	pathByte              // '.' and '/', which not every place of a code may have
	wideByte              // of a character that is not ASCII
)

// codeByte has the kind of each byte of codes, 0 for all others.
var codeByte = func() (table [256]uint8) {
	for _, c := range []byte(base62 + "_-") {
		table[c] = plainByte
	}
	table['.'], table['/'] = pathByte, pathByte
	for c := utf8.RuneSelf; c < len(table); c++ {
		table[c] = wideByte
	}
	return table
}()

// ValidCode reports whether b can be a code: segments of [0-9A-Za-z_.-] and of characters beyond ASCII (see
// validCharacters) with one slash between them, none of which is empty, "." or "..", of 1 to 64 bytes in all. A code
// may be reserved nevertheless: no link is made with it (see ValidateAlias), but a store that has one stays readable.
func ValidCode(b []byte) bool {
	if len(b) == 0 || len(b) > limits.MaxCodeBytes {
		return false
	}
	kinds := uint8(0)
	for _, c := range b {
		kind := codeByte[c]
		if kind == 0 {
			return false
		}
		kinds |= kind
	}
	return kinds == plainByte || validSegments(b) && (kinds&wideByte == 0 || validCharacters(b))
}

// validCharacters reports whether a code is UTF-8 that looks the same wherever it is shown: in the normal form NFC (UAX
// #15), of letters, marks, numbers, punctuation and symbols. Of the characters that show nothing, only the two joiners
// may stand between others, because Persian words and many emoji need them; nothing else may turn the direction of
// the text around it, or look like nothing.
func validCharacters(code []byte) bool {
	before := '/'
	for rest := code; len(rest) > 0; {
		r, size := utf8.DecodeRune(rest)
		rest = rest[size:]
		switch joins := r == '\u200c' || r == '\u200d'; {
		case r == utf8.RuneError && size == 1:
			return false
		case joins && (before == '/' || len(rest) == 0 || rest[0] == '/'):
			return false
		case !joins && !visible(r, before):
			return false
		}
		before = r
	}
	return norm.NFC.IsNormal(code)
}

// visible reports whether r shows something where it follows before: no blank, also none that calls itself a letter or
// a symbol, no mark without a character before it, and no choice of a form (a variation selector) but that of an emoji.
func visible(r, before rune) bool {
	const blankBraille, emojiForm = '\u2800', '\ufe0f'
	switch {
	case !unicode.IsGraphic(r), unicode.Is(unicode.Zs, r), unicode.Is(unicode.Other_Default_Ignorable_Code_Point, r), r == blankBraille:
		return false
	case r == emojiForm:
		return unicode.IsSymbol(before) || unicode.IsDigit(before)
	case unicode.Is(unicode.Variation_Selector, r):
		return false
	}
	return !unicode.IsMark(r) || before != '/'
}

// NormalCode returns text in the form NFC that codes have. It is text itself if it has that form, or is no UTF-8.
func NormalCode(text string) string {
	if isASCII(text) || !utf8.ValidString(text) {
		return text
	}
	return norm.NFC.String(text)
}

// OnlyASCII reports whether a code is for every domain: others have their own say about characters beyond ASCII.
func OnlyASCII(code string) bool { return isASCII(code) }

func isASCII[Bytes string | []byte](b Bytes) bool {
	for i := range len(b) {
		if b[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

// validSegments reports whether each segment of a code, whose bytes are valid, is a name. The others mean a place to
// whoever cleans a path: browsers take "a/../b" to "b" before they ask for it.
func validSegments(code []byte) bool {
	for more := true; more; {
		var segment []byte
		segment, code, more = bytes.Cut(code, []byte{'/'})
		if name := string(segment); name == "" || name == "." || name == ".." {
			return false
		}
	}
	return true
}

// The first segments that are not for links, because they begin the addresses of the API and of pages, of other
// people's clients (rest/v3 is Shlink's) and of RFC 8615.
var reservedRoots = []string{"api", "_", "rest", ".well-known"}

// The codes that are not for links, because every site has something else there.
var reservedNames = []string{"yourls-api.php", "robots.txt", "favicon.ico"}

// The ends that are not for links, with what they name, in any case.
var reservedEnds = []struct{ end, names string }{
	{"+", "the preview page of a link"},
	{".svg", "the QR code of a link"},
	{".png", "the QR code of a link"},
}

// Reserved reports whether code is kept from links, whether something is served there or not.
func Reserved(code []byte) bool { return reservedAs(string(code)) != "" }

// reservedAs returns what is wrong with code as an alias if it is reserved, "" otherwise.
func reservedAs(code string) string {
	root, _, deeper := strings.Cut(code, "/")
	switch {
	case slices.Contains(reservedNames, code), !deeper && slices.Contains(reservedRoots, code):
		return fmt.Sprintf("%q is reserved", code)
	case slices.Contains(reservedRoots, root):
		return fmt.Sprintf("must not begin with %q, which is reserved", root+"/")
	}
	for _, r := range reservedEnds {
		if n := len(code) - len(r.end); n >= 0 && strings.EqualFold(code[n:], r.end) {
			return fmt.Sprintf("must not end in %q, which names %s", r.end, r.names)
		}
	}
	return ""
}

// ValidateAlias returns a FieldError unless a person may choose alias as a code. An empty alias is
// an error too: a caller that wants a drawn code sends none.
func ValidateAlias(alias string) error {
	if alias == "" {
		return aliasError("required", "must not be empty; leave it out to have a code drawn")
	}
	if reserved := reservedAs(alias); reserved != "" {
		return aliasError("reserved", reserved)
	}
	switch code := []byte(alias); {
	case len(code) > limits.MaxCodeBytes:
		unit := "characters"
		if !isASCII(code) {
			unit = "bytes of UTF-8"
		}
		return aliasError("too_long", fmt.Sprintf("must be at most %d %s", limits.MaxCodeBytes, unit))
	case ValidCode(code):
		return nil
	case slices.ContainsFunc(code, func(c byte) bool { return codeByte[c] == 0 }):
		return aliasError("characters", "may only hold letters, digits, _, -, . and /")
	case validSegments(code):
		return aliasError("characters", "may not hold blanks, or characters that show nothing or turn the direction of text")
	}
	return aliasError("format", "must be names with one / between them; a name is not empty, . or ..")
}

func aliasError(code, message string) error {
	return invalid.FieldError{Field: "alias", Code: code, Message: message}
}

// DrawCode draws a code: DrawnCodeBytes characters of base62, or without upper-case letters if lower is set, each
// equally likely, from the random bytes of r (crypto/rand.Reader, except in tests). It fails only if r does.
func DrawCode(r io.Reader, lower bool) (string, error) {
	// 8 of 256 values of a byte are discarded. With 8 random bytes at a time 22 % of draws would
	// need more; 16 are enough in all but 3 draws of 10^10.
	var random [2 * DrawnCodeBytes]byte
	d := Drawer{random: r, room: random[:]}
	return d.Draw(lower)
}

// Drawer draws many codes as DrawCode does. It reads random bytes for several at once.
type Drawer struct {
	random       io.Reader
	room, unread []byte
}

// NewDrawer returns a drawer for n codes or more, which reads from r.
func NewDrawer(r io.Reader, n int) Drawer {
	const most = 256
	return Drawer{random: r, room: make([]byte, min(n+1, most)*DrawnCodeBytes)}
}

// Draw draws a code as DrawCode does. It fails only if reading random bytes does.
func (d *Drawer) Draw(lower bool) (string, error) {
	var code [DrawnCodeBytes]byte
	alphabet, unbiased := base62, unbiasedBytes
	if lower {
		alphabet, unbiased = base36, unbiasedLower
	}
	for i := 0; i < len(code); {
		if len(d.unread) == 0 {
			if _, err := io.ReadFull(d.random, d.room); err != nil {
				return "", fmt.Errorf("draw a code: %w", err)
			}
			d.unread = d.room
		}
		b := d.unread[0]
		if d.unread = d.unread[1:]; int(b) < unbiased {
			code[i] = alphabet[int(b)%len(alphabet)]
			i++
		}
	}
	return string(code[:]), nil
}
