package review

import (
	"bytes"
	"compress/bzip2"
	"compress/flate"
	"compress/gzip"
	"compress/zlib"
	"encoding/ascii85"
	"encoding/base32"
	"encoding/base64"
	"encoding/hex"
	"io"
	"net/url"
	"strings"
)

// decoded resolves a call of a function that decodes a constant.
func (p *program) decoded(path string, n *node, f *frame) (value, bool) {
	encoding := ""
	switch path {
	case "atob", "base64.b64decode", "base64.urlsafe_b64decode", "base64.standard_b64decode", "base64.decodebytes", "binascii.a2b_base64":
		encoding = "base64"
	case "bytes.fromhex", "bytearray.fromhex", "binascii.unhexlify", "binascii.a2b_hex", "base64.b16decode":
		encoding = "hex"
	case "base64.b32decode":
		encoding = "base32"
	case "base64.a85decode":
		encoding = "ascii85"
	case "codecs.decode", "Buffer.from", "codecs.encode":
		if v := p.one(n.argument(1), f); v.known() {
			encoding = v.text
		}
	case "decodeURIComponent", "decodeURI", "unescape", "urllib.parse.unquote", "urllib.parse.unquote_plus", "urllib.parse.unquote_to_bytes":
		encoding = "url"
	case "zlib.decompress", "zlib.inflateSync", "zlib.unzipSync":
		encoding = "zlib"
	case "gzip.decompress", "zlib.gunzipSync":
		encoding = "gzip"
	case "zlib.inflateRawSync":
		encoding = "deflate"
	case "bz2.decompress":
		encoding = "bz2"
	case "TextDecoder().decode", "bytes.decode", "JSON.parse", "structuredClone":
		v := p.one(n.argument(0), f)
		return v, v.known()
	}
	if encoding == "" || encoding == "utf8" || encoding == "utf-8" {
		return value{}, false
	}
	v := p.one(n.argument(0), f)
	if !v.known() {
		return value{}, false
	}
	return p.transcoded(v, encoding, path == "codecs.encode")
}

// transcoded decodes a constant. It returns the rest unchanged.
func (p *program) transcoded(v value, encoding string, encode bool) (value, bool) {
	if !p.spend(len(v.text)) {
		return unknown, true
	}
	var out []byte
	switch strings.NewReplacer("-", "", "_", "").Replace(strings.ToLower(encoding)) {
	case "base64", "base64url", "base64codec":
		out = base64Bytes(v.text)
	case "hex", "hexcodec":
		out, _ = hex.DecodeString(strings.Join(strings.Fields(v.text), ""))
	case "base32":
		out, _ = base32.StdEncoding.DecodeString(v.text)
	case "ascii85":
		out = make([]byte, 4*len(v.text))
		size, _, err := ascii85.Decode(out, []byte(v.text), true)
		if err != nil {
			return unknown, true
		}
		out = out[:size]
	case "url":
		s, err := url.PathUnescape(v.text)
		if err != nil || s == v.text {
			return v, true
		}
		out = []byte(s)
	case "rot13":
		out = []byte(strings.Map(rot13, v.text))
	case "zlib", "zlibcodec":
		r, err := zlib.NewReader(strings.NewReader(v.text))
		return p.inflated(v, r, err)
	case "gzip":
		r, err := gzip.NewReader(strings.NewReader(v.text))
		return p.inflated(v, r, err)
	case "deflate":
		return p.inflated(v, flate.NewReader(strings.NewReader(v.text)), nil)
	case "bz2", "bz2codec":
		return p.inflated(v, bzip2.NewReader(strings.NewReader(v.text)), nil)
	default:
		return v, true
	}
	if encode || len(out) == 0 {
		if strings.HasPrefix(strings.ToLower(encoding), "rot") {
			return value{sort: constant, text: string(out), made: true}, true
		}
		return unknown, true
	}
	return value{sort: constant, text: string(out), made: true}, true
}

func base64Bytes(s string) []byte {
	s = strings.NewReplacer("-", "+", "_", "/", "\n", "", " ", "").Replace(strings.TrimRight(strings.TrimSpace(s), "="))
	out, err := base64.RawStdEncoding.DecodeString(s)
	if err != nil {
		return nil
	}
	return out
}

func rot13(c rune) rune {
	switch {
	case c >= 'a' && c <= 'z':
		return 'a' + (c-'a'+13)%26
	case c >= 'A' && c <= 'Z':
		return 'A' + (c-'A'+13)%26
	}
	return c
}

// inflated decompresses a constant within its bounds.
func (p *program) inflated(v value, r io.Reader, err error) (value, bool) {
	if err != nil {
		return unknown, true
	}
	var b bytes.Buffer
	_, err = io.Copy(&b, io.LimitReader(r, maxText+1))
	if b.Len() > maxText || b.Len() > 16<<10 && b.Len() > maxRatio*len(v.text) {
		p.limit(0, "a compressed constant is too large when it is decompressed")
		return unknown, true
	}
	if !p.spend(b.Len()) || err != nil && b.Len() == 0 {
		return unknown, true
	}
	return value{sort: constant, text: b.String(), made: true}, true
}
