// SPDX-License-Identifier: Apache-2.0

// Package page serves the web page: the files that `make web` builds from the folder web. They hold
// no data, so they need no token. The page gets its data from the API of the same address.
package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"net/http"
	"path"
	"strconv"
	"strings"
	"sync"
)

//go:embed assets
var assets embed.FS

// index is the document of the page.
const index = "index.html"

// policy permits files and requests of the page's own address, and nothing else. Data images are
// those in style sheets.
const policy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; " +
	"connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

var types = map[string]string{
	".css":  "text/css; charset=utf-8",
	".html": "text/html; charset=utf-8",
	".js":   "text/javascript; charset=utf-8",
	".svg":  "image/svg+xml",
}

// file is one file of the page.
type file struct {
	contentType, tag string
	content          []byte
	// packed returns the content in gzip; nil if that is not shorter.
	packed func() []byte
}

// Handler returns the handler of the page. It answers GET and HEAD. A path that names no file, and
// has no extension, is a state of the page: it gets the document.
func Handler() http.Handler {
	files := map[string]file{}
	root, err := fs.Sub(assets, "assets")
	if err == nil {
		err = fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			content, err := fs.ReadFile(root, name)
			files["/"+name] = newFile(name, content)
			return err
		})
	}
	if err != nil {
		panic(err) // the files are part of the program
	}
	return handler(files)
}

func newFile(name string, content []byte) file {
	hash := sha256.Sum256(content)
	return file{
		contentType: types[path.Ext(name)],
		tag:         hex.EncodeToString(hash[:16]),
		content:     content,
		packed:      sync.OnceValue(func() []byte { return pack(content) }),
	}
}

func pack(content []byte) []byte {
	var out bytes.Buffer
	w, err := gzip.NewWriterLevel(&out, gzip.BestCompression)
	if err != nil {
		return nil
	}
	if _, err := w.Write(content); err != nil || w.Close() != nil || out.Len() >= len(content) {
		return nil
	}
	return out.Bytes()
}

type handler map[string]file

// ServeHTTP implements http.Handler.
func (h handler) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("Content-Security-Policy", policy)
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("Cross-Origin-Resource-Policy", "same-origin")
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		head.Set("Allow", "GET, HEAD")
		head.Set("Connection", "close") // a body stays unread
		http.Error(w, "the page answers GET and HEAD only", http.StatusMethodNotAllowed)
		return
	}
	f, ok := h[r.URL.Path]
	if !ok && path.Ext(r.URL.Path) == "" {
		f, ok = h["/"+index]
	}
	if !ok {
		http.Error(w, "the page has no such file", http.StatusNotFound)
		return
	}
	f.serve(w, r)
}

func (f file) serve(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	body, tag := f.content, f.tag
	head.Set("Vary", "Accept-Encoding")
	if packed := f.packed(); packed != nil && takesGzip(r) {
		head.Set("Content-Encoding", "gzip")
		body, tag = packed, tag+"-gzip"
	}
	tag = `"` + tag + `"`
	// Names of files are stable, so a browser must ask whether its copy is current.
	head.Set("Cache-Control", "no-cache")
	head.Set("Etag", tag)
	if matches(r, tag) {
		head.Del("Content-Encoding")
		w.WriteHeader(http.StatusNotModified)
		return
	}
	head.Set("Content-Type", f.contentType)
	head.Set("Content-Length", strconv.Itoa(len(body)))
	w.WriteHeader(http.StatusOK)
	if r.Method == http.MethodGet {
		_, _ = w.Write(body) // the client has disconnected
	}
}

// matches reports whether the client has the version with this tag.
func matches(r *http.Request, tag string) bool {
	for given := range strings.SplitSeq(strings.Join(r.Header.Values("If-None-Match"), ","), ",") {
		given = strings.TrimSpace(given)
		if given == "*" || strings.TrimPrefix(given, "W/") == tag {
			return true
		}
	}
	return false
}

// takesGzip reports whether the client accepts gzip.
func takesGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(strings.Join(r.Header.Values("Accept-Encoding"), ","), ",") {
		name, quality, _ := strings.Cut(coding, ";")
		if !strings.EqualFold(strings.TrimSpace(name), "gzip") {
			continue
		}
		_, q, found := strings.Cut(quality, "=")
		weight, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
		return !found || (err == nil && weight > 0)
	}
	return false
}
