package decide

import (
	"encoding/json"
	"fmt"
	"strings"

	"github.com/hotpath-go/hotpath/model"
)

// parseSpellings returns what the model's file declares about labels: that the likeliest spelling of
// one counts alone, where otherwise their probabilities are summed; and that it declares no read but
// this.
func parseSpellings(m *model.Model) (likeliest, alone bool, err error) {
	if m.Decision == "" {
		return false, false, nil
	}
	fail := func(field, format string, args ...any) (bool, bool, error) {
		return false, false, fmt.Errorf("%w: %s declares its decisions: %s: %s", ErrDeclared, m.Name, field, fmt.Sprintf(format, args...))
	}
	var in struct{ Read, Spellings string }
	if err := json.Unmarshal([]byte(m.Decision), &in); err != nil {
		return fail("JSON", "%v", err)
	}
	if in.Spellings != "" && in.Spellings != "sum" && in.Spellings != "max" {
		return fail("spellings", "%q, must be \"sum\" or \"max\"", in.Spellings)
	}
	if in.Read == "label" {
		dec := json.NewDecoder(strings.NewReader(m.Decision))
		dec.DisallowUnknownFields()
		if err := dec.Decode(&in); err != nil {
			return fail("read \"label\"", "%v", err)
		}
	}
	return in.Spellings == "max", in.Read == "label", nil
}
