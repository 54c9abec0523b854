package model

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"

	"github.com/hotpath-go/hotpath/internal/mmap"
	"github.com/hotpath-go/hotpath/internal/share"
	"github.com/hotpath-go/hotpath/model/arch"
	"github.com/hotpath-go/hotpath/model/embedded"
	"github.com/hotpath-go/hotpath/model/gguf"
	"github.com/hotpath-go/hotpath/model/safetensors"
	"github.com/hotpath-go/hotpath/model/tokenizer"
)

// opened holds the models that are open, so that one file opened twice shares its weights.
var opened share.Cache[*Model]

// File returns the source of a model on disk: a GGUF file, the first part of a split one, a
// safetensors file with its config.json and tokenizer.json beside it, or the folder that holds them.
func File(path string) Source { return file(path) }

type file string

func (f file) String() string { return string(f) }

func (f file) Load(ctx context.Context) (*Model, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if f == "" {
		return nil, fmt.Errorf("%w: the path is empty", ErrSource)
	}
	path, err := filepath.EvalSymlinks(string(f))
	if err != nil {
		return nil, fmt.Errorf("%w: %s: %w", ErrSource, string(f), err)
	}
	if path, err = filepath.Abs(path); err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	// A file that was replaced meanwhile is another model.
	key := fmt.Sprintf("%s %d %d", path, info.Size(), info.ModTime().UnixNano())
	return shared(key, func() (*Model, error) {
		switch {
		case info.IsDir():
			return openSafetensors(path)
		case strings.HasSuffix(path, ".safetensors"):
			return openSafetensors(path)
		}
		return openGGUF(path)
	})
}

// Embedded returns the source of the small model for decisions that the module carries: see package
// embedded.
func Embedded() Source { return mini{} }

// Stories returns the source of stories260K, which the module carries too and which writes stories.
func Stories() Source { return stories{} }

type mini struct{}

func (mini) String() string { return "embedded " + embedded.Name }

func (mini) Load(ctx context.Context) (*Model, error) {
	return carried(ctx, embedded.Name, embedded.Weights)
}

type stories struct{}

func (stories) String() string { return "embedded " + embedded.StoriesName }

func (stories) Load(ctx context.Context) (*Model, error) {
	return carried(ctx, embedded.StoriesName, embedded.Stories)
}

// carried opens a GGUF file that the module carries.
func carried(ctx context.Context, name string, weights func() []byte) (*Model, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return shared("embedded "+name, func() (*Model, error) {
		f, err := gguf.Parse(weights())
		if err != nil {
			return nil, err
		}
		return fromGGUF(name, f)
	})
}

// shared opens a model once for all who hold it. Each holder gets its own Model value to close.
func shared(key string, open func() (*Model, error)) (*Model, error) {
	m, release, err := opened.Get(key, func() (*Model, func() error, error) {
		var m *Model
		// A file that shrinks while it is read is an error of this call.
		err := mmap.Guard(func() (err error) { m, err = open(); return err })
		if err != nil {
			return nil, nil, err
		}
		return m, m.release, nil
	})
	if err != nil {
		return nil, err
	}
	mine := *m
	mine.release = release
	return &mine, nil
}

func openGGUF(path string) (*Model, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	magic := make([]byte, 4)
	_, err = io.ReadFull(f, magic)
	_ = f.Close()
	if err != nil || !bytes.Equal(magic, []byte("GGUF")) {
		return nil, fmt.Errorf("%w: %s: no GGUF file, no safetensors file or folder", ErrSource, path)
	}
	g, err := gguf.Open(path)
	if err != nil {
		return nil, err
	}
	return fromGGUF(strings.TrimSuffix(filepath.Base(path), ".gguf"), g)
}

// fromGGUF takes over the file.
func fromGGUF(name string, f *gguf.File) (*Model, error) {
	m, err := build(name, f)
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	m.release, m.forget = f.Close, f.ReleaseData
	return m, nil
}

func build(name string, f *gguf.File) (*Model, error) {
	program, err := arch.FromGGUF(f)
	if err != nil {
		return nil, err
	}
	tok, err := tokenizer.FromGGUF(f.Meta())
	if err != nil {
		return nil, err
	}
	meta := f.Meta().Fields()
	m := &Model{
		Name: name, Program: program, Tokenizer: tok,
		Template: meta.Text("tokenizer.chat_template", ""), Decision: meta.Text("hotpath.decision", ""),
		IDF: meta.Float32s("hotpath.idf", nil), Fold: meta.Int32s("hotpath.fold", nil),
	}
	if err := meta.Err(); err != nil {
		return nil, err
	}
	return m, m.finish()
}

// finish checks that the parts fit each other and computes what follows from them.
func (m *Model) finish() error {
	if n := m.Tokenizer.Size(); n > m.Program.Vocab {
		return fmt.Errorf("%w: the tokenizer has %d tokens, the embedding %d rows", ErrMismatch, n, m.Program.Vocab)
	}
	if err := m.checkWords(); err != nil {
		return err
	}
	m.chatting = &chatting{}
	h := sha256.New()
	text := func(s string) {
		_ = binary.Write(h, binary.LittleEndian, uint64(len(s)))
		_, _ = io.WriteString(h, s)
	}
	text(m.Template)
	if m.Decision != "" {
		text(m.Decision)
	}
	if m.IDF != nil {
		text("idf")
		_ = binary.Write(h, binary.LittleEndian, m.IDF)
	}
	if m.Fold != nil {
		text("fold")
		_ = binary.Write(h, binary.LittleEndian, m.Fold)
	}
	sum := m.Tokenizer.Hash()
	_, _ = h.Write(sum[:])
	m.Program.WriteIdentity(h)
	for _, t := range m.Program.Tensors() {
		_, _ = h.Write(sample(t.Data))
		m.Size += int64(len(t.Data))
	}
	if m.Program.Tied {
		m.Size -= int64(len(m.Program.Head.Data))
	}
	h.Sum(m.ID[:0])
	return nil
}

