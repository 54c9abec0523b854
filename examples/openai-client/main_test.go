package main

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"
	"github.com/openai/openai-go/v3/shared"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/engine/serve"
	"github.com/hotpath-go/hotpath/model"
	"github.com/hotpath-go/hotpath/model/chat"
)

const template = `{%- if tools %}{% for t in tools %}{{ t | tojson }}{% endfor %}<tool_call>{"name": ..., "arguments": ...}</tool_call>{% endif %}
{%- for m in messages %}<|im_start|>{{ m.role }}
{{ m.content }}{% for c in m.tool_calls or [] %}<tool_call>{{ c.function | tojson }}</tool_call>{% endfor %}<|im_end|>
{% endfor %}{% if add_generation_prompt %}<|im_start|>assistant
{% endif %}`

// source is stories260K with a chat template.
type source struct{}

func (source) String() string { return "stories260K, with a template" }

func (source) Load(ctx context.Context) (*model.Model, error) {
	m, err := model.Stories().Load(ctx)
	if err != nil {
		return nil, err
	}
	return model.New("tiny-chat", m.Program, m.Tokenizer, template)
}

// start serves the model and returns a client of it.
func start(t *testing.T) (*engine.Engine, *openai.Client) {
	t.Helper()
	e, err := engine.Open(t.Context(), source{})
	if err != nil {
		t.Fatal(err)
	}
	h, err := serve.New(e, serve.WithKeys([]serve.Key{serve.NewKey("test", "a-secret")}))
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewServer(h)
	t.Cleanup(func() { s.Close(); _ = e.Close() })
	client := openai.NewClient(option.WithBaseURL(s.URL+"/v1"), option.WithAPIKey("a-secret"), option.WithMaxRetries(0))
	return e, &client
}

func TestRun(t *testing.T) {
	t.Parallel()
	_, client := start(t)
	var out strings.Builder
	if err := run(t.Context(), client, "The cup is cracked.", &out); err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"model tiny-chat\n", "cancel: 0.", "team: ", ", confidence "} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in %s", want, &out)
		}
	}
}

