package wire_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/hotpath-go/hotpath/decide"
	"github.com/hotpath-go/hotpath/decide/wire"
)

// fuzzRequest checks that whatever a dialect takes is JSON to encoding/json too, and comes back the
// same from its own encoding.
func fuzzRequest(f *testing.F, dialects []wire.Dialect) {
	f.Add([]byte(`{"model":"m","state":"s","questions":{"q":{"type":"choice","criteria":{"true":null,"b\n":"\u00e9"}}}}`))
	f.Add([]byte(`{"model":"m","input":"s","questions":[{"type":"choice","instructions":"i","choices":[{"value":"true"},{"value":true}]}]}`))
	f.Add([]byte(`{"input":[1e3],"temperature":2,"questions":[{"id":"q","type":"score","question":{"a":1},"levels":["x",{"y":1}]}]}`))
	for _, s := range samples {
		f.Add(read(f, s.name+"_request.json"))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for _, d := range dialects {
			c, err := d.DecodeRequest(body)
			if err != nil {
				continue
			}
			if !json.Valid(body) {
				t.Fatalf("%s takes what is not JSON", d.Name)
			}
			first, err := d.EncodeRequest(c)
			if err != nil {
				t.Fatalf("%s: %v", d.Name, err)
			}
			back, err := d.DecodeRequest(first)
			if err != nil {
				t.Fatalf("%s: %v\n%s", d.Name, err, first)
			}
			// Messages of the input come back as one string, so the bodies may differ.
			if !reflect.DeepEqual(c.Request, back.Request) {
				t.Fatalf("%s: %s\n got %+v\nwant %+v", d.Name, first, back.Request, c.Request)
			}
		}
	})
}

func FuzzSystemOneRequest(f *testing.F) { fuzzRequest(f, wire.Dialects(wire.SystemOneShape)) }
func FuzzOpenAIRequest(f *testing.F)    { fuzzRequest(f, wire.Dialects(wire.OpenAIShape)) }
func FuzzSGLangRequest(f *testing.F)    { fuzzRequest(f, wire.Dialects(wire.SGLangShape)) }

// FuzzResponse checks that whatever a client takes is a whole and finite result.
func FuzzResponse(f *testing.F) {
	var calls []*wire.Call
	for _, s := range samples {
		f.Add(read(f, s.response))
		c, err := s.dialect.DecodeRequest(read(f, s.name+"_request.json"))
		if err != nil {
			f.Fatal(err)
		}
		calls = append(calls, c)
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		for i, s := range samples {
			r, err := s.dialect.DecodeResponse(calls[i], body)
			if err != nil {
				continue
			}
			for j, a := range r.Answers {
				if a.Abstained {
					continue
				}
				if _, err := decide.NewAnswer(decide.Request{}, calls[i].Request.Questions[j], a.Probabilities); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := s.dialect.EncodeResponse(calls[i], r, wire.Meta{}); err != nil {
				t.Fatal(err)
			}
		}
	})
}
