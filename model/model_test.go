package model_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/hotpath-go/hotpath/internal/testdata"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/embedded"
)

func load(t *testing.T, s model.Source) *model.Model {
	t.Helper()
	m, err := s.Load(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := m.Close(); err != nil {
			t.Error(err)
		}
	})
	return m
}

// TestStories opens stories260K in its three forms and encodes the prompts of the reference.
func TestStories(t *testing.T) {
	t.Parallel()
	var ref struct {
		Runs []struct {
			Prompt string
			IDs    []int32
		}
		NLL []struct {
			Text string
			IDs  []int32
		}
	}
	if err := json.Unmarshal(testdata.Read(t, "weights/stories260K/reference.json"), &ref); err != nil {
		t.Fatal(err)
	}
	for name, s := range map[string]model.Source{
		"embedded":    model.Stories(),
		"gguf":        model.File(testdata.Path(t, "weights/stories260K/stories260K.f32.gguf")),
		"safetensors": model.File(testdata.Path(t, "weights/stories260K")),
		"one file":    model.File(testdata.Path(t, "weights/stories260K/model.safetensors")),
	} {
		t.Run(name, func(t *testing.T) {
			m := load(t, s)
			p := m.Program
			if p.Vocab != 512 || p.Width != 64 || len(p.Layers) != 5 || p.Context != 512 {
				t.Errorf("%d x %d, %d layers, context %d", p.Vocab, p.Width, len(p.Layers), p.Context)
			}
			for _, r := range ref.Runs {
				if r.Prompt == "" {
					continue // an empty prompt is refused, see below
				}
				got, err := m.Encode(chat.Text(r.Prompt), time.Time{})
				if err != nil || !slices.Equal(got, r.IDs) {
					t.Errorf("%q: %v, %v, want %v", r.Prompt, got, err, r.IDs)
				}
			}
			for _, r := range ref.NLL {
				got, err := m.Encode(chat.Text(r.Text), time.Time{})
				if err != nil || !slices.Equal(got, r.IDs) {
					t.Errorf("%q: %v, %v, want %v", r.Text, got, err, r.IDs)
				}
			}
		})
	}
}

func TestStoriesNeedNoFile(t *testing.T) {
	t.Parallel()
	a, b := load(t, model.Stories()), load(t, model.Stories())
	if a.Name != embedded.StoriesName || a.Tokenizer.Size() != 512 || a.ID != b.ID || a.ID == [32]byte{} {
		t.Errorf("%s, %d tokens, id %x and %x", a.Name, a.Tokenizer.Size(), a.ID, b.ID)
	}
	if a.Program != b.Program {
		t.Error("opened twice, not shared")
	}
}

