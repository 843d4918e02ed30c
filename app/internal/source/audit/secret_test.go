// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
)

// pattern is what a Secret holds in these tests. It is put together when it is
// needed, so that it stands nowhere else.
func pattern() []byte {
	out := make([]byte, 40)
	for i := range out {
		out[i] = "fghijklmno"[i%10] ^ 1
	}
	return out
}

// secretBody is a batch of a Secret, a ConfigMap and an object that has a
// Secret's data in an annotation, with the pattern wherever it could be.
func secretBody() []byte {
	var items []string
	for _, resource := range []string{"secrets", "configmaps", "pods"} {
		body := fmt.Sprintf(
			`{"kind":"X","apiVersion":"v1","data":{"a":"%s"},"stringData":{"b":"%[1]s"},"spec":{"c":"%[1]s"},
			"metadata":{"name":"n","uid":"u","resourceVersion":"3","annotations":{"last-applied":"%[1]s"},"labels":{"l":"%[1]s"}}}`,
			pattern(),
		)
		status := `{"code":200}`
		if resource == "secrets" {
			status = fmt.Sprintf(`{"code":422,"reason":"Invalid","message":"it is %s"}`, pattern())
		}
		items = append(
			items,
			told(
				"auditID",
				`"`+resource+`"`,
				"objectRef",
				ref(resource, `,"name":"n"`),
				"responseStatus",
				status,
				"requestObject",
				strings.Replace(body, `"3"`, `"2"`, 1),
				"responseObject",
				body,
				"annotations",
				fmt.Sprintf(`{"a/b":"%s"}`, pattern()),
			),
		)
	}
	return eventList(items...)
}

func eventList(items ...string) []byte {
	var out bytes.Buffer
	out.WriteString(`{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[`)
	for i, item := range items {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(item)
	}
	out.WriteString("]}")
	return out.Bytes()
}

// TestNothingSecretIsKept looks through the whole heap for what stood in bodies,
// after a batch and a file with them were read and while all that was made of
// them is still there.
func TestNothingSecretIsKept(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("looks at a heap dump, which only some systems can write")
	}
	to := newSink()
	s := newSource(t, to, nil)
	path := filepath.Join(t.TempDir(), "audit.log")
	func() {
		body := secretBody()
		r := httptest.NewRequest(http.MethodPost, "/", bytes.NewReader(body))
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		s.ServeHTTP(w, r)
		if w.Code != http.StatusOK {
			t.Fatalf("got %d %s", w.Code, w.Body)
		}
		items := bytes.ReplaceAll(body, []byte("\n"), nil)
		items = bytes.TrimSuffix(items[bytes.Index(items, []byte("[{"))+1:], []byte("]}"))
		line := append(bytes.ReplaceAll(items, []byte(`},{"kind":"Event"`), []byte("}\n"+`{"kind":"Event"`)), '\n')
		if err := os.WriteFile(path, line, 0o600); err != nil {
			t.Fatal(err)
		}
		clear(body)
		clear(items)
		clear(line)
	}()
	f := follow(t, s, path, Position{})
	f.reads(6)
	if n := len(to.ids()); n != 6 {
		t.Fatalf("%d writes were read, want 6: nothing is proved", n)
	}
	if n := occurrences(t); n != 0 {
		t.Errorf("the heap holds what stood in bodies, %d times", n)
	}
	runtime.KeepAlive(to)
	kept := pattern()
	if occurrences(t) == 0 {
		t.Error("what is kept is not found: nothing is proved")
	}
	runtime.KeepAlive(kept)
}

// occurrences counts the pattern in the heap.
func occurrences(t *testing.T) int {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "heap"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for range 3 {
		runtime.GC()
	}
	debug.WriteHeapDump(f.Fd())
	if _, err := f.Seek(0, 0); err != nil {
		t.Fatal(err)
	}
	count, matched := 0, 0
	buf := make([]byte, 1<<16)
	for {
		n, err := f.Read(buf)
		for _, c := range buf[:n] {
			// No copy of the pattern is made to compare with.
			if c != "fghijklmno"[matched%10]^1 {
				matched = 0
			}
			if c == "fghijklmno"[matched%10]^1 {
				if matched++; matched == 40 {
					count, matched = count+1, 0
				}
			}
		}
		if err != nil {
			clear(buf)
			return count
		}
	}
}
