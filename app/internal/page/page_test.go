// SPDX-License-Identifier: Apache-2.0

package page

import (
	"bytes"
	"compress/gzip"
	"io"
	"io/fs"
	"net/http/httptest"
	"path"
	"strings"
	"testing"
)

func ask(method, target string, header map[string]string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, target, nil)
	for name, value := range header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	Handler().ServeHTTP(w, r)
	return w
}

func TestPaths(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, method, target string
		code                   int
		contentType            string
	}{
		"root":       {"the page", "GET", "/", 200, "text/html; charset=utf-8"},
		"script":     {"a file", "GET", "/index.js", 200, "text/javascript; charset=utf-8"},
		"style":      {"a file", "GET", "/index.css", 200, "text/css; charset=utf-8"},
		"icon":       {"a file", "GET", "/icon.svg", 200, "image/svg+xml"},
		"state":      {"a state of the page", "GET", "/trace/0123456789abcdef", 200, "text/html; charset=utf-8"},
		"parameters": {"a state", "GET", "/changes?where=kind+%3D+%22a%22", 200, "text/html; charset=utf-8"},
		"no file":    {"an extension means a file", "GET", "/other.js", 404, "text/plain; charset=utf-8"},
		"upwards":    {"only files of the page", "GET", "/../page.go", 404, "text/plain; charset=utf-8"},
		"hidden":     {"only files of the page", "GET", "/assets/index.js", 404, "text/plain; charset=utf-8"},
		"head":       {"as GET, without the content", "HEAD", "/", 200, "text/html; charset=utf-8"},
		"post":       {"the page takes nothing", "POST", "/", 405, "text/plain; charset=utf-8"},
		"delete":     {"the page takes nothing", "DELETE", "/index.js", 405, "text/plain; charset=utf-8"},
	} {
		t.Run(name, func(t *testing.T) {
			w := ask(tc.method, tc.target, nil)
			if w.Code != tc.code || w.Header().Get("Content-Type") != tc.contentType {
				t.Errorf("%s %s: %d %q, want %d %q: %s", tc.method, tc.target,
					w.Code, w.Header().Get("Content-Type"), tc.code, tc.contentType, tc.reason)
			}
			if tc.method == "HEAD" && (w.Body.Len() != 0 || w.Header().Get("Content-Length") == "0") {
				t.Errorf("HEAD: %d bytes, Content-Length %s", w.Body.Len(), w.Header().Get("Content-Length"))
			}
			if tc.code == 405 && w.Header().Get("Allow") != "GET, HEAD" {
				t.Errorf("Allow: %q", w.Header().Get("Allow"))
			}
		})
	}
}

// TestHeaders: every answer has them, errors too.
func TestHeaders(t *testing.T) {
	for _, target := range []string{"/", "/index.js", "/nothing.js"} {
		head := ask("GET", target, nil).Header()
		for name, want := range map[string]string{
			"Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' " +
				"data:; connect-src 'self'; font-src 'self'; base-uri 'none'; form-action 'none'; " +
				"frame-ancestors 'none'",
			"X-Content-Type-Options": "nosniff",
			"Referrer-Policy":        "no-referrer",
		} {
			if got := head.Get(name); got != want {
				t.Errorf("%s: %s is %q, want %q", target, name, got, want)
			}
		}
	}
}

func TestCache(t *testing.T) {
	plain := ask("GET", "/index.js", nil)
	packed := ask("GET", "/index.js", map[string]string{"Accept-Encoding": "br, gzip;q=0.5"})
	if plain.Header().Get("Content-Encoding") != "" || packed.Header().Get("Content-Encoding") != "gzip" {
		t.Fatalf("encodings %q and %q", plain.Header().Get("Content-Encoding"), packed.Header().Get("Content-Encoding"))
	}
	r, err := gzip.NewReader(packed.Body)
	if err != nil {
		t.Fatal(err)
	}
	if got, err := io.ReadAll(r); err != nil || !bytes.Equal(got, plain.Body.Bytes()) {
		t.Errorf("gzip has other content, or none: %v", err)
	}
	tag, packedTag := plain.Header().Get("Etag"), packed.Header().Get("Etag")
	if tag == "" || tag == packedTag {
		t.Errorf("tags %s and %s, want two", tag, packedTag)
	}
	for name, tc := range map[string]struct {
		encoding, given string
		code            int
	}{
		"current":        {"", tag, 304},
		"one of several": {"", `"x", W/` + tag, 304},
		"any":            {"", "*", 304},
		"older":          {"", `"x"`, 200},
		"other encoding": {"gzip", tag, 200},
		"same encoding":  {"gzip", packedTag, 304},
		"refused gzip":   {"gzip;q=0", tag, 304},
	} {
		w := ask("GET", "/index.js", map[string]string{"If-None-Match": tc.given, "Accept-Encoding": tc.encoding})
		if w.Code != tc.code || (tc.code == 304 && w.Body.Len() != 0) {
			t.Errorf("%s: %d with %d bytes, want %d", name, w.Code, w.Body.Len(), tc.code)
		}
		if w.Header().Get("Cache-Control") != "no-cache" || w.Header().Get("Vary") != "Accept-Encoding" {
			t.Errorf("%s: headers %v", name, w.Header())
		}
	}
}

// maxPage bounds the page without the editor of questions, in bytes of gzip.
const maxPage = 150 << 10

// TestSize: a page that loads slowly is not looked at.
func TestSize(t *testing.T) {
	sum := 0
	each(t, func(name string, content []byte) {
		size := len(content)
		if packed := pack(content); packed != nil {
			size = len(packed)
		}
		t.Logf("%7d  %s", size, name)
		if !strings.HasPrefix(name, "editor") {
			sum += size
		}
	})
	if t.Logf("%7d  in all, without the editor", sum); sum > maxPage || sum == 0 {
		t.Errorf("the page has %d bytes in gzip, want at most %d", sum, maxPage)
	}
}

// TestOwnAddress: the page asks no other address, and the policy forbids scripts and styles inside the
// document.
func TestOwnAddress(t *testing.T) {
	each(t, func(name string, content []byte) {
		text := string(content)
		if types[path.Ext(name)] == "" {
			t.Errorf("%s has an unknown type", name)
		}
		if path.Ext(name) != ".html" {
			return
		}
		for _, wrong := range []string{"<style", " style=", " onclick=", " onload=", "http:", "https:", "src=\"//"} {
			if strings.Contains(text, wrong) {
				t.Errorf("%s contains %q", name, wrong)
			}
		}
		for _, tag := range strings.SplitAfter(text, ">") {
			if strings.Contains(tag, "<script") && !strings.Contains(tag, " src=\"/") {
				t.Errorf("%s has a script without a file: %s", name, tag)
			}
		}
	})
}

func each(t *testing.T, do func(name string, content []byte)) {
	t.Helper()
	root, err := fs.Sub(assets, "assets")
	if err != nil {
		t.Fatal(err)
	}
	if err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(root, name)
		do(name, content)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}
