package model_test

import (
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
	"github.com/hotpath-go/hotpath/model/arch"
	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/tokenizer"
)

func qwen3(t *testing.T, template string) *model.Model {
	t.Helper()
	tok, err := tokenizer.FromJSON(testdata.Read(t, "tokenizers/qwen3/tokenizer.json.gz"), nil)
	if err != nil {
		t.Fatal(err)
	}
	m, err := model.New("qwen3", &arch.Program{Vocab: tok.Size(), Tied: true}, tok, template)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// TestEncodeMessages: the ids of a conversation are those of the text that Python's Jinja renders,
// encoded with control tokens recognised.
func TestEncodeMessages(t *testing.T) {
	t.Parallel()
	m := qwen3(t, string(testdata.Read(t, "tokenizer-cases/templates/qwen3.jinja")))
	var suite struct {
		Cases []struct {
			Name     string
			Rendered string
			Context  struct {
				Messages []struct {
					Role    chat.Role
					Content json.RawMessage
				}
			}
		}
	}
	if err := json.Unmarshal(testdata.Read(t, "tokenizer-cases/chat/qwen3.json"), &suite); err != nil {
		t.Fatal(err)
	}
	names := []string{"user", "system_user", "multi_turn", "two_users_in_a_row"}
	for _, c := range suite.Cases {
		i := slices.Index(names, c.Name)
		if i < 0 {
			continue
		}
		names = slices.Delete(names, i, i+1)
		p := chat.Messages()
		for _, msg := range c.Context.Messages {
			var text string
			if err := json.Unmarshal(msg.Content, &text); err != nil {
				t.Fatal(err)
			}
			p = p.With(chat.Message{Role: msg.Role, Content: text})
		}
		got, err := m.Encode(p, time.Time{})
		if want := m.Tokenizer.Encode(nil, c.Rendered, tokenizer.Special); err != nil || !slices.Equal(got, want) {
			t.Errorf("%s: %v, %v\nwant %v", c.Name, got, err, want)
		}
	}
	if len(names) > 0 {
		t.Errorf("no cases %v", names)
	}
}

func TestEncodeBadMessages(t *testing.T) {
	t.Parallel()
	hello := chat.Messages(chat.User("hello"))
	for name, c := range map[string]struct {
		template string
		p        chat.Prompt
		want     error
	}{
		"no template":        {"", hello, chat.ErrNoTemplate},
		"malformed template": {"{% if %}", hello, chat.ErrTemplate},
		"refused":            {"{{ raise_exception('no') }}", hello, chat.ErrRender},
		"no messages":        {"{{ messages }}", chat.Messages(), model.ErrPrompt},
	} {
		m := qwen3(t, c.template)
		if _, err := m.Encode(c.p, time.Time{}); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

// TestDecision: what a folder declares about decisions is kept as it stands, and is part of the
// model's identity.
func TestDecision(t *testing.T) {
	t.Parallel()
	from := testdata.Path(t, "weights/stories260K")
	dir := t.TempDir()
	for _, name := range []string{"model.safetensors", "tokenizer.json", "tokenizer_config.json", "config.json"} {
		b, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			if name == "tokenizer_config.json" {
				continue
			}
			t.Fatal(err)
		}
		if name == "config.json" {
			b = []byte(strings.Replace(string(b), "{", `{"hotpath_decision": {"read": "each"},`, 1))
		}
		if err := os.WriteFile(filepath.Join(dir, name), b, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	m, plain := load(t, model.File(dir)), load(t, model.File(from))
	if m.Decision != `{"read": "each"}` || plain.Decision != "" || m.ID == plain.ID {
		t.Errorf("declared %q and %q, ids %x and %x", m.Decision, plain.Decision, m.ID, plain.ID)
	}
}
