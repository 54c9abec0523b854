// Package jinja interprets the template language that chat templates are written in: the part of Jinja2
// they use, printed as Python prints it, with trim_blocks, lstrip_blocks, break and continue, tojson as
// json.dumps without HTML escaping, raise_exception, strftime_now and generation blocks.
//
//	t, err := jinja.Parse(source)
//	out, err := t.Execute(vars, jinja.Options{Now: time.Now()})
//
// A [Template] is compiled once and executed by any number of goroutines. A [Map] keeps the order of its
// keys, since tojson and loops show it. A [Text], which is what a render returns, knows the [Origin] of
// every byte: the template, or the piece of data it came from, through slices, joins, trims, changes of
// case, replacements, tojson, macros and set blocks.
//
// The sandbox is closed. A template reads the data it is given and nothing else: there is no include,
// import or extends, no attribute beyond the data, and no method that changes a value. Time and memory
// are bounded by [Limits], source by 4 MiB, nesting by fixed depths; what is passed ends the render with
// ErrLimit and both numbers. The clock is an option, and the filter random gives the first item, so that
// a render is a function of its input.
//
// Known to differ from Python: letters whose upper case is several letters (other than ß), isprintable
// where Unicode versions differ, pprint never breaks lines, printed iterators and functions show no
// address, complex numbers fail, and a variable of the data that the outermost scope assigns only later
// is still visible in loops and macros before.
package jinja
