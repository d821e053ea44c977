package embeddings

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
)

// Bounds of an answer.
const (
	maxVector    = 32 * maxDimension // bytes of a vector as JSON
	maxDimension = 8192
)

// ask requests vectors of texts from the endpoint.
func (x *Index) ask(ctx context.Context, texts []string) ([][]float32, error) {
	body, err := json.Marshal(map[string]any{"model": x.o.Model, "input": texts, "encoding_format": "float"})
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, x.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header["Idempotency-Key"] = nil // not sent; asks again if the server closed the connection meanwhile
	if x.o.Key != nil {
		key, err := x.o.Key(ctx)
		if err != nil {
			return nil, err
		}
		x.secrets.Add("", key)
		req.Header.Set("Authorization", "Bearer "+key)
	}
	res, err := x.client.Do(req)
	if err != nil {
		var u *url.Error
		if errors.As(err, &u) {
			err = u.Err
		}
		return nil, err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("status %s", res.Status)
	}
	most := (len(texts) + 1) * maxVector
	data, err := io.ReadAll(io.LimitReader(res.Body, int64(most)+1))
	if err != nil {
		return nil, err
	}
	if len(data) > most {
		return nil, fmt.Errorf("answer exceeds %d bytes", most)
	}
	return vectors(data, len(texts))
}

// vectors decodes and validates an answer for n texts.
func vectors(data []byte, n int) ([][]float32, error) {
	var answer struct {
		Data []struct {
			Index     int       `json:"index"`
			Embedding []float32 `json:"embedding"`
		} `json:"data"`
	}
	if err := json.Unmarshal(data, &answer); err != nil {
		return nil, fmt.Errorf("decode answer: %w", err)
	}
	out := make([][]float32, n)
	for _, d := range answer.Data {
		if d.Index < 0 || d.Index >= n || out[d.Index] != nil || len(d.Embedding) == 0 || len(d.Embedding) > maxDimension {
			return nil, errors.New("answer contains unexpected vectors")
		}
		for _, f := range d.Embedding {
			if math.IsInf(float64(f), 0) || math.IsNaN(float64(f)) {
				return nil, errors.New("answer contains invalid numbers")
			}
		}
		out[d.Index] = d.Embedding
	}
	for _, v := range out {
		if v == nil || len(v) != len(out[0]) {
			return nil, errors.New("answer lacks vectors")
		}
	}
	return out, nil
}
