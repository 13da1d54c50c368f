package engine

import "shunt/engine/internal/cores"

// Cores returns how many processors the process may use, as Go found it at start: by the affinity
// mask, the limit of the cgroup, or the variable GOMAXPROCS. Work that should fill the machine, or a
// part of it, is divided by this number: runtime.GOMAXPROCS may be larger, because serve adds Ps.
func Cores() int { return cores.Usable() }
