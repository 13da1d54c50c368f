package engine_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math/bits"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"testing"

	"shunt/engine/expect"
)

// inlined has the calls in each function on a redirect's path, which must all be inlined: a call
// costs some nanoseconds and the registers.
var inlined = []struct {
	file, function string
	calls          []string
}{
	{"index/index.go", "Resolve", []string{
		"placeOfWord", "hash.(*Key).SumWord", "hash.FoldCase", "hash.Mix", "placeAt",
		"(*table).firstSlot", "(*table).home", "matchByte", "(*arena).at", "isLiveWord",
	}},
	{"index/index.go", "resolveAny", []string{"placeAt"}},
	{"index/table.go", "find", []string{"(*table).home", "(*table).after", "matchByte", "(*arena).at", "elsewhere", "keyIs", "groupFull"}},
	{"index/hits.go", "Admit", []string{"(*counters).at"}},
	{"index/hits.go", "capInForce", []string{"Link.ID", "Link.MaxHits", "Link.Release"}},
	{"hit/record.go", "Hit", []string{
		"index.Link.CountsAtOnce", "index.Link.ID", "index.Link.Owner", "journal.Visit.PackOwner",
		"journal.Visit.PackClass", "journal.(*Journal).RingOf", "journal.(*Ring).Reserve", "journal.(*Ring).LookAgain",
		"journal.Digest", "journal.(*Ring).Seal", "journal.seal", "hash.Mix", "journal.(*Ring).Store",
		"journal.(*Ring).slot", "mmap.StoreWord", "mmap.StoreLast",
	}},
	{"hit/record.go", "recordCounted", []string{"journal.Visit.Words", "journal.(*Words).SetCounted", "journal.(*Journal).RingOf"}},
	{"hit/fold.go", "foldRingLocked", []string{"journal.(*Ring).Head", "journal.(*Ring).Folded", "journal.(*Ring).Next"}},
	{"hit/fold.go", "countLocked", []string{"index.(*Index).AddHits"}},
}

// able has the functions that must be inlinable where other packages call them.
var able = []string{"(*Links).Resolve", "Link.Flags", "Link.Expired", "Link.Release", "Flags.RedirectStatus", "ValidCode"}

func TestTheRedirectPathIsInlined(t *testing.T) {
	if bits.UintSize == 32 {
		t.Skip("a 64-bit word takes two instructions each, and functions become too long")
	}
	build := exec.Command("go", "build", "-gcflags=-m=1", ".", "./index", "./link", "./hit")
	build.Env = append(build.Environ(), "GOFLAGS=") // not with this test's flags: the race detector makes the compiler inline less
	out, err := build.CombinedOutput()
	expect.MustThat(t, err == nil, "%v\n%s", err, out)
	said := string(out)
	for _, want := range able {
		expect.That(t, regexp.MustCompile(`(?m)can inline `+regexp.QuoteMeta(want)+`$`).MatchString(said), "%s cannot be inlined", want)
	}
	for _, c := range inlined {
		from, to := linesOf(t, c.file, c.function)
		found := make(map[string]bool)
		for _, m := range regexp.MustCompile(`(?m)^(\S+?):(\d+):\d+: inlining call to (.*)$`).FindAllStringSubmatch(said, -1) {
			if line, _ := strconv.Atoi(m[2]); filepath.Clean(m[1]) == c.file && from <= line && line <= to {
				found[m[3]] = true
			}
		}
		for _, want := range c.calls {
			expect.That(t, found[want], "%s of %s: the call to %s is not inlined", c.function, c.file, want)
		}
	}
}

// linesOf returns the first and last line of a function.
func linesOf(t *testing.T, file, function string) (from, to int) {
	t.Helper()
	positions := token.NewFileSet()
	parsed, err := parser.ParseFile(positions, filepath.FromSlash(file), nil, parser.SkipObjectResolution)
	expect.OK(t, err)
	for _, d := range parsed.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == function {
			return positions.Position(f.Pos()).Line, positions.Position(f.End()).Line
		}
	}
	t.Fatalf("%s has no function %s", file, function)
	return 0, 0
}
