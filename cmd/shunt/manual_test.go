package main

import (
	"cmp"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/cobra/doc"
	"github.com/spf13/pflag"

	"shunt/cmd/shunt/usage"
	"shunt/cmd/shunt/version"
	"shunt/engine/expect"
)

// TestEveryCommandHasAManPage writes the man pages: one for each command in section 1, one for each
// topic of `shunt help` in section 7. They go into the folder that SHUNTTEST_MANUAL names, from
// which the packages take them, or else into a folder of the test. The writer of man pages is a
// dependency of this test, so that the program does not carry it. SOURCE_DATE_EPOCH is their date.
func TestEveryCommandHasAManPage(t *testing.T) {
	dir := cmp.Or(os.Getenv("SHUNTTEST_MANUAL"), t.TempDir())
	root := newRoot("shunt", io.Discard, io.Discard)
	for _, cmd := range usage.CommandsOf(root) {
		forPage(cmd)
	}
	header := doc.GenManHeader{Section: "1", Source: "shunt " + version.Text(), Manual: "shunt"}
	expect.OK(t, doc.GenManTree(root, &header, dir))
	for _, topic := range topics {
		header := doc.GenManHeader{Title: "SHUNT-" + strings.ToUpper(topic.Name()), Section: "7", Source: header.Source, Manual: "shunt"}
		page, err := os.Create(filepath.Join(dir, "shunt-"+topic.Name()+".7"))
		expect.OK(t, err)
		expect.OK(t, doc.GenMan(topicPage(topic), &header, page))
		expect.OK(t, page.Close())
	}
	for _, cmd := range usage.CommandsOf(root) {
		if !cmd.IsAvailableCommand() || cmd.IsAdditionalHelpTopicCommand() {
			continue
		}
		page, err := os.ReadFile(filepath.Join(dir, strings.ReplaceAll(cmd.CommandPath(), " ", "-")+".1"))
		if err != nil {
			t.Error(err)
		} else if !strings.Contains(string(page), ".SH SYNOPSIS") || !strings.Contains(string(page), ".SH OPTIONS") {
			t.Errorf("the page of %q lacks its synopsis or its options:\n%s", cmd.CommandPath(), page)
		}
	}
}

// forPage prepares the texts of a command for a page, where they are read as Markdown: what stands
// between < and > would be dropped as a tag, and an example of less than four spaces be filled.
func forPage(cmd *cobra.Command) {
	cmd.DisableAutoGenTag = true
	cmd.Short, cmd.Long = asMarkdown(cmd.Short), asMarkdown(cmd.Long)
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) { f.Usage = asMarkdown(f.Usage) })
}

func asMarkdown(text string) string {
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		if strings.HasPrefix(line, "  ") {
			lines[i] = "    " + line
		} else {
			lines[i] = strings.ReplaceAll(line, "<", `\<`)
		}
	}
	return strings.Join(lines, "\n")
}

// topicPage returns a topic as a command that is only text.
func topicPage(topic *cobra.Command) *cobra.Command {
	page := &cobra.Command{Use: "shunt-" + topic.Name(), Short: topic.Short, Long: topic.Long, DisableFlagsInUseLine: true}
	page.Flags().BoolP("help", "h", false, "")
	usage.Must(page.Flags().MarkHidden("help"))
	forPage(page)
	return page
}
