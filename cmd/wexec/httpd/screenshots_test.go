package httpd

import (
	"bytes"
	"image"
	"image/color"
	"image/png"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/chromedp/chromedp"
)

// TestScreenshots makes the pictures of the documentation: it writes a picture of each
// page of a seeded store to the folder WEXEC_SCREENSHOTS.
func TestScreenshots(t *testing.T) {
	folder := os.Getenv("WEXEC_SCREENSHOTS")
	if folder == "" {
		t.Skip("needs WEXEC_SCREENSHOTS")
	}
	a, runs := seeded(t)
	b := openBrowser(t, a, "owner")
	for _, shot := range []struct {
		name, path    string
		width, height int64
		dark          bool
	}{
		{"now", "/", 1280, 900, false},
		{"runs", "/runs", 1280, 900, false},
		{"run", "/runs/" + runs["report"] + "?records=1", 1280, 1000, false},
		{"run-failed", "/runs/" + runs["broken"], 1280, 1000, true},
		{"run-phone", "/runs/" + runs["report"], 390, 1500, false},
		{"approvals", "/approvals", 1280, 1000, false},
		{"approvals-phone", "/approvals", 390, 1100, true},
		{"tools", "/tools?tool=billing.refund", 1280, 900, false},
		{"usage", "/usage", 1280, 700, false},
		{"audit", "/audit?verify=1", 1280, 500, false},
	} {
		scheme := "light"
		if shot.dark {
			scheme = "dark"
		}
		b.scheme(scheme)
		b.do(chromedp.EmulateViewport(shot.width, shot.height), chromedp.Navigate(b.url+shot.path))
		b.until(`document.readyState === "complete"`)
		b.do(chromedp.Evaluate[chromedp.Void](`scrollTo(0, 0)`))
		data, err := chromedp.Run(b.ctx, chromedp.CaptureScreenshot())
		if err != nil {
			t.Fatal(shot.name, err)
		}
		if data, err = small(data); err != nil {
			t.Fatal(shot.name, err)
		}
		if len(data) > 60_000 {
			t.Errorf("%s has %d bytes", shot.name, len(data))
		}
		if err := os.WriteFile(filepath.Join(folder, shot.name+".png"), data, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// small makes a picture one of at most 256 colors: those that are most frequent.
func small(data []byte) ([]byte, error) {
	from, err := png.Decode(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	box, frequent := from.Bounds(), map[color.RGBA]int{}
	at := func(x, y int) color.RGBA {
		r, g, b, _ := from.At(x, y).RGBA()
		return color.RGBA{uint8(r >> 8 & 0xf8), uint8(g >> 8 & 0xf8), uint8(b >> 8 & 0xf8), 255}
	}
	exact := map[color.RGBA]map[color.RGBA]int{} // the colors of which each is made
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			c := at(x, y)
			frequent[c]++
			if exact[c] == nil {
				exact[c] = map[color.RGBA]int{}
			}
			exact[c][color.RGBAModel.Convert(from.At(x, y)).(color.RGBA)]++
		}
	}
	var all []color.RGBA
	for c := range frequent {
		all = append(all, c)
	}
	weight := func(c color.RGBA) int { // what has a color is seen even if it is small
		return frequent[c] * (4 + int(max(c.R, c.G, c.B)-min(c.R, c.G, c.B)))
	}
	slices.SortFunc(all, func(a, b color.RGBA) int { return weight(b) - weight(a) })
	colors := color.Palette{}
	for _, c := range all[:min(len(all), 64)] {
		most, best := 0, c
		for e, n := range exact[c] {
			if n > most {
				most, best = n, e
			}
		}
		colors = append(colors, best)
	}
	to, known := image.NewPaletted(box, colors), map[color.RGBA]uint8{}
	for y := box.Min.Y; y < box.Max.Y; y++ {
		for x := box.Min.X; x < box.Max.X; x++ {
			c := at(x, y)
			i, ok := known[c]
			if !ok {
				i = uint8(colors.Index(c))
				known[c] = i
			}
			to.SetColorIndex(x, y, i)
		}
	}
	var out bytes.Buffer
	err = (&png.Encoder{CompressionLevel: png.BestCompression}).Encode(&out, to)
	return out.Bytes(), err
}
