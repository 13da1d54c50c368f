package shunt_test

import (
	"cmp"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"shunt/engine/expect"
)

// fileNames are names of Go files and documents, alone or with folders. An … stands for more than one file.
var fileNames = regexp.MustCompile(`[\w./…-]*\w\.(?:go|md)\b`)

// Names of files in comments and documents are held, so that whoever follows one finds the file.
func TestFilesThatTextsNameExist(t *testing.T) {
	var files []string
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err == nil && d.IsDir() && d.Name() == ".git" {
			return fs.SkipDir
		}
		files = append(files, filepath.ToSlash(file))
		return err
	})
	expect.OK(t, err)
	for _, file := range files {
		for _, text := range textsOf(t, file) {
			for _, name := range fileNames.FindAllString(text, -1) {
				expect.That(t, strings.Contains(name, "…") || exists(files, file, name), "%s names %s, and there is none", file, name)
			}
		}
	}
}

// exists reports whether a name in a text of file is one of files. A Go comment may name its neighbours, and other Go
// files with their folder; a document may be anywhere.
func exists(files []string, file, name string) bool {
	if slices.Contains(files, path.Join(path.Dir(file), name)) {
		return true
	}
	alone := path.Ext(file) == ".go" && path.Ext(name) == ".go" && !strings.Contains(name, "/") && name != "doc.go"
	return !alone && slices.ContainsFunc(files, func(f string) bool { return f == name || strings.HasSuffix(f, "/"+name) })
}

// textsOf returns the comments of a Go file, or a document.
func textsOf(t *testing.T, file string) (texts []string) {
	t.Helper()
	switch path.Ext(file) {
	case ".md":
		text, err := os.ReadFile(file)
		expect.OK(t, err)
		return []string{string(text)}
	case ".go":
		parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.ParseComments|parser.SkipObjectResolution)
		expect.OK(t, err)
		for _, group := range parsed.Comments {
			texts = append(texts, group.Text())
		}
	}
	return texts
}

// testNames are names of tests, benchmarks and fuzz targets. Those that end with … are the beginnings of several.
var testNames = regexp.MustCompile(`\b(?:Test|Benchmark|Fuzz)[A-Z]\w+…?`)

// Names of tests in comments and documents are held like those of files. bench/runs tells of the past.
func TestTestsThatTextsNameExist(t *testing.T) {
	texts, tests := make(map[string][]string), make(map[string]bool)
	declared := regexp.MustCompile(`(?m)^func ((?:Test|Benchmark|Fuzz)\w+)\(`)
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		file = filepath.ToSlash(file)
		if err != nil || d.IsDir() && (d.Name() == ".git" || file == "bench/runs") {
			return cmp.Or(err, error(fs.SkipDir))
		}
		if strings.HasSuffix(file, "_test.go") {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			for _, name := range declared.FindAllStringSubmatch(string(text), -1) {
				tests[name[1]] = true
			}
		}
		texts[file] = textsOf(t, file)
		return nil
	})
	expect.MustThat(t, err == nil && len(tests) >= 1000, "%d tests, %v", len(tests), err)
	known := slices.Sorted(maps.Keys(tests))
	for file, all := range texts {
		for _, name := range testNames.FindAllString(strings.Join(all, "\n"), -1) {
			expect.That(t, isTest(known, name), "%s names %s, and there is none", file, name)
		}
	}
}

// isTest reports whether a name in a text is that of one of the tests, which are sorted, or the beginning of one.
func isTest(tests []string, name string) bool {
	beginning, several := strings.CutSuffix(name, "…")
	at, found := slices.BinarySearch(tests, beginning)
	return found || several && at < len(tests) && strings.HasPrefix(tests[at], beginning) || name == "TestMain"
}

// Sentences in comments are read beside the code, so their lines are no longer than those of documents. Drawings,
// tables and examples, which are indented, may be wider.
func TestCommentsFitInTheirLines(t *testing.T) {
	read := 0
	err := filepath.WalkDir(".", func(file string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || path.Ext(file) != ".go" {
			return err
		}
		text, err := os.ReadFile(file)
		for i, line := range strings.Split(string(text), "\n") {
			expect.That(t, !isWideComment(line), "%s:%d: a comment of more than %d columns", file, i+1, maxColumns)
		}
		read++
		return err
	})
	expect.MustThat(t, err == nil && read >= 1000, "%d files, %v", read, err)
}

// isWideComment reports whether a line is a sentence of a comment, and has more columns than maxColumns. A tab has
// four.
func isWideComment(line string) bool {
	text, is := strings.CutPrefix(strings.TrimLeft(line, "\t"), "// ")
	return is && !strings.HasPrefix(text, "   ") && utf8.RuneCountInString(strings.ReplaceAll(line, "\t", "    ")) > maxColumns
}

func TestWideCommentsAreFound(t *testing.T) {
	wide := strings.Repeat("word ", 25)
	for line, want := range map[string]bool{
		"// " + wide: true, "\t\t// " + wide[:115]: true, "//   - " + wide: true, "\t// " + wide[:110]: false,
		"//\t" + wide: false, "//     " + wide: false, "code() // " + wide: false, "//go:generate " + wide: false,
	} {
		expect.Equal(t, isWideComment(line), want, line)
	}
}

func TestNamesOfMissingTestsAreFound(t *testing.T) {
	tests := []string{"BenchmarkX", "TestA", "TestAB"}
	for name, want := range map[string]bool{"TestA": true, "BenchmarkX": true, "TestMain": true, "TestA…": true, "Test…": true, "TestC": false, "TestC…": false, "TestABC": false} {
		expect.Equal(t, isTest(tests, name), want, name)
	}
}

func TestNamesOfMissingFilesAreFound(t *testing.T) {
	files := []string{"README.md", "a/doc.go", "a/x.go", "a/b/y.go"}
	for _, c := range []struct {
		file, name string
		want       bool
	}{
		{"a/x.go", "doc.go", true}, {"a/x.go", "b/y.go", true}, {"a/x.go", "a/b/y.go", true}, {"a/b/y.go", "README.md", true},
		{"README.md", "y.go", true}, {"a/x.go", "../README.md", true},
		{"a/x.go", "y.go", false}, {"README.md", "z.go", false}, {"a/x.go", "api.md", false}, {"a/x.go", "b/x.go", false},
	} {
		expect.Equal(t, exists(files, c.file, c.name), c.want, "%s in %s", c.name, c.file)
	}
}