// What the library reads off the response is what the engine says.
func TestDecisions(t *testing.T) {
	t.Parallel()
	e, client := start(t)
	text := func(s string) openai.DecisionNewParamsQuestionScoreInstructionsUnion {
		return openai.DecisionNewParamsQuestionScoreInstructionsUnion{OfString: openai.String(s)}
	}
	got, err := client.Decisions.New(t.Context(), openai.DecisionNewParams{
		Model: "tiny-chat",
		Input: openai.DecisionNewParamsInputUnion{OfDecisionInputMessageArray: []openai.DecisionInputMessageParam{{
			Content: openai.DecisionInputMessageContentUnionParam{OfString: openai.String("The cup is cracked.")},
		}}},
		SafetyIdentifier: openai.String("u1"),
		Questions: []openai.DecisionNewParamsQuestionUnion{
			{OfChoice: &openai.DecisionNewParamsQuestionChoice{
				Instructions: openai.DecisionNewParamsQuestionChoiceInstructionsUnion{OfString: openai.String("Which?")},
				Choices:      []openai.DecisionNewParamsQuestionChoiceChoice{choice("plate", "any dish"), choice("cup", "")},
			}},
			{OfScore: &openai.DecisionNewParamsQuestionScore{
				Name: openai.String("damage"), Instructions: text("How bad?"),
				Levels: []openai.DecisionNewParamsQuestionScoreLevel{{Label: "none"}, {Label: "broken"}},
			}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	want, err := e.Decide(t.Context(), decide.Request{State: decide.Text("The cup is cracked."), Questions: []decide.Question{
		decide.Choice("item", "Which?", decide.Opt("plate", "any dish"), decide.Opt("cup", "")), decide.Score("damage", "How bad?", "none", "broken"),
	}})
	if err != nil {
		t.Fatal(err)
	}
	c, s := got.Answers[0].AsChoice(), got.Answers[1].AsScore()
	if c.Choice.OfString != want.Answers[0].Value || math.Abs(c.Probabilities[1].Probability-want.Answers[0].Probabilities[1]) > 1e-9 ||
		math.Abs(c.Confidence-want.Answers[0].Confidence) > 1e-9 {
		t.Errorf("%s, want %v", c.RawJSON(), want.Answers[0])
	}
	if s.Name != "damage" || math.Abs(s.Score-want.Answers[1].Score) > 1e-9 || s.Probabilities[1].Label != "broken" {
		t.Errorf("%s, want %v", s.RawJSON(), want.Answers[1])
	}
	if got.Usage.InputTokens == 0 || got.Usage.TotalTokens != got.Usage.InputTokens {
		t.Errorf("%s", got.Usage.RawJSON())
	}
}

// A streamed chat, put together by the library, is the whole reply and the engine's.
func TestChat(t *testing.T) {
	t.Parallel()
	e, client := start(t)
	params := openai.ChatCompletionNewParams{
		Model: "tiny-chat", Seed: openai.Int(5), N: openai.Int(2), MaxCompletionTokens: openai.Int(30), Logprobs: openai.Bool(true), TopLogprobs: openai.Int(2),
		Messages:      []openai.ChatCompletionMessageParamUnion{openai.DeveloperMessage("Be kind."), openai.UserMessage("Tell a story.")},
		StreamOptions: openai.ChatCompletionStreamOptionsParam{IncludeUsage: openai.Bool(true)},
	}
	stream := client.Chat.Completions.NewStreaming(t.Context(), params)
	var sum openai.ChatCompletionAccumulator
	for stream.Next() {
		if !sum.AddChunk(stream.Current()) {
			t.Fatal("events do not fit together")
		}
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	params.StreamOptions = openai.ChatCompletionStreamOptionsParam{}
	whole, err := client.Chat.Completions.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	heat := 1.0
	request := engine.GenerateRequest{Prompt: chat.Messages(chat.System("Be kind."), chat.User("Tell a story.")), Seed: 5, N: 2, MaxTokens: 30}
	request.Sampling.Temperature = &heat
	want, err := e.Generate(t.Context(), request)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{want.Text, want.Others[0].Text} {
		if whole.Choices[i].Message.Content != text || sum.Choices[i].Message.Content != text {
			t.Errorf("choice %d: %q and streamed %q, want %q", i, whole.Choices[i].Message.Content, sum.Choices[i].Message.Content, text)
		}
		if p := whole.Choices[i].Logprobs.Content; len(p) == 0 || len(p[0].TopLogprobs) != 2 || p[0].Logprob > 0 {
			t.Errorf("choice %d: log-probabilities %v", i, p)
		}
	}
	if whole.Usage.PromptTokensDetails.CachedTokens == 0 || sum.Usage.CompletionTokens != whole.Usage.CompletionTokens {
		t.Errorf("usage %s and %s", whole.Usage.RawJSON(), sum.Usage.RawJSON())
	}
}

func TestTools(t *testing.T) {
	t.Parallel()
	_, client := start(t)
	params := openai.ChatCompletionNewParams{
		Model: "tiny-chat", Seed: openai.Int(5), MaxCompletionTokens: openai.Int(100),
		Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("Left or right?")},
		Tools: []openai.ChatCompletionToolUnionParam{openai.ChatCompletionFunctionTool(shared.FunctionDefinitionParam{
			Name: "turn", Parameters: shared.FunctionParameters{
				"type": "object", "properties": map[string]any{"side": map[string]any{"enum": []string{"left", "right"}}},
				"required": []string{"side"}, "additionalProperties": false,
			},
		})},
		ToolChoice: openai.ToolChoiceOptionFunctionToolChoice(openai.ChatCompletionNamedToolChoiceFunctionParam{Name: "turn"}),
	}
	check := func(what string, m openai.ChatCompletionMessage, finish string) {
		t.Helper()
		if len(m.ToolCalls) != 1 || finish != "tool_calls" {
			t.Fatalf("%s: %s, %s", what, m.RawJSON(), finish)
		}
		var arguments struct{ Side string }
		f := m.ToolCalls[0].AsFunction().Function
		if what == "streamed" {
			f = openai.ChatCompletionMessageFunctionToolCallFunction{Name: m.ToolCalls[0].Function.Name, Arguments: m.ToolCalls[0].Function.Arguments}
		}
		if err := json.Unmarshal([]byte(f.Arguments), &arguments); err != nil || f.Name != "turn" || arguments.Side != "left" && arguments.Side != "right" {
			t.Errorf("%s: %v %v", what, f, err)
		}
	}
	whole, err := client.Chat.Completions.New(t.Context(), params)
	if err != nil {
		t.Fatal(err)
	}
	check("whole", whole.Choices[0].Message, whole.Choices[0].FinishReason)
	stream := client.Chat.Completions.NewStreaming(t.Context(), params)
	var sum openai.ChatCompletionAccumulator
	for stream.Next() {
		sum.AddChunk(stream.Current())
	}
	if err := stream.Err(); err != nil {
		t.Fatal(err)
	}
	check("streamed", sum.Choices[0].Message, sum.Choices[0].FinishReason)

	// The call and its result go back.
	params.Messages = append(params.Messages, whole.Choices[0].Message.ToParam(), openai.ToolMessage("done", whole.Choices[0].Message.ToolCalls[0].ID))
	params.ToolChoice = openai.ChatCompletionToolChoiceOptionUnionParam{}
	if _, err := client.Chat.Completions.New(t.Context(), params); err != nil {
		t.Error(err)
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	_, client := start(t)
	_, err := client.Chat.Completions.New(t.Context(), openai.ChatCompletionNewParams{Model: "other", Messages: []openai.ChatCompletionMessageParamUnion{openai.UserMessage("a")}})
	var e *openai.Error
	if !errors.As(err, &e) || e.StatusCode != 404 || e.Code != "model_not_found" || e.Param != "model" {
		t.Errorf("%v", err)
	}
	_, err = client.Models.Get(t.Context(), "other")
	if !errors.As(err, &e) || e.StatusCode != 404 {
		t.Errorf("%v", err)
	}
	_, err = client.Models.List(t.Context(), option.WithAPIKey("wrong"))
	if !errors.As(err, &e) || e.StatusCode != 401 || e.Code != "invalid_api_key" {
		t.Errorf("%v", err)
	}
	_, err = client.Decisions.New(t.Context(), openai.DecisionNewParams{Model: "tiny-chat", Input: openai.DecisionNewParamsInputUnion{OfString: openai.String("s")},
		Questions: []openai.DecisionNewParamsQuestionUnion{{OfChoice: &openai.DecisionNewParamsQuestionChoice{
			Instructions: openai.DecisionNewParamsQuestionChoiceInstructionsUnion{OfString: openai.String("?")},
			Choices:      []openai.DecisionNewParamsQuestionChoiceChoice{choice("one", "")},
		}}}})
	if !errors.As(err, &e) || e.StatusCode != 400 || e.Param != "questions[0].choices" {
		t.Errorf("%v", err)
	}
}
