// Command plugin is a foreign plugin in Go, with Extism's own library.
package main

import (
	"bytes"
	"errors"
	"fmt"

	pdk "github.com/extism/go-pdk"
)

//go:wasmexport upper
func upper() int32 {
	pdk.Output(bytes.ToUpper(pdk.Input()))
	return 0
}

type order struct {
	Item  string `json:"item"`
	Price int    `json:"price"`
}

// total reads orders and gives their sum, as JSON.
//
//go:wasmexport total
func total() int32 {
	var in []order
	if err := pdk.InputJSON(&in); err != nil {
		pdk.SetError(fmt.Errorf("the orders cannot be read: %w", err))
		return 1
	}
	sum := 0
	for _, o := range in {
		sum += o.Price
	}
	if err := pdk.OutputJSON(map[string]int{"orders": len(in), "total": sum}); err != nil {
		pdk.SetError(err)
		return 1
	}
	return 0
}

// remember adds its input to a variable and gives that with the configuration.
//
//go:wasmexport remember
func remember() int32 {
	for range 3 {
		pdk.SetVar("seen", append(pdk.GetVar("seen"), pdk.Input()...))
	}
	region, known := pdk.GetConfig("region")
	_, other := pdk.GetConfig("other")
	if err := pdk.OutputJSON([]any{string(pdk.GetVar("seen")), region, known, other}); err != nil {
		pdk.SetError(err)
		return 1
	}
	return 0
}

// fill sets variables without an end.
//
//go:wasmexport fill
func fill() int32 {
	for n := 0; ; n++ {
		pdk.SetVar(fmt.Sprint(n), nil)
		pdk.SetVar(fmt.Sprint(n), []byte("value"))
	}
}

// ask makes the request that its configuration has, with its input.
//
//go:wasmexport ask
func ask() int32 {
	to, _ := pdk.GetConfig("url")
	res := pdk.NewHTTPRequest(pdk.MethodPost, to).SetHeader("X-Given", "yes").SetBody(pdk.Input()).Send()
	if err := pdk.OutputJSON([]any{res.Status(), string(res.Body()), res.Headers()["x-twice"]}); err != nil {
		pdk.SetError(err)
		return 1
	}
	return 0
}

//go:wasmexport fail
func fail() int32 {
	pdk.SetError(errors.New("the plugin says no"))
	return 1
}

//go:wasmexport spin
func spin() int32 {
	for n := 0; ; n++ {
		if n < 0 {
			return 1
		}
	}
}

//go:wasmexport hoard
func hoard() int32 {
	var kept [][]byte
	for {
		kept = append(kept, make([]byte, 1<<20))
		if len(kept) < 0 {
			return 1
		}
	}
}

//go:wasmexport trap
func trap() int32 { panic("the plugin fell over") }

func main() {}
