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

// pattern is the content of a Secret in these tests. It is computed when needed, so that no other
// copy exists in memory.
func pattern() []byte {
	out := make([]byte, 40)
	for i := range out {
		out[i] = "fghijklmno"[i%10] ^ 1
	}
	return out
}

// secretBody returns a batch with a Secret, a ConfigMap and a Pod. All of them have the pattern in
// several places.
func secretBody() []byte {
	var items []string
	for _, resource := range []string{"secrets", "configmaps", "pods"} {
		body := fmt.Sprintf(
			`{"kind":"X","apiVersion":"v1","data":{"a":"%s"},"stringData":{"b":"%[1]s"},"spec":{"c":"%[1]s"},
			"metadata":{"name":"n","uid":"u","resourceVersion":"3",`+
				`"annotations":{"last-applied":"%[1]s"},"labels":{"l":"%[1]s"}}}`,
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

// TestNothingSecretIsKept searches the whole heap for the content of bodies. It has read a batch
// and a file with them, and their observations are still in memory.
func TestNothingSecretIsKept(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the test needs a heap dump, which Windows cannot write")
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
		t.Fatalf("%d writes were read, want 6: the test proves nothing", n)
	}
	if n := occurrences(t); n != 0 {
		t.Errorf("the heap has the content of bodies %d times, want 0", n)
	}
	runtime.KeepAlive(to)
	kept := pattern()
	if occurrences(t) == 0 {
		t.Error("a kept pattern is not found in the heap: the test proves nothing")
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
			// Compare without a copy of the pattern.
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