func TestBadPrompts(t *testing.T) {
	t.Parallel()
	m := load(t, model.Stories())
	for name, c := range map[string]struct {
		prompt chat.Prompt
		want   error
		says   string
	}{
		"zero":          {chat.Prompt{}, model.ErrPrompt, "empty"},
		"empty text":    {chat.Text(""), model.ErrPrompt, "empty"},
		"no tokens":     {chat.Tokens(), model.ErrPrompt, "empty"},
		"unknown id":    {chat.Tokens(1, 512), model.ErrToken, "id 512, the vocabulary has 512"},
		"negative id":   {chat.Tokens(-1), model.ErrToken, "id -1"},
		"no template":   {chat.Messages(chat.User("hi")), chat.ErrNoTemplate, embedded.StoriesName},
		"mixed":         {chat.Text("x").With(chat.User("hi")), model.ErrPrompt, "added"},
		"tools on text": {chat.Text("x").WithTools(chat.Tool{Name: "t"}), model.ErrPrompt, "tools"},
	} {
		_, err := m.Encode(c.prompt, time.Time{})
		if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want %v that says %q", name, err, c.want, c.says)
		}
	}
	if ids, err := m.Encode(chat.Tokens(1), time.Time{}); err != nil || !slices.Equal(ids, []int32{1}) {
		t.Errorf("BOS alone: %v, %v", ids, err)
	}
	// Control tokens in text stay text.
	ids, err := m.Encode(chat.Text("a</s><s>b"), time.Time{})
	if err != nil || slices.Contains(ids[1:], 1) || slices.Contains(ids, 2) {
		t.Errorf("control tokens from text: %v, %v", ids, err)
	}
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	write := func(name, text string) string {
		p := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(p), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(p, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return p
	}
	for name, path := range map[string]string{
		"absent":          filepath.Join(dir, "none.gguf"),
		"empty":           write("empty.gguf", ""),
		"text":            write("text.gguf", "hello, world"),
		"cut":             write("cut.gguf", string(embedded.Stories()[:5000])),
		"cut data":        write("data.gguf", string(embedded.Stories()[:len(embedded.Stories())-9])),
		"no folder":       write("folder/readme.txt", "x"),
		"bare folder":     dir,
		"safetensors":     write("a.safetensors", "x"),
		"vocabulary only": testVocab(t),
	} {
		if path == "" {
			continue
		}
		m, err := model.File(path).Load(context.Background())
		if err == nil {
			_ = m.Close()
			t.Errorf("%s: opened", name)
		}
		if none := slices.Contains([]string{"absent", "empty", "text", "no folder", "bare folder", "safetensors"}, name); none && !errors.Is(err, model.ErrSource) {
			t.Errorf("%s: %v, want ErrSource", name, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := model.Stories().Load(ctx); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}

// testVocab returns a GGUF file that holds a vocabulary and no tensors; empty without the data.
func testVocab(t *testing.T) string {
	if os.Getenv(testdata.Variable) == "" {
		return ""
	}
	return testdata.Unpacked(t, "gguf-vocab/llama2-spm-vocab.gguf.gz")
}

// TestIdentity tells models apart by their content.
func TestIdentity(t *testing.T) {
	t.Parallel()
	b := slices.Clone(embedded.Stories())
	b[len(b)-1] ^= 1
	path := filepath.Join(t.TempDir(), "changed.gguf")
	if err := os.WriteFile(path, b, 0o600); err != nil {
		t.Fatal(err)
	}
	if a, b := load(t, model.Stories()), load(t, model.File(path)); a.ID == b.ID {
		t.Error("two trainings, one identity")
	}
}

// TestWordNumbers opens a folder whose config.json has numbers for the tokens of decisions.
func TestWordNumbers(t *testing.T) {
	t.Parallel()
	from := testdata.Path(t, "weights/stories260K")
	open := func(idf, fold string) (*model.Model, error) {
		dir := t.TempDir()
		for _, name := range []string{"model.safetensors", "tokenizer.json", "config.json"} {
			b, err := os.ReadFile(filepath.Join(from, name))
			if err != nil {
				t.Fatal(err)
			}
			if name == "config.json" {
				b = []byte(strings.TrimSuffix(strings.TrimSpace(string(b)), "}") + `, "hotpath_idf": ` + idf + `, "hotpath_fold": ` + fold + `}`)
			}
			if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		m, err := model.File(dir).Load(t.Context())
		if err == nil {
			t.Cleanup(func() { _ = m.Close() })
		}
		return m, err
	}
	list := func(n int, last string) string { return "[" + strings.Repeat("1, ", n-1) + last + "]" }
	seen := map[[32]byte]string{}
	for name, c := range map[string]struct{ idf, fold, want string }{
		"none":            {"null", "null", ""},
		"idf":             {list(512, "2.5"), "null", ""},
		"another idf":     {list(512, "2"), "null", ""},
		"with fold":       {list(512, "2"), list(512, "511"), ""},
		"short":           {list(511, "2"), "null", "hotpath.idf: 511 numbers, the embedding has 512 rows"},
		"negative":        {list(512, "-2"), "null", "hotpath.idf[511]: -2, must be 0 or more"},
		"short fold":      {list(512, "2"), list(3, "0"), "hotpath.fold: 3 tokens, the embedding has 512 rows"},
		"fold outside":    {list(512, "2"), list(512, "512"), "hotpath.fold[511]: token 512, the embedding has 512 rows"},
		"fold before all": {list(512, "2"), list(512, "-1"), "token -1"},
	} {
		m, err := open(c.idf, c.fold)
		if c.want != "" {
			if !errors.Is(err, model.ErrMismatch) || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%s: %v, want ErrMismatch with %q", name, err, c.want)
			}
			continue
		}
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if other, ok := seen[m.ID]; ok {
			t.Errorf("%s has the identity of %s", name, other)
		}
		seen[m.ID] = name
	}
}
