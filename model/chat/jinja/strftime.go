package jinja

import (
	"fmt"
	"strings"
	"time"
)

// strftime formats t as C's strftime does in the C locale. A directive it does not know stays as written.
func strftime(t time.Time, format string) string {
	var b strings.Builder
	for i := 0; i < len(format); i++ {
		if format[i] != '%' || i+1 == len(format) {
			b.WriteByte(format[i])
			continue
		}
		i++
		c := format[i]
		if c == '-' && i+1 < len(format) { // GNU: no padding
			i++
			s := directive(t, format[i])
			if trimmed := strings.TrimLeft(s, "0 "); trimmed != "" {
				s = trimmed
			} else if s != "" {
				s = "0"
			}
			b.WriteString(s)
			continue
		}
		b.WriteString(directive(t, c))
	}
	return b.String()
}

func directive(t time.Time, c byte) string {
	layout := map[byte]string{
		'a': "Mon", 'A': "Monday", 'b': "Jan", 'h': "Jan", 'B': "January", 'd': "02", 'e': "_2", 'H': "15",
		'I': "03", 'j': "002", 'm': "01", 'M': "04", 'p': "PM", 'S': "05", 'y': "06", 'Y': "2006", 'z': "-0700", 'Z': "MST",
		'c': "Mon Jan _2 15:04:05 2006", 'D': "01/02/06", 'F': "2006-01-02", 'R': "15:04", 'r': "03:04:05 PM",
		'T': "15:04:05", 'x': "01/02/06", 'X': "15:04:05",
	}
	if l, ok := layout[c]; ok {
		return t.Format(l)
	}
	year, week := t.ISOWeek()
	switch c {
	case '%':
		return "%"
	case 'n':
		return "\n"
	case 't':
		return "\t"
	case 'f':
		return fmt.Sprintf("%06d", t.Nanosecond()/1000)
	case 's':
		return fmt.Sprint(t.Unix())
	case 'C':
		return fmt.Sprintf("%02d", t.Year()/100)
	case 'k':
		return fmt.Sprintf("%2d", t.Hour())
	case 'l':
		return fmt.Sprintf("%2d", (t.Hour()+11)%12+1)
	case 'u':
		return fmt.Sprint((int(t.Weekday())+6)%7 + 1)
	case 'w':
		return fmt.Sprint(int(t.Weekday()))
	case 'G':
		return fmt.Sprint(year)
	case 'V':
		return fmt.Sprintf("%02d", week)
	case 'U':
		return fmt.Sprintf("%02d", (t.YearDay()+6-int(t.Weekday()))/7)
	case 'W':
		return fmt.Sprintf("%02d", (t.YearDay()+6-(int(t.Weekday())+6)%7)/7)
	}
	return "%" + string(rune(c))
}
