package shunt_test

import (
	"cmp"
	"encoding/json"
	"errors"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// maxFiles is how many Go files without tests a folder may have. One with more has two subjects.
const maxFiles = 45

func TestNoFolderHasMoreThan45Files(t *testing.T) {
	files := make(map[string]int)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files[filepath.ToSlash(filepath.Dir(path))]++
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for folder, n := range files {
		if n > maxFiles {
			t.Errorf("%s has %d files, want at most %d", folder, n, maxFiles)
		}
	}
}

// A use is a name that file from uses and file to declares: a name of the package, a method or a
// field.
type use struct{ from, to, name string }

func (u use) String() string { return u.from + " uses " + u.name + " of " + u.to }

// usesBetween returns the distinct uses between the files of a package.
func usesBetween(fset *token.FileSet, pkg *types.Package, info *types.Info) []use {
	fileOf := func(pos token.Pos) string { return filepath.Base(fset.Position(pos).Filename) }
	found := make(map[use]bool)
	for id, o := range info.Uses {
		from, to := fileOf(id.Pos()), fileOf(o.Pos())
		if o.Pkg() == pkg && from != to {
			found[use{from, to, o.Name()}] = true
		}
	}
	return slices.SortedFunc(maps.Keys(found), func(a, b use) int { return strings.Compare(a.String(), b.String()) })
}

// backUses returns the uses that run back: of a name from a file that order has later than the file
// that uses it. Files that order does not have come after all others, so nothing of theirs runs
// back but what others use of them.
func backUses(uses []use, order []string) (back []use) {
	place := func(file string) int {
		if i := slices.Index(order, file); i >= 0 {
			return i
		}
		return len(order)
	}
	for _, u := range uses {
		if place(u.to) > place(u.from) {
			back = append(back, u)
		}
	}
	return back
}

// bestOrder returns an order of files in which few uses run back: it moves each file to the best
// place for it until none has a better one.
func bestOrder(uses []use, files []string) []string {
	order := slices.Clone(files)
	for least := len(backUses(uses, order)); ; {
		start := least
		for _, file := range files {
			at := slices.Index(order, file)
			rest := slices.Delete(slices.Clone(order), at, at+1)
			for i := range len(order) {
				moved := slices.Insert(slices.Clone(rest), i, file)
				if n := len(backUses(uses, moved)); n < least {
					least, order = n, moved
				}
			}
		}
		if least == start {
			return order
		}
	}
}

// loadPackage type-checks the package in a folder of the module, without its tests.
func loadPackage(t *testing.T, folder string) (files []string, uses []use) {
	t.Helper()
	var own struct{ GoFiles []string }
	exports := make(map[string]string)
	for p := range listExports(t, "./"+folder) {
		if exports[p.ImportPath] = p.Export; p.ImportPath == module+folder {
			own.GoFiles = p.GoFiles
		}
	}
	sources := make(map[string]string)
	for _, name := range own.GoFiles {
		text, err := os.ReadFile(filepath.Join(folder, name))
		if err != nil {
			t.Fatal(err)
		}
		sources[name] = string(text)
	}
	look := func(path string) (io.ReadCloser, error) { return os.Open(exports[path]) }
	return own.GoFiles, checkPackage(t, sources, look)
}

type exportedPackage struct {
	ImportPath, Export string
	GoFiles            []string
}

// listExports yields a package and all that it needs, with the files of their export data.
func listExports(t *testing.T, path string) func(yield func(exportedPackage) bool) {
	t.Helper()
	out, err := exec.Command("go", "list", "-export", "-deps", "-json=ImportPath,Export,GoFiles", path).Output()
	if err != nil {
		t.Fatalf("go list: %v", err)
	}
	return func(yield func(exportedPackage) bool) {
		for d := json.NewDecoder(strings.NewReader(string(out))); ; {
			var p exportedPackage
			if err := d.Decode(&p); errors.Is(err, io.EOF) {
				return
			} else if err != nil {
				t.Fatalf("go list: %v", err)
			}
			if !yield(p) {
				return
			}
		}
	}
}

// checkPackage type-checks sources, by file name, and returns the uses between them.
func checkPackage(t *testing.T, sources map[string]string, look importer.Lookup) []use {
	t.Helper()
	fset := token.NewFileSet()
	var files []*ast.File
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		file, err := parser.ParseFile(fset, name, sources[name], parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", look)}
	pkg, err := config.Check("checked", fset, files, info)
	if err != nil {
		t.Fatal(err)
	}
	return usesBetween(fset, pkg, info)
}

var goFileName = regexp.MustCompile("`([a-z0-9_]+\\.go)`")

// codemapOrder returns the files that ARCHITECTURE's paragraph about a folder names, in its order.
func codemapOrder(t *testing.T, folder string) (order []string) {
	t.Helper()
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	_, paragraph, found := strings.Cut(string(text), "\n- `"+folder+"/` ")
	if !found {
		t.Fatalf("ARCHITECTURE.md has no paragraph about %s/", folder)
	}
	paragraph, _, _ = strings.Cut(paragraph, "\n- ")
	for _, m := range goFileName.FindAllStringSubmatch(paragraph, -1) {
		order = append(order, m[1])
	}
	return order
}

// maxBackShare is the share of the uses between files of api that may run back.
const maxBackShare = 0.25

// The codemap lists leaves first, so that a file uses names of files before it: a reader who begins
// at the start needs nothing from later files.
func TestFewUsesInTheFrontEndRunBack(t *testing.T) {
	files, uses := loadPackage(t, "api")
	order := codemapOrder(t, "api")
	for _, problem := range misnamed(order, files) {
		t.Error(problem)
	}
	if share := logBackShare(t, uses, order); share > maxBackShare {
		t.Errorf("%.1f %% of the uses run back, want at most %.1f %%", 100*share, 100*maxBackShare)
	}
	if testing.Verbose() || t.Failed() {
		best := bestOrder(uses, files)
		t.Logf("a better order: %s", strings.Join(best, " "))
		logBackShare(t, uses, best)
	}
}

// logBackShare returns which share of the uses runs back, or which share of the pairs of files with
// a use, if that is more. It logs them.
func logBackShare(t *testing.T, uses []use, order []string) float64 {
	t.Helper()
	back := backUses(uses, order)
	all, backPairs := pairsOf(uses), pairsOf(back)
	t.Logf("%d of %d uses run back, between %d of %d pairs of files", len(back), len(uses), len(backPairs), len(all))
	pairs := slices.SortedFunc(maps.Keys(backPairs), func(a, b string) int {
		return cmp.Or(len(backPairs[b])-len(backPairs[a]), strings.Compare(a, b))
	})
	for _, pair := range pairs {
		t.Log(pair, backPairs[pair])
	}
	return max(float64(len(back))/float64(len(uses)), float64(len(backPairs))/float64(len(all)))
}

// pairsOf returns the names that are used, by the pair of files.
func pairsOf(uses []use) map[string][]string {
	pairs := make(map[string][]string)
	for _, u := range uses {
		pair := u.from + " -> " + u.to
		pairs[pair] = append(pairs[pair], u.name)
	}
	return pairs
}

// misnamed returns what is wrong with an order of files: each must be named once, and no other.
func misnamed(order, files []string) (problems []string) {
	for i, name := range order {
		switch {
		case !slices.Contains(files, name):
			problems = append(problems, name+" is named, and there is none")
		case slices.Contains(order[:i], name):
			problems = append(problems, name+" is named twice")
		}
	}
	for _, name := range files {
		if !slices.Contains(order, name) {
			problems = append(problems, name+" is not named")
		}
	}
	return problems
}

func TestUsesThatRunBackAreFound(t *testing.T) {
	uses := checkPackage(t, map[string]string{
		"leaf.go":  "package p\ntype leaf struct{ size int }\nfunc (l leaf) grow() { top() }\n",
		"other.go": "package p\nfunc other(l leaf, m leaf) int { l.grow(); m.grow(); return l.size }\n",
		"top.go":   "package p\nfunc top() { own(); _ = other(leaf{}, leaf{}) }\nfunc own() {}\n",
	}, nil)
	want := []use{
		{"leaf.go", "top.go", "top"},
		{"other.go", "leaf.go", "grow"}, {"other.go", "leaf.go", "leaf"}, {"other.go", "leaf.go", "size"},
		{"top.go", "leaf.go", "leaf"}, {"top.go", "other.go", "other"},
	}
	if !slices.Equal(uses, want) {
		t.Fatalf("got %v\nwant %v", uses, want)
	}
	files := []string{"top.go", "other.go", "leaf.go"}
	if got := backUses(uses, files); len(got) != 5 {
		t.Errorf("in the worst order: got %v", got)
	}
	best := bestOrder(uses, files)
	if got := backUses(uses, best); !slices.Equal(got, want[:1]) || !slices.Equal(best, []string{"leaf.go", "other.go", "top.go"}) {
		t.Errorf("in the order %v: got %v, want %v", best, got, want[:1])
	}
	if got := misnamed([]string{"leaf.go", "leaf.go", "gone.go"}, files); len(got) != 4 {
		t.Errorf("got %v, want four problems", got)
	}
}
