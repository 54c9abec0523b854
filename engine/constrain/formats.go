package constrain

// The formats that are enforced, as expressions over the whole string. They are never wider than
// the format; dates know the lengths of months, and no leap seconds are written.
const (
	day   = `(?:(?:0[13578]|1[02])-(?:0[1-9]|[12][0-9]|3[01])|(?:0[469]|11)-(?:0[1-9]|[12][0-9]|30)|02-(?:0[1-9]|1[0-9]|2[0-8]))`
	leap  = `(?:[0-9]{2}(?:0[48]|[2468][048]|[13579][26])|(?:[02468][048]|[13579][26])00)-02-29`
	date  = `(?:[0-9]{4}-` + day + `|` + leap + `)`
	clock = `(?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9](?:\.[0-9]{1,9})?(?:Z|[+-](?:[01][0-9]|2[0-3]):[0-5][0-9])`
	octet = `(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])`
	ipv4  = octet + `(?:\.` + octet + `){3}`
	h16   = `[0-9a-fA-F]{1,4}`
	label = `[a-zA-Z0-9]{1,15}(?:-[a-zA-Z0-9]{1,15}){0,2}` // no two hyphens: those have meanings
)

// format returns the expression of a format, or nothing for one that is not enforced.
func format(name string) string {
	switch name {
	case "date":
		return date
	case "time":
		return clock
	case "date-time":
		return date + `T` + clock
	case "duration":
		return `P(?:[0-9]{1,9}W|(?:[0-9]{1,9}D|[0-9]{1,9}M(?:[0-9]{1,9}D)?|[0-9]{1,9}Y(?:[0-9]{1,9}M(?:[0-9]{1,9}D)?)?)(?:T` + period + `)?|T` + period + `)`
	case "uuid":
		return `[0-9a-fA-F]{8}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{4}-[0-9a-fA-F]{12}`
	case "ipv4":
		return ipv4
	case "ipv6":
		return `(?:` + h16 + `:){7}` + h16 + `|::(?:` + h16 + `(?::` + h16 + `){0,6})?|` +
			`(?:` + h16 + `:){1,1}(?::` + h16 + `){1,6}|(?:` + h16 + `:){1,2}(?::` + h16 + `){1,5}|(?:` + h16 + `:){1,3}(?::` + h16 + `){1,4}|` +
			`(?:` + h16 + `:){1,4}(?::` + h16 + `){1,3}|(?:` + h16 + `:){1,5}(?::` + h16 + `){1,2}|(?:` + h16 + `:){1,6}(?::` + h16 + `){1,1}|` +
			`(?:` + h16 + `:){1,7}:`
	case "hostname":
		return label + `(?:\.` + label + `){0,3}`
	case "email":
		return `[a-zA-Z0-9!#$%&'*+/=?^_{|}~-]{1,20}(?:\.[a-zA-Z0-9!#$%&'*+/=?^_{|}~-]{1,20}){0,2}@` + label + `(?:\.` + label + `){1,2}`
	case "uri":
		return `[a-zA-Z][a-zA-Z0-9+.-]*:(?://` + host + `(?:/` + segment + `*)*|/?(?:` + segment + `+(?:/` + segment + `*)*)?)` +
			`(?:\?` + query + `)?(?:#` + query + `)?`
	}
	return ""
}

const (
	period  = `(?:[0-9]{1,9}H(?:[0-9]{1,9}M(?:[0-9]{1,9}S)?)?|[0-9]{1,9}M(?:[0-9]{1,9}S)?|[0-9]{1,9}S)`
	host    = `[a-zA-Z0-9-]+(?:\.[a-zA-Z0-9-]+)*(?::[0-9]{1,4})?`
	escape  = `%[0-9a-fA-F]{2}`
	segment = `(?:[a-zA-Z0-9._~!$&'()*+,;=:@-]|` + escape + `)`
	query   = `(?:[a-zA-Z0-9._~!$&'()*+,;=:@/?-]|` + escape + `)*`
)
