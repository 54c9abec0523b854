package jinja_test

import (
	"fmt"

	"github.com/hotpath-go/hotpath/model/chat/jinja"
)

func ExampleTemplate_Execute() {
	t, err := jinja.Parse(`{% for m in messages %}<{{ m.role }}> {{ m.content | trim }}{{ ' ' ~ m.tags | tojson if m.tags }}
{% endfor %}`)
	if err != nil {
		fmt.Println(err)
		return
	}
	const user = 1 // the caller's own number for data of the user
	data, err := jinja.ParseJSON([]byte(`{"messages": [{"role": "user", "content": " hello ", "tags": {"b": 1, "a": [true, null]}}]}`), user)
	if err != nil {
		fmt.Println(err)
		return
	}
	out, err := t.Execute(data.(*jinja.Map), jinja.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Print(out)
	start := 0
	for _, r := range out.Runs()[:4] {
		fmt.Printf("%d %q\n", r.Origin, out.String()[start:r.End])
		start = r.End
	}
	// Output:
	// <user> hello {"b": 1, "a": [true, null]}
	// 0 "<"
	// 1 "user"
	// 0 "> "
	// 1 "hello"
}
