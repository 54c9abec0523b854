package sim

import (
	"bufio"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"
	"time"
)

// ErrTrace is a trace file that cannot be read as one.
var ErrTrace = errors.New("sim: bad trace")

// Call is one request of a trace.
type Call struct {
	At     time.Duration // since the trace began
	Input  int           // tokens
	Output int           // tokens
	// Blocks name the parts of the prompt: equal numbers, in equal places, are equal prefixes. nil
	// where the trace says nothing about them.
	Blocks []int32
	Caller string
}

// maxTokens bounds what a line of a trace may ask for.
const maxTokens = 1 << 24

// ReadMooncake reads JSON lines of timestamp (ms), input_length, output_length and hash_ids, one
// for each 512 tokens.
func ReadMooncake(r io.Reader) ([]Call, error) {
	var out []Call
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		if len(lines.Bytes()) == 0 {
			continue
		}
		var l struct {
			Timestamp    int64   `json:"timestamp"`
			InputLength  int     `json:"input_length"`
			OutputLength int     `json:"output_length"`
			HashIDs      []int32 `json:"hash_ids"`
		}
		if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrTrace, len(out)+1, err)
		}
		c := Call{At: time.Duration(l.Timestamp) * time.Millisecond, Input: l.InputLength, Output: l.OutputLength, Blocks: l.HashIDs}
		if err := c.check(len(out) + 1); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%w: line %d: %w", ErrTrace, len(out)+1, err)
	}
	return out, nil
}

// ReadAzure reads comma-separated lines of TIMESTAMP, ContextTokens and GeneratedTokens, under a heading.
func ReadAzure(r io.Reader) ([]Call, error) {
	in := csv.NewReader(r)
	in.FieldsPerRecord = 3
	in.ReuseRecord = true
	if _, err := in.Read(); err != nil {
		return nil, fmt.Errorf("%w: heading: %w", ErrTrace, err)
	}
	var out []Call
	var first time.Time
	for line := 2; ; line++ {
		f, err := in.Read()
		if err == io.EOF {
			return out, nil
		}
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrTrace, line, err)
		}
		at, err := time.Parse("2006-01-02 15:04:05.9999999", f[0])
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrTrace, line, err)
		}
		if first.IsZero() {
			first = at
		}
		c := Call{At: at.Sub(first)}
		if c.Input, err = strconv.Atoi(f[1]); err == nil {
			c.Output, err = strconv.Atoi(f[2])
		}
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrTrace, line, err)
		}
		if err := c.check(line); err != nil {
			return nil, err
		}
		out = append(out, c)
	}
}

func (c *Call) check(line int) error {
	if c.At < 0 || c.Input < 0 || c.Output < 0 || c.Input > maxTokens || c.Output > maxTokens {
		return fmt.Errorf("%w: line %d: at %v, %d tokens in, %d out; range 0 to %d", ErrTrace, line, c.At, c.Input, c.Output, maxTokens)
	}
	for _, b := range c.Blocks {
		if b < 0 {
			return fmt.Errorf("%w: line %d: block %d", ErrTrace, line, b)
		}
	}
	return nil
}
