package cors

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// Report is what [Check] found out, one verdict for each route and origin.
type Report struct {
	URL      string
	Verdicts []Verdict // by route, then by origin: those given, then strangers
}

// Verdict says whether pages of an origin may call a route and read the answer.
type Verdict struct {
	Route  Route
	Origin string

	// Stranger marks an origin that was not given: null, unlisted, or a look-alike.
	Stranger bool

	Allowed bool
	Reason  string // why not, in the terms of the header or status that decided

	Status      int  // of the preflight; 0 if there was none
	AnyOrigin   bool // the server answers "*"
	Credentials bool // the server lets cookies be sent
}

// Open returns the verdicts that let strangers in.
func (r *Report) Open() []Verdict {
	var out []Verdict
	for _, v := range r.Verdicts {
		if v.Stranger && v.Allowed {
			out = append(out, v)
		}
	}
	return out
}

// String returns an aligned table of the verdicts about the origins given and of the strangers that
// were let in, and a line that sums up.
func (r *Report) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "route\torigin\tmay call\twhy")
	rows, refused := 0, 0
	for _, v := range r.Verdicts {
		if v.Stranger && !v.Allowed {
			refused++
			continue
		}
		rows++
		may, why := "no", v.Reason
		if v.Allowed {
			may = "yes"
		}
		if v.Stranger {
			may = "YES"
			why = "a stranger"
		}
		if v.Allowed && v.Credentials {
			why = strings.TrimPrefix(why+", with cookies", ", ")
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", printable(v.Route.String()), printable(v.Origin), may, printable(why))
	}
	w.Flush()
	out := r.URL + "\n\n"
	if rows > 0 {
		out += b.String() + "\n"
	}
	switch open := len(r.Open()); {
	case len(r.Verdicts) == 0:
		out += "No routes found.\n"
	case open == 0:
		out += fmt.Sprintf("Strangers (null, unlisted and look-alike origins) are refused everywhere (%d of %d).\n", refused, refused)
	default:
		out += fmt.Sprintf("STRANGERS MAY CALL: %d of %d requests with null, unlisted or look-alike origins would pass.\n", open, open+refused)
	}
	return out
}

// printable keeps what a server or a path says from steering the terminal.
func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || c >= 0x80 && c < 0xa0 {
			return '?'
		}
		return c
	}, s)
}
