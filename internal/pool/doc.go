// Package pool runs the fork-join loops of a forward pass on workers that the whole process shares.
//
// [Open] takes a share of the process's workers, [Pool.Run] splits a [Job] over them and waits.
// Workers spin for some tens of microseconds between jobs, because the next one usually follows at
// once, and then park. They are started by the first Open that needs them and end with the last
// Close.
package pool
