package parse_test

import (
	"fmt"

	"github.com/hotpath-go/hotpath/model/chat"
	"github.com/hotpath-go/hotpath/model/chat/parse"
)

func Example() {
	tools := []chat.Tool{{Name: "get_weather", Parameters: []byte(`{"properties": {"city": {"type": "string"}}}`)}}
	p, err := parse.New(parse.Qwen3, parse.Options{Tools: tools})
	if err != nil {
		fmt.Println(err)
		return
	}
	show := func(events []parse.Event) {
		for _, e := range events {
			switch {
			case e.Kind == parse.Call:
				fmt.Printf("call %s %s\n", e.Call.Name, e.Call.Arguments)
			case e.Kind == parse.Reasoning && e.Text != "":
				fmt.Printf("reasoning %q\n", e.Text)
			case e.Text != "":
				fmt.Printf("content %q\n", e.Text)
			}
		}
	}
	for _, delta := range []string{"<thi", "nk>\nThe user wants", " Oslo.\n</think>\n\nLet me look.", "\n<tool_call>\n{\"name\": \"get_wea", "ther\", \"arguments\": {\"city\": \"Oslo\"}}\n</tool_call>"} {
		show(p.Push(delta))
	}
	show(p.Flush())
	// Output:
	// reasoning "The user wants"
	// reasoning " Oslo."
	// content "Let me look."
	// call get_weather {"city": "Oslo"}
}
