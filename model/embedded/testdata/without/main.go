// Without opens a model of its own.
package main

import (
	"context"
	"fmt"
	"os"

	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/model"
)

func main() {
	eng, err := engine.Open(context.Background(), model.File(os.Args[1]))
	fmt.Println(eng, err)
}
