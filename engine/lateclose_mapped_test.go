//go:build !race

package engine_test

import (
	"testing"
	"time"

	"shunt/engine"
)

// TestAHitAfterCloseIsCountedAtTheNextStart: race builds have rings on the heap, and no file has
// their records after Close.
func TestAHitAfterCloseIsCountedAtTheNextStart(t *testing.T) {
	l := newLife(t, 1)
	l.open(engine.Options{})
	l.hit(0, 5, 1)
	link, _ := l.Resolve(keyOf("link0").View())
	l.close()
	l.Hit(link, engine.Visit{Visitor: 2, NowMs: time.Now().UnixMilli()})
	link.Release()
	engine.EndProcess()
	l.open(engine.Options{})
	l.wantHits(6)
	l.close()
}
