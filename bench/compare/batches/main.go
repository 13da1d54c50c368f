// Batches writes the rows of links with Pebble alone, in the layout of shunt and with its options,
// and prints what that took. It is what storing a link costs at least.
//
// It works on the folder of a store that shunt has made: the options are those that Pebble has
// written there. Each link has the rows that a creation has: hot, cold and by owner, and an entry in the
// audit log, which those of a bulk have together; each batch also has the row that numbers it. Nothing is read, nothing is kept in memory, nobody else is told.
//
// Kinds of writing: in group, each writer waits until its link is durable, and all links that wait
// share a batch, as in shunt. In each, every writer commits a batch of its own, and Pebble shares
// the fsyncs. In bulk, a writer commits batches of 1,000 links. Whatever the kind, memtables are
// written to tables at the end, which is measured, too.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strconv"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "batches:", err)
		os.Exit(1)
	}
}

var errUsage = errors.New("usage: batches DIR group|each|bulk WRITERS DURATION")

const mostWriters = 4096

func run(args []string) error {
	if len(args) != 4 {
		return errUsage
	}
	writers, err := strconv.Atoi(args[2])
	if err != nil || writers < 1 || writers > mostWriters {
		return errUsage
	}
	length, err := time.ParseDuration(args[3])
	if err != nil || length <= 0 {
		return errUsage
	}
	write, ok := kinds[args[1]]
	if !ok {
		return errUsage
	}
	db, err := open(args[0])
	if err != nil {
		return err
	}
	report, err := measure(db, write, writers, length)
	if err := errors.Join(err, db.Close()); err != nil {
		return err
	}
	return json.NewEncoder(os.Stdout).Encode(report)
}
