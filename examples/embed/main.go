// Embed runs a program in ten lines of Go.
package main

import (
	"context"
	"fmt"
	"log"

	"github.com/wexec/wexec/engine"
)

func main() {
	ctx := context.Background()
	eng, err := engine.New(ctx, engine.Config{})
	if err != nil {
		log.Fatal(err)
	}
	defer eng.Close()
	res, err := eng.Run(ctx, engine.Request{Language: "javascript", Code: "return args.list.reduce((a, b) => a + b)", Args: []byte(`{"list": [1, 2, 3]}`)})
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println(string(res.Value))
}
