//go:build race || invariants

package invariants

// Enabled is true in builds with -race or with the tag invariants.
const Enabled = true

// Check panics when f finds a broken invariant: the state is no longer worth computing with.
func Check(f func() error) {
	if err := f(); err != nil {
		panic(err)
	}
}
