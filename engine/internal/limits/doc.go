// Package limits defines the limits of a link's fields, which the rooms of the engine share. It
// knows nothing of ours. Every room of the engine may use it; outside the engine they are
// engine.MaxCodeBytes and so on.
package limits
