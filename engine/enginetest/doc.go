// Package enginetest helps to test code that uses an engine. [Script] returns a [Fake] that
// satisfies engine.Generator and decide.Decider and answers from a script:
//
//	fake := enginetest.Script().
//		OnDecide("tool", enginetest.Choose("search", 0.93)).
//		OnGenerate("Here is what I found.")
//	a := NewAgent(fake)
//	...
//	fake.AssertDone(t)
//
// Answers must be asked for in the script's order; everything that was asked is recorded.
// [Embedded] opens a real engine on the small trained model that the module carries.
package enginetest
