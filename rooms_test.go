package shunt_test

import (
	"bytes"
	"cmp"
	"encoding/json"
	"flag"
	"fmt"
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
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"

	"shunt/engine/expect"
)

// maxFiles is how many Go files without tests a folder may have. One with more has two subjects.
const maxFiles = 25

func TestNoFolderHasTooManyFiles(t *testing.T) {
	files := make(map[string]int)
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err == nil && strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, "_test.go") {
			files[filepath.ToSlash(filepath.Dir(path))]++
		}
		return err
	})
	expect.OK(t, err)
	for folder, n := range files {
		expect.That(t, n <= maxFiles, "%s has %d files, want at most %d", folder, n, maxFiles)
	}
}

// orderedRooms are the packages in whose order of files few uses may run back.
var orderedRooms = []string{"./engine/...", "./storage/...", "./api/...", "./cmd/shunt/..."}

// maxBackShare is the share of the uses between files of a room that may run back.
const maxBackShare = 0.15

// backShares has the rooms that are not there yet, with the share that they may have until then.
var backShares = map[string]float64{
	"api/account": 0.21, "api/admin": 0.25, "api/cluster": 0.20, "api/domains": 0.25, "api/doors/kutt": 0.25, "api/doors/yourls": 0.23,
	"api/jsonbody": 0.16, "api/page": 0.26, "api/redirect": 0.39, "api/source": 0.20, "api/visitor": 0.34,
	"cmd/shunt/importer": 0.37, "cmd/shunt/node": 0.19, "cmd/shunt/settings": 0.24,
	"storage/etcdlog/etcdtest": 0.40,
}

// A reader who begins with the first file of a room needs little of later files. Which file is first says a line in
// doc.go: "Files, leaves first: …" A room without it is measured in its best order. With -rewrite-order the best order
// is written into each doc.go.
func TestFewUsesRunBack(t *testing.T) {
	rooms, exports := listRooms(t)
	for _, room := range rooms {
		folder := strings.TrimPrefix(room.ImportPath, module)
		files, all := usesBetween(t, room.Dir, room.GoFiles, exports)
		doc := filepath.Join(room.Dir, "doc.go")
		order := orderIn(doc)
		if order == nil || *rewriteOrder {
			order = bestOrder(files, all)
		}
		if *rewriteOrder && len(all) > 0 {
			writeOrder(t, doc, order)
		}
		for _, problem := range misnamed(order, files, room.Dir) {
			t.Errorf("%s/doc.go: %s", folder, problem)
		}
		back := all.back(order)
		share := max(part(len(back), len(all)), part(back.names(), all.names()))
		t.Logf("%s: %.1f %% (%d of %d uses, between %d of %d pairs of files)", folder, 100*share, back.names(), all.names(), len(back), len(all))
		if limit := cmp.Or(backShares[folder], maxBackShare); share > limit {
			t.Errorf("%s: %.1f %% of the uses run back, want at most %.1f %%: %v. A better order: %s",
				folder, 100*share, 100*limit, back, strings.Join(bestOrder(files, all), ", "))
		}
	}
}

var rewriteOrder = flag.Bool("rewrite-order", false, "write the best order of files into each room's doc.go")

func part(of, all int) float64 { return float64(of) / float64(max(all, 1)) }

type goPackage struct {
	Dir, ImportPath, Export string
	GoFiles                 []string
	DepOnly                 bool
}

// listRooms returns orderedRooms, and the export data of all that they import.
func listRooms(t *testing.T) (rooms []goPackage, exports importer.Lookup) {
	t.Helper()
	args := append([]string{"list", "-export", "-deps", "-json=Dir,ImportPath,Export,GoFiles,DepOnly"}, orderedRooms...)
	out, err := exec.Command("go", args...).Output()
	expect.OK(t, err, "go list")
	files := make(map[string]string)
	for d := json.NewDecoder(strings.NewReader(string(out))); d.More(); {
		var p goPackage
		expect.OK(t, d.Decode(&p), "go list")
		if files[p.ImportPath] = p.Export; !p.DepOnly {
			rooms = append(rooms, p)
		}
	}
	return rooms, func(path string) (io.ReadCloser, error) { return os.Open(files[path]) }
}

// A pair is a file and another one, of which it uses names: of the package, methods or fields.
type pair struct{ from, to string }

type uses map[pair][]string

func (u uses) names() (n int) {
	for _, names := range u {
		n += len(names)
	}
	return n
}

// back returns the uses that run back: of names from a file that order has later than the file that uses them.
func (u uses) back(order []string) uses {
	place := make(map[string]int, len(order))
	for i, file := range order {
		place[file] = i
	}
	back := maps.Clone(u)
	maps.DeleteFunc(back, func(p pair, _ []string) bool { return place[p.to] <= place[p.from] })
	return back
}