// checkWords checks the numbers of tokens that decisions use.
func (m *Model) checkWords() error {
	if m.IDF != nil && len(m.IDF) != m.Program.Vocab {
		return fmt.Errorf("%w: hotpath.idf: %d numbers, the embedding has %d rows", ErrMismatch, len(m.IDF), m.Program.Vocab)
	}
	for i, x := range m.IDF {
		if !(x >= 0) || math.IsInf(float64(x), 0) {
			return fmt.Errorf("%w: hotpath.idf[%d]: %v, must be 0 or more", ErrMismatch, i, x)
		}
	}
	if m.Fold != nil && len(m.Fold) != m.Program.Vocab {
		return fmt.Errorf("%w: hotpath.fold: %d tokens, the embedding has %d rows", ErrMismatch, len(m.Fold), m.Program.Vocab)
	}
	for i, id := range m.Fold {
		if id < 0 || int(id) >= m.Program.Vocab {
			return fmt.Errorf("%w: hotpath.fold[%d]: token %d, the embedding has %d rows", ErrMismatch, i, id, m.Program.Vocab)
		}
	}
	return nil
}

// sample returns a few bytes of a tensor that tell two trainings of one shape apart without
// reading the file.
func sample(b []byte) []byte {
	const n = 64
	if len(b) <= 3*n {
		return b
	}
	mid := len(b) / 2
	return bytes.Join([][]byte{b[:n], b[mid : mid+n], b[len(b)-n:]}, nil)
}

func openSafetensors(path string) (*Model, error) {
	f, err := safetensors.Open(path)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrSource, err)
	}
	dir := path
	if info, err := os.Stat(path); err == nil && !info.IsDir() {
		dir = filepath.Dir(path)
	}
	m, err := assemble(dir, f)
	if err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	m.release, m.forget = f.Close, f.ReleaseData
	return m, nil
}

// assemble builds a model from the files of a safetensors folder.
func assemble(dir string, f *safetensors.File) (*Model, error) {
	program, err := arch.FromSafetensors(f)
	if err != nil {
		return nil, err
	}
	vocabulary, err := small(dir, "tokenizer.json", true)
	if err != nil {
		return nil, err
	}
	settings, err := small(dir, "tokenizer_config.json", false)
	if err != nil {
		return nil, err
	}
	tok, err := tokenizer.FromJSON(vocabulary, settings)
	if err != nil {
		return nil, err
	}
	m := &Model{Name: filepath.Base(dir), Program: program, Tokenizer: tok}
	if m.Template, err = templateOf(dir, settings); err != nil {
		return nil, err
	}
	if err := m.declare(dir); err != nil {
		return nil, err
	}
	return m, m.finish()
}

// declare reads what the folder's config.json declares about decisions.
func (m *Model) declare(dir string) error {
	b, err := small(dir, "config.json", false)
	if b == nil || err != nil {
		return err
	}
	var conf struct {
		Decision json.RawMessage `json:"hotpath_decision"`
		IDF      []float32       `json:"hotpath_idf"`
		Fold     []int32         `json:"hotpath_fold"`
	}
	if err := json.Unmarshal(b, &conf); err != nil {
		return fmt.Errorf("%w: config.json: %w", ErrSource, err)
	}
	if string(conf.Decision) != "null" {
		m.Decision = string(conf.Decision)
	}
	m.IDF, m.Fold = conf.IDF, conf.Fold
	return nil
}

// templateOf returns the chat template of a folder: chat_template.jinja, or the one that
// tokenizer_config.json holds, which is a string or a list of named ones.
func templateOf(dir string, settings []byte) (string, error) {
	if b, err := small(dir, "chat_template.jinja", false); err != nil || b != nil {
		return string(b), err
	}
	if settings == nil {
		return "", nil
	}
	conf, err := safetensors.ParseConfig(settings)
	if err != nil {
		return "", fmt.Errorf("tokenizer_config.json: %w", err)
	}
	v := conf.Get("chat_template")
	if !v.Exists() {
		return "", nil
	}
	if s, err := v.Text(); err == nil {
		return s, nil
	}
	list, err := v.Array()
	if err != nil {
		return "", fmt.Errorf("tokenizer_config.json: %w", err)
	}
	for _, item := range list {
		named, err := item.Object()
		if err != nil {
			return "", fmt.Errorf("tokenizer_config.json: %w", err)
		}
		get := named.Fields()
		if name := get.Text("name"); name == "default" {
			return get.Text("template"), get.Err()
		}
	}
	return "", nil
}

// maxSmall bounds the files of a folder that are read whole.
const maxSmall = 256 << 20

// small reads a file of a model's folder whole. A file that is absent is nil unless it is needed.
func small(dir, name string, needed bool) ([]byte, error) {
	f, err := os.Open(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) && !needed {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSmall+1))
	if err != nil {
		return nil, fmt.Errorf("model: %w", err)
	}
	if len(b) > maxSmall {
		return nil, fmt.Errorf("%w: %s: over %d bytes", ErrSource, name, maxSmall)
	}
	return b, nil
}
