// SPDX-License-Identifier: Apache-2.0

package watch

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiruntime "k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/runtime/serializer/protobuf"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// recordedWatches are the watches of a Deployment of two Pods that came up on KWOK nodes, as the API
// server sent them in JSON.
const recordedWatches = "testdata/web.jsonl.gz"

// wave is the number of Pods that come up at the same time.
const wave = 100

// recorded is an API server whose watches are recorded. It runs in the client's transport.
type recorded struct {
	tb testing.TB
	// json and proto are the bodies of the watches, by resource.
	json, proto map[string]*bytes.Buffer
	// onlyJSON are the resources that it does not serve as protobuf.
	onlyJSON []string
	// watched are the media types of the opened watches.
	watched chan string
	// refusal is the response to all requests, in protobuf; nil means none.
	refusal *metav1.Status
	// changes is the number of changes in the bodies.
	changes int
	// batches is Config.Batches of observations.
	batches bool
}

// record returns the watches of a Deployment while so many Pods come up. They are copies of the
// recorded ones.
func record(tb testing.TB, pods int) *recorded {
	tb.Helper()
	file, err := os.Open(recordedWatches)
	if err != nil {
		tb.Fatal(err)
	}
	defer file.Close()
	text, err := gzip.NewReader(file)
	if err != nil {
		tb.Fatal(err)
	}
	var lines []string
	for scan := bufio.NewScanner(text); scan.Scan(); {
		lines = append(lines, scan.Text())
	}
	slices.SortStableFunc(lines, func(a, b string) int { return versionIn(tb, a) - versionIn(tb, b) })
	r := &recorded{
		tb:      tb,
		json:    map[string]*bytes.Buffer{},
		proto:   map[string]*bytes.Buffer{},
		watched: make(chan string, 1000),
	}
	for from := 0; from < pods; from += wave {
		for _, line := range lines {
			for pod := from; pod < min(from+wave, pods); pod += 2 {
				r.add(tb, copied(line, pod))
			}
		}
	}
	return r
}

func versionIn(tb testing.TB, line string) int {
	tb.Helper()
	var e struct {
		Object metav1.PartialObjectMetadata `json:"object"`
	}
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		tb.Fatal(err)
	}
	version, err := strconv.Atoi(e.Object.ResourceVersion)
	if err != nil {
		tb.Fatal(err)
	}
	return version
}

// copied returns a recorded change for the Pods of that number and the next one.
func copied(line string, pod int) string {
	return strings.NewReplacer(
		"6x6rl", fmt.Sprintf("%05d", pod), "044630a1", fmt.Sprintf("%08x", pod),
		"n56dp", fmt.Sprintf("%05d", pod+1), "720cb0e3", fmt.Sprintf("%08x", pod+1),
		"10.244.0.", fmt.Sprintf("10.244.%d.", pod%250),
		`"uid":"5`, fmt.Sprintf(`"uid":"e%d-`, pod), `"uid":"1`, fmt.Sprintf(`"uid":"f%d-`, pod),
		`"uid":"9`, fmt.Sprintf(`"uid":"g%d-`, pod), `"uid":"8`, fmt.Sprintf(`"uid":"h%d-`, pod),
		`"uid":"c`, fmt.Sprintf(`"uid":"i%d-`, pod), `"uid":"a`, fmt.Sprintf(`"uid":"j%d-`, pod),
		`"uid":"6`, fmt.Sprintf(`"uid":"k%d-`, pod), `"uid":"f`, fmt.Sprintf(`"uid":"l%d-`, pod),
	).Replace(line)
}

// add adds a change to the watch of its resource.
func (r *recorded) add(tb testing.TB, line string) {
	tb.Helper()
	var e struct {
		Type   string
		Object json.RawMessage
	}
	if err := json.Unmarshal([]byte(line), &e); err != nil {
		tb.Fatal(err)
	}
	obj, gvk, err := scheme.Codecs.UniversalDeserializer().Decode(e.Object, nil, nil)
	if err != nil {
		tb.Fatal(err)
	}
	r.changes++
	obj.(metav1.Object).SetResourceVersion(strconv.Itoa(1000 + r.changes))
	resource, _ := meta.UnsafeGuessKindToResource(*gvk)
	if r.json[resource.Resource] == nil {
		r.json[resource.Resource], r.proto[resource.Resource] = &bytes.Buffer{}, &bytes.Buffer{}
	}
	text, err := json.Marshal(obj)
	if err != nil {
		tb.Fatal(err)
	}
	fmt.Fprintf(r.json[resource.Resource], `{"type":%q,"object":%s}`+"\n", e.Type, text)
	r.frame(tb, resource.Resource, e.Type, protoOf(tb, obj))
}

