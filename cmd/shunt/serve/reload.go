package serve

import (
	"io"
	"os"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"shunt/api/admin"
	"shunt/cmd/shunt/settings"
	"shunt/cmd/shunt/usage"
)

// A reloader reads the settings again and puts in force those that a running server can change.
type reloader struct {
	read    func() (*serveConfig, *pflag.FlagSet, error) // what a start would read now
	asked   chan struct{}                                // of one place: a signal during a reload is not lost
	inForce map[string]string                            // the text of each setting

	lastMs   atomic.Int64 // Unix time of the last reload that took effect; 0: none
	failures atomic.Uint64
}

// newReloader returns the reloader of the settings of cmd, which have been read.
func newReloader(cmd *cobra.Command, cluster Cluster) *reloader {
	return &reloader{
		read:    func() (*serveConfig, *pflag.FlagSet, error) { return readAgain(cmd, cluster) },
		asked:   make(chan struct{}, 1),
		inForce: settings.Texts(cmd.Flags()),
	}
}

// readAgain reads the settings of cmd from the environment and the file as they are now. What the
// command line gave stays.
func readAgain(cmd *cobra.Command, cluster Cluster) (*serveConfig, *pflag.FlagSet, error) {
	cfg, fresh := &serveConfig{addNode: cluster}, new(cobra.Command)
	addServeSettings(fresh, cfg)
	err := settings.CopyGiven(fresh.Flags(), cmd.Flags())
	if err == nil {
		err = settings.Apply(fresh.Flags(), usage.KnownSettings(cmd.Root()), os.Environ(), io.Discard) // the start has warned
	}
	return cfg, fresh.Flags(), err
}

// figures returns what has been reloaded, for the metrics. Any goroutine may call it.
func (r *reloader) figures() (f admin.Reloads) {
	f.Failures = r.failures.Load()
	if ms := r.lastMs.Load(); ms > 0 {
		f.LastAt = time.UnixMilli(ms)
	}
	return f
}

// ask asks for a reload and does not wait for it.
func (r *reloader) ask() {
	select {
	case r.asked <- struct{}{}:
	default: // one that has not begun is asked for already
	}
}

// reloadable reports whether a running server can change the setting with that name.
func reloadable(name string) bool {
	return name == "log-level" || name == "trusted-proxy" || strings.HasPrefix(name, "limit-")
}

// changed returns the settings whose text differs from the one in force: those that are reloaded, and
// those that need a restart.
func (r *reloader) changed(texts map[string]string) (reloads, restarts []string) {
	for name, text := range texts {
		switch {
		case text == r.inForce[name]:
		case reloadable(name):
			reloads = append(reloads, name)
		default:
			restarts = append(restarts, name)
		}
	}
	slices.Sort(reloads)
	slices.Sort(restarts)
	return reloads, restarts
}
