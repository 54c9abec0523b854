package decide

import "encoding/json"

// Value returns a JSON state as compact JSON, and nil for other states. The bytes must not be changed.
func (s State) Value() json.RawMessage { return s.json }
