package safetensors

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"unicode/utf8"
)

// object calls field for each field of the JSON object in b, in order. raw is the callback's only
// until it returns. what names the object in errors.
func object(b []byte, what string, field func(name string, raw json.RawMessage) error) error {
	if !utf8.Valid(b) { // the decoder would replace such bytes, and so make two names one
		return fmt.Errorf("%w: %s: not UTF-8", ErrJSON, what)
	}
	d := json.NewDecoder(bytes.NewReader(b))
	t, err := d.Token()
	if err != nil {
		return fmt.Errorf("%w: %s: %w", ErrJSON, what, err)
	}
	if t != json.Delim('{') {
		return fmt.Errorf("%w: %s: want an object, found %v", ErrJSON, what, t)
	}
	seen := make(map[string]bool)
	var raw json.RawMessage
	for d.More() {
		t, err := d.Token()
		if err != nil {
			return fmt.Errorf("%w: %s: %w", ErrJSON, what, err)
		}
		name := t.(string) // the decoder gives nothing else in this place
		if seen[name] {
			return fmt.Errorf("%w: %s: %q", ErrDuplicate, what, name)
		}
		seen[name] = true
		if err := d.Decode(&raw); err != nil {
			return fmt.Errorf("%w: %s: %q: %w", ErrJSON, what, name, err)
		}
		if err := field(name, raw); err != nil {
			return err
		}
	}
	if _, err := d.Token(); err != nil {
		return fmt.Errorf("%w: %s: %w", ErrJSON, what, err)
	}
	if _, err := d.Token(); err != io.EOF {
		return fmt.Errorf("%w: %s: more than one value", ErrJSON, what)
	}
	return nil
}
