// With decides with the model that the module carries.
package main

import (
	"context"
	"fmt"

	"github.com/hotpath-go/hotpath/engine"
	"github.com/hotpath-go/hotpath/model"
)

func main() {
	eng, err := engine.Open(context.Background(), model.Embedded())
	fmt.Println(eng, err)
}
