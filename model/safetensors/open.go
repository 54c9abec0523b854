package safetensors

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/hotpath-go/hotpath/internal/mmap"
)

const (
	modelFile = "model.safetensors"
	indexFile = "model.safetensors.index.json"
	maxIndex  = maxHeader
)

// Open maps a model: a file, an index (named *.index.json) with the shards beside it, or a folder
// that holds model.safetensors or, failing that, model.safetensors.index.json.
func Open(path string) (*File, error) {
	st, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	if st.IsDir() {
		dir := path
		path = filepath.Join(dir, modelFile)
		if _, err := os.Stat(path); errors.Is(err, fs.ErrNotExist) {
			path = filepath.Join(dir, indexFile)
			if _, err := os.Stat(path); err != nil {
				return nil, fmt.Errorf("safetensors: %s has neither %s nor %s: %w", dir, modelFile, indexFile, err)
			}
		}
	}
	if strings.HasSuffix(path, ".index.json") {
		return openIndex(path)
	}
	return openFile(path)
}

// openFile maps and reads one file.
func openFile(path string) (*File, error) {
	m, err := mmap.Open(path)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	var f *File
	err = mmap.Guard(func() (err error) {
		f, err = parse(m.Bytes())
		return err
	})
	if err != nil {
		m.Close()
		return nil, fmt.Errorf("%s: %w", filepath.Base(path), err)
	}
	f.dir = filepath.Dir(path)
	f.mappings = []*mmap.File{m}
	for i := range f.entries {
		f.entries[i].mapping = m
	}
	return f, nil
}

// openIndex opens an index and the shards that it names.
func openIndex(path string) (*File, error) {
	b, err := readFile(path, maxIndex)
	if err != nil {
		return nil, err
	}
	base := filepath.Base(path)
	f := &File{dir: filepath.Dir(path), index: make(map[string]int)}
	shards := make(map[string]*File)
	tensor := func(name string, raw json.RawMessage) error {
		var file string
		if err := json.Unmarshal(raw, &file); err != nil {
			return fmt.Errorf("%w: %s: tensor %q: %w", ErrIndex, base, name, err)
		}
		if !plain(file) {
			return fmt.Errorf("%w: %s: tensor %q: %q is not the name of a file in the folder", ErrIndex, base, name, file)
		}
		s := shards[file]
		if s == nil {
			if s, err = openFile(filepath.Join(f.dir, file)); err != nil {
				return err
			}
			shards[file] = s
			f.mappings = append(f.mappings, s.mappings...)
			if f.meta == nil {
				f.meta = s.meta
			}
		}
		i, ok := s.index[name]
		if !ok {
			return fmt.Errorf("%w: %s: tensor %q is not in %s", ErrIndex, base, name, file)
		}
		f.add(s.entries[i])
		return nil
	}
	found := false
	err = object(b, base, func(name string, raw json.RawMessage) error {
		if name != "weight_map" {
			return nil
		}
		found = true
		return object(raw, base+": weight_map", tensor)
	})
	if err == nil && !found {
		err = fmt.Errorf("%w: %s: no weight_map", ErrIndex, base)
	}
	if err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// plain reports whether name is that of a file in the folder itself, on every system.
func plain(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\\:\x00") && filepath.IsLocal(name)
}

// readFile returns the content of a file of at most limit bytes.
func readFile(path string, limit int64) ([]byte, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, limit+1))
	if err != nil {
		return nil, fmt.Errorf("safetensors: %w", err)
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%w: %s: over %d bytes", ErrLimit, filepath.Base(path), limit)
	}
	return b, nil
}
