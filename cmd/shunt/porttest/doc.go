// Package porttest gives tests addresses at which servers are started, also again and again. It knows nothing of ours.
// Only tests may import it.
package porttest