// frame adds a change to the watch of its resource in protobuf.
func (r *recorded) frame(tb testing.TB, resource, change string, object []byte) {
	tb.Helper()
	event, err := (&metav1.WatchEvent{Type: change, Object: apiruntime.RawExtension{Raw: object}}).Marshal()
	if err != nil {
		tb.Fatal(err)
	}
	if _, err := protobuf.LengthDelimitedFramer.NewFrameWriter(r.proto[resource]).Write(event); err != nil {
		tb.Fatal(err)
	}
}

func protoOf(tb testing.TB, obj apiruntime.Object) []byte {
	tb.Helper()
	var out bytes.Buffer
	if err := protobuf.NewSerializer(scheme.Scheme, scheme.Scheme).Encode(obj, &out); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func (r *recorded) config() *rest.Config {
	return &rest.Config{
		Host: "http://recorded.example", WrapTransport: func(http.RoundTripper) http.RoundTripper { return r },
	}
}

// RoundTrip implements http.RoundTripper.
func (r *recorded) RoundTrip(request *http.Request) (*http.Response, error) {
	if r.refusal != nil {
		return &http.Response{
			StatusCode: int(r.refusal.Code), Header: http.Header{"Content-Type": {apiruntime.ContentTypeProtobuf}},
			Body: io.NopCloser(bytes.NewReader(protoOf(r.tb, r.refusal))), Request: request,
		}, nil
	}
	path := strings.Split(request.URL.Path, "/")
	resource := path[len(path)-1]
	mediaType, bodies := apiruntime.ContentTypeJSON, r.json
	if strings.HasPrefix(request.Header.Get("Accept"), apiruntime.ContentTypeProtobuf) &&
		!slices.Contains(r.onlyJSON, resource) && bodies[resource] != nil {
		mediaType, bodies = apiruntime.ContentTypeProtobuf, r.proto
	}
	var body io.ReadCloser
	if request.URL.Query().Get("watch") == "" {
		list := fmt.Sprintf(`{"kind":"List","apiVersion":"v1","metadata":{"resourceVersion":"%d"},"items":[]}`, 1000)
		mediaType, body = apiruntime.ContentTypeJSON, io.NopCloser(strings.NewReader(list))
	} else {
		if bodies[resource] != nil {
			r.watched <- resource + " " + mediaType
		}
		body = openWatch(request.Context(), bodies[resource])
	}
	return &http.Response{
		StatusCode: http.StatusOK, Header: http.Header{"Content-Type": {mediaType}}, Body: body, Request: request,
	}, nil
}

// openWatch returns the body of a watch. It stays open until the context ends.
func openWatch(ctx context.Context, of *bytes.Buffer) io.ReadCloser {
	var all []byte
	if of != nil {
		all = of.Bytes()
	}
	return &openBody{Reader: bytes.NewReader(all), ctx: ctx}
}

type openBody struct {
	*bytes.Reader
	ctx context.Context
}

func (b *openBody) Read(p []byte) (int, error) {
	if b.Len() == 0 {
		<-b.ctx.Done()
		return 0, b.ctx.Err()
	}
	return b.Reader.Read(p)
}

func (b *openBody) Close() error { return nil }

var deployments = schema.GroupVersionResource{Group: "apps", Version: "v1", Resource: "deployments"}

// replay passes all recorded changes to emit.
func (r *recorded) replay(tb testing.TB, cfg Config, emit func(*observation.Observation)) {
	tb.Helper()
	done := make(chan struct{})
	seen := 0
	cfg.REST = r.config()
	cfg.Warn = tb.Errorf
	cfg.Emit = func(o *observation.Observation) {
		emit(o)
		if seen++; seen == r.changes {
			close(done)
		}
	}
	w, err := New(cfg)
	if err != nil {
		tb.Fatal(err)
	}
	defer w.Close()
	w.Follow(tb.Context(), deployments, "perf", 0)
	for {
		select {
		case <-done:
			return
		case <-time.After(5 * time.Millisecond):
			<-w.Flush(patience)
		}
	}
}

// mallocs returns the number of allocations of this process so far, and their bytes.
func mallocs() (count, size uint64) {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs, m.TotalAlloc
}
