// Package invariants holds checks that run under the race detector (or with the build tag
// invariants) and cost nothing otherwise: both twins of Check inline to their bodies.
package invariants