// usesBetween returns the uses between the files of a package, and its files without doc.go.
func usesBetween(t *testing.T, dir string, names []string, exports importer.Lookup) (files []string, found uses) {
	t.Helper()
	fset := token.NewFileSet()
	var parsed []*ast.File
	for _, name := range names {
		file, err := parser.ParseFile(fset, filepath.Join(dir, name), nil, parser.SkipObjectResolution)
		expect.OK(t, err)
		parsed = append(parsed, file)
		if name != "doc.go" {
			files = append(files, name)
		}
	}
	info := &types.Info{Uses: make(map[*ast.Ident]types.Object)}
	config := types.Config{Importer: importer.ForCompiler(fset, "gc", exports)}
	pkg, err := config.Check("checked", fset, parsed, info)
	expect.OK(t, err)
	found = make(uses)
	fileOf := func(pos token.Pos) string { return filepath.Base(fset.Position(pos).Filename) }
	for id, o := range info.Uses {
		p := pair{fileOf(id.Pos()), fileOf(o.Pos())}
		if o.Pkg() == pkg && p.from != p.to && !slices.Contains(found[p], o.Name()) {
			found[p] = append(found[p], o.Name())
		}
	}
	return files, found
}

// bestOrder returns an order of files in which few uses run back: it moves each file to the best place for it until
// none has a better one.
func bestOrder(files []string, all uses) []string {
	cost := func(order []string) float64 {
		back := all.back(order)
		return part(len(back), len(all)) + part(back.names(), all.names())
	}
	order := slices.Clone(files)
	for least, start := cost(order), -1.0; least != start; {
		start = least
		for _, file := range files {
			rest := slices.DeleteFunc(slices.Clone(order), func(other string) bool { return other == file })
			for i := range files {
				moved := slices.Insert(slices.Clone(rest), i, file)
				if c := cost(moved); c < least {
					least, order = c, moved
				}
			}
		}
	}
	return order
}

var (
	orderLine  = regexp.MustCompile(`(?s)\n//\n// Files, leaves first: (.*?\.go)\.`)
	goFileName = regexp.MustCompile(`[a-z0-9_]+\.go\b`)
)

// orderIn returns the files that the line in a doc.go names, nil if it has no such line.
func orderIn(doc string) []string {
	text, _ := os.ReadFile(doc)
	if line := orderLine.FindSubmatch(text); line != nil {
		return goFileName.FindAllString(string(line[1]), -1)
	}
	return nil
}

// writeOrder writes the line with the order into a doc.go, at the end of the package's comment.
func writeOrder(t *testing.T, doc string, order []string) {
	t.Helper()
	const maxLine = 120
	line, lines := "// Files, leaves first:", ""
	for i, file := range order {
		if i < len(order)-1 {
			file += ","
		}
		if len(line)+1+len(file) > maxLine {
			lines, line = lines+line+"\n", "//"
		}
		line += " " + file
	}
	text, err := os.ReadFile(doc)
	if err == nil {
		text = orderLine.ReplaceAll(text, nil)
		before, after, _ := bytes.Cut(text, []byte("\npackage "))
		err = os.WriteFile(doc, fmt.Appendf(nil, "%s\n//\n%s%s.\npackage %s", before, lines, line, after), 0o600)
	}
	expect.OK(t, err)
}

// misnamed returns what is wrong with an order of files: each must be named once, and no other, except for those of
// another operating system, which are not in files.
func misnamed(order, files []string, dir string) (problems []string) {
	for i, name := range order {
		if _, err := os.Stat(filepath.Join(dir, name)); err != nil {
			problems = append(problems, name+" is named, and there is none")
		}
		if slices.Contains(order[:i], name) {
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
	dir := t.TempDir()
	for name, text := range map[string]string{
		"doc.go":   "// Package p is a test.\n//\n// Files, leaves first: leaf.go, leaf.go,\n// gone.go, top.go.\npackage p\n",
		"leaf.go":  "package p\ntype leaf struct{ size int }\nfunc (l leaf) grow() { top() }\n",
		"other.go": "package p\nfunc other(l leaf, m leaf) int { l.grow(); m.grow(); return l.size }\n",
		"top.go":   "package p\nfunc top() { own(); _ = other(leaf{}, leaf{}) }\nfunc own() {}\n",
	} {
		expect.OK(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	files, found := usesBetween(t, dir, []string{"top.go", "other.go", "doc.go", "leaf.go"}, nil)
	for _, names := range found {
		slices.Sort(names)
	}
	want := uses{
		{"leaf.go", "top.go"}: {"top"}, {"other.go", "leaf.go"}: {"grow", "leaf", "size"},
		{"top.go", "leaf.go"}: {"leaf"}, {"top.go", "other.go"}: {"other"},
	}
	expect.MustThat(t, reflect.DeepEqual(found, want), "got %v\nwant %v", found, want)
	got := found.back(files)
	expect.That(t, len(got) == 3 && got.names() == 5, "in the worst order: got %v", got)
	best := bestOrder(files, found)
	if got := found.back(best); len(got) != 1 || got.names() != 1 || !slices.Equal(best, []string{"leaf.go", "other.go", "top.go"}) {
		t.Errorf("in the order %v: got %v, want only what leaf.go uses of top.go", best, got)
	}
	if got := misnamed(orderIn(filepath.Join(dir, "doc.go")), files, dir); len(got) != 3 {
		t.Errorf("got %q, want leaf.go twice, gone.go missing, other.go not named", got)
	}
}
