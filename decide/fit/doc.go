// Package fit makes calibrators and decision heads from labelled examples.
//
// [Temperature], [Platt] and [Vector] ask a decide.Decider about [Example] values and fit a
// decide.Calibrator to its answers; [Read] keeps the answers in a [Set], so that several fits share
// them. [Head] trains a probe on hidden states, which [Rows] reads off an engine. Each returns a
// [Report] with accuracy, negative log-likelihood, Brier score and expected calibration error before
// and after, on examples that the fit did not see; Report.PNG draws the reliability diagram.
//
// What they return is data of package decide, with Save and Load there: programs that only use a
// calibrator do not link this package, which brings gorgonia and gonum/plot.
//
// # Caveats
//
// A temperature changes no answer, only how sure it is: accuracy stays. Platt and vector scaling can
// change answers, and vector scaling is for one question with its options. A report without a
// held-out part (Options.Holdout 0) is of the very examples that were fitted, and flatters.
//
// What is fitted on answers read in one way (method, orders, prior) is applied to no others.
//
// A Decider that says what it is bound to (it has a method Binding, as engines do) gives a bound
// calibrator; of another one Options.Binding must say it, or no engine will take the calibrator.
//
// The same examples, answers and seed give the same numbers. Functions are safe for concurrent use.
// No global state is touched.
package fit
