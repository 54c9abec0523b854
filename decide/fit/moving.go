package fit

// gorgonia.org/tensor imports this package, whose older versions panic at start under Go releases
// that they do not know; the version that module resolution picks by itself is such a one. The
// import keeps a later version a direct requirement of this module, and so of every module that
// imports it.
import _ "go4.org/unsafe/assume-no-moving-gc"
