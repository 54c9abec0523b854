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

	// Guessed marks a route that the server may not have.
	Guessed bool

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

// String returns an aligned table: for each route the origins given, and the strangers that were let
// in if there are any. Lines that sum up follow.
func (r *Report) String() string {
	var b strings.Builder
	w := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	row := func(v Verdict, origin, may, why string) {
		route := v.Route.String()
		if v.Guessed {
			route += " (?)"
		}
		if v.Allowed && v.Credentials {
			why = strings.TrimPrefix(why+", with cookies", ", ")
		}
		line := printable(route) + "\t" + printable(origin) + "\t" + may
		if why != "" {
			line += "\t" + printable(why)
		}
		fmt.Fprintln(w, line)
	}
	fmt.Fprintln(w, "route\torigin\tmay call\twhy")
	guessed := false
	var open []string // strangers let in to the route
	strangers, passed := 0, 0
	for i, v := range r.Verdicts {
		guessed = guessed || v.Guessed
		switch {
		case v.Stranger:
			strangers++
			if v.Allowed {
				open = append(open, v.Origin)
			}
		case v.Allowed:
			row(v, v.Origin, "yes", v.Reason)
		default:
			row(v, v.Origin, "no", v.Reason)
		}
		if i+1 == len(r.Verdicts) || r.Verdicts[i+1].Route != v.Route {
			if len(open) > 0 {
				v.Allowed = true
				row(v, strings.Join(open, " "), "YES", "and should not")
			}
			passed += len(open)
			open = nil
		}
	}
	w.Flush()
	out := r.URL + "\n\n"
	if len(r.Verdicts) == 0 {
		return out + "No routes found.\n"
	}
	if strings.Count(b.String(), "\n") > 1 {
		out += b.String() + "\n"
	}
	if guessed {
		out += "(?) The server does not tell whether it has this route.\n"
	}
	if passed > 0 {
		return out + fmt.Sprintf("STRANGERS MAY CALL: %d of %d requests with null, unlisted or look-alike origins would pass.\n", passed, strangers)
	}
	return out + fmt.Sprintf("Strangers (null, unlisted and look-alike origins) are refused everywhere (%d of %d).\n", strangers, strangers)
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
