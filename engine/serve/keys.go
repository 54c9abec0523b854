package serve

import (
	"bufio"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
)

// ErrKeys is returned for API keys that cannot be read or used. No message holds a secret.
var ErrKeys = errors.New("serve: bad API keys")

// Key is an API key: who it belongs to, and what its secret hashes to.
type Key struct {
	Name       string   // for logs, and for fairness between callers: 1 to 64 of A-Z a-z 0-9 . _ -
	Hash       [32]byte // SHA-256 of the secret
	Concurrent int      // requests at once; 0: no limit
}

// NewKey returns the key of a secret.
func NewKey(name, secret string) Key {
	return Key{Name: name, Hash: sha256.Sum256([]byte(secret))}
}

// String returns the name alone.
func (k Key) String() string { return k.Name }

// maxKeyLine bounds a line of a file of keys, in bytes.
const maxKeyLine = 4096

// ReadKeys reads keys, one a line, in fields separated by spaces: the name, the secret or
// "sha256:" and its hash in hexadecimal, and, where it is limited, how many requests it may have at
// once. Blank lines and lines that begin with # are skipped.
func ReadKeys(r io.Reader) ([]Key, error) {
	lines := bufio.NewScanner(r)
	lines.Buffer(nil, maxKeyLine)
	var keys []Key
	n := 0
	for lines.Scan() {
		n++
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		k, err := parseKey(line)
		if err != nil {
			return nil, fmt.Errorf("%w: line %d: %w", ErrKeys, n, err)
		}
		keys = append(keys, k)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("%w: line %d: %w", ErrKeys, n+1, err)
	}
	return keys, checkKeys(keys)
}

func parseKey(line string) (Key, error) {
	fields := strings.Fields(line)
	if len(fields) < 2 || len(fields) > 3 {
		return Key{}, fmt.Errorf("%d fields, want a name, a secret and perhaps a number of requests", len(fields))
	}
	k := NewKey(fields[0], fields[1])
	if digits, ok := strings.CutPrefix(fields[1], "sha256:"); ok {
		hash, err := hex.DecodeString(digits)
		if err != nil || len(hash) != len(k.Hash) {
			return Key{}, fmt.Errorf("the hash has %d characters, want %d hexadecimal digits", len(digits), 2*len(k.Hash))
		}
		copy(k.Hash[:], hash)
	}
	if len(fields) == 3 {
		var err error
		if k.Concurrent, err = strconv.Atoi(fields[2]); err != nil || k.Concurrent < 1 {
			return Key{}, fmt.Errorf("the number of requests is %q, want a whole number from 1", fields[2])
		}
	}
	return k, nil
}

// KeysFromFile reads the keys of a file, as ReadKeys does.
func KeysFromFile(path string) ([]Key, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrKeys, err)
	}
	defer f.Close()
	keys, err := ReadKeys(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return keys, nil
}

// KeysFromEnv reads the keys of an environment variable, as ReadKeys does; semicolons may stand for
// the ends of lines. A variable that is not set has no keys.
func KeysFromEnv(variable string) ([]Key, error) {
	keys, err := ReadKeys(strings.NewReader(strings.ReplaceAll(os.Getenv(variable), ";", "\n")))
	if err != nil {
		return nil, fmt.Errorf("%s: %w", variable, err)
	}
	return keys, nil
}

// checkKeys reports everything that is wrong with a list of keys.
func checkKeys(keys []Key) error {
	var errs []error
	names := map[string]bool{}
	hashes := map[[32]byte]string{}
	for i, k := range keys {
		if len(k.Name) > 64 || !plain(k.Name) {
			errs = append(errs, fmt.Errorf("%w: key %d: its name must be 1 to 64 of A-Z a-z 0-9 . _ -", ErrKeys, i+1))
		}
		if names[k.Name] {
			errs = append(errs, fmt.Errorf("%w: key %d: the name %q is there twice", ErrKeys, i+1, k.Name))
		}
		if other, ok := hashes[k.Hash]; ok {
			errs = append(errs, fmt.Errorf("%w: key %d: %q has the secret of %q", ErrKeys, i+1, k.Name, other))
		}
		if k.Hash == sha256.Sum256(nil) || k.Hash == [32]byte{} {
			errs = append(errs, fmt.Errorf("%w: key %d: the secret is empty", ErrKeys, i+1))
		}
		if k.Concurrent < 0 {
			errs = append(errs, fmt.Errorf("%w: key %d: Concurrent: %d, must not be negative", ErrKeys, i+1, k.Concurrent))
		}
		names[k.Name], hashes[k.Hash] = true, k.Name
	}
	return errors.Join(errs...)
}

// keyring holds the keys of a handler and who uses them.
type keyring struct {
	keys  []Key
	slots []chan struct{} // of each key: one item per request under way; nil: no limit
}

func newKeyring(keys []Key) *keyring {
	r := &keyring{keys: keys, slots: make([]chan struct{}, len(keys))}
	for i, k := range keys {
		if k.Concurrent > 0 {
			r.slots[i] = make(chan struct{}, k.Concurrent)
		}
	}
	return r
}

// find returns the index of the key in an Authorization header, or -1. All keys are compared, each
// in constant time, so that the time tells nothing of any of them.
func (r *keyring) find(authorization string) int {
	scheme, secret, _ := strings.Cut(authorization, " ")
	hash := sha256.Sum256([]byte(strings.TrimSpace(secret)))
	found := -1
	for i := range r.keys {
		same := subtle.ConstantTimeCompare(hash[:], r.keys[i].Hash[:])
		found = subtle.ConstantTimeSelect(same, i, found)
	}
	if !strings.EqualFold(scheme, "Bearer") {
		return -1
	}
	return found
}

// enter takes a slot of a key; ok is false where all are taken.
func (r *keyring) enter(i int) (leave func(), ok bool) {
	slots := r.slots[i]
	if slots == nil {
		return func() {}, true
	}
	select {
	case slots <- struct{}{}:
		return func() { <-slots }, true
	default:
		return nil, false
	}
}
