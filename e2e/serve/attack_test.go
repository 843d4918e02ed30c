// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/collector/pdata/pcommon"
	"go.opentelemetry.io/collector/pdata/ptrace"
	"go.opentelemetry.io/collector/pdata/ptrace/ptraceotlp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// attackEnv multiplies the inputs of TestAttack.
const attackEnv = "LIFELINE_ATTACK"

// attack is one run of TestAttack.
type attack struct {
	*receiving
	object  metav1.ObjectMeta
	mu      sync.Mutex
	answers map[string]map[string]int // counts by target and response
}

// TestAttack sends damaged, forged and hostile input to each port of a server, and kills it in
// between. The server responds to each input, stays within its limits, and still traces an honest
// change.
func TestAttack(t *testing.T) {
	harness.Slow(t)
	scale := 1
	if text := os.Getenv(attackEnv); text != "" {
		var err error
		if scale, err = strconv.Atoi(text); err != nil {
			t.Fatalf("environment variable %s is not a number: %v", attackEnv, err)
		}
	}
	a := &attack{receiving: receive(t), answers: map[string]map[string]int{}}
	ns := bench.Namespace(t)
	bench.MustKubectl(t, "", "-n", ns, "create", "configmap", "honest")
	raw := bench.MustKubectl(t, "", "-n", ns, "get", "configmap", "honest", "-o", "json")
	var object struct{ Metadata metav1.ObjectMeta }
	if err := json.Unmarshal([]byte(raw), &object); err != nil {
		t.Fatal(err)
	}
	a.object = object.Metadata
	before := a.level(t)
	a.forget(t)

	a.inputs(t, 500*scale)
	a.flood(t, 50*scale, 1000)
	most := a.peak(t)
	a.returns(t, before)
	for range scale {
		a.kill(t)
	}
	a.lasting(t, ns)
	a.Stop(t)
	for _, target := range slices.Sorted(maps.Keys(a.answers)) {
		sum := 0
		for _, n := range a.answers[target] {
			sum += n
		}
		t.Logf("%-16s %7d tries: %v", target, sum, a.answers[target])
	}
	t.Logf("memory at most %d MiB; killed %d times", most, scale)
}

// count counts a response. It reports a server error, and a connection closed without response.
func (a *attack) count(t *testing.T, target, answer string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.answers[target] == nil {
		a.answers[target] = map[string]int{}
	}
	a.answers[target][answer]++
	if code, _, _ := strings.Cut(answer, " "); len(code) != 3 || code[0] == '5' && !again(answer) {
		t.Errorf("%s: got %q, want a response without a server error", target, answer)
	}
}

// workers is the number of concurrent senders to a receiver. The audit webhook reads only a few
// batches at once.
const workers = 4

// inputs sends n inputs to each receiver and to the API.
func (a *attack) inputs(t *testing.T, n int) {
	t.Helper()
	var all sync.WaitGroup
	for _, w := range a.ways {
		valid := a.valid(t, w)
		for worker := range workers { // one would be slow, as a receiver stores input before its response
			all.Go(func() {
				random := rand.New(rand.NewPCG(seed, uint64(worker)))
				c := w.client()
				defer c.close()
				for range n / workers {
					body := damaged(random, valid[random.IntN(len(valid))])
					header := map[string]string(nil)
					packed := random.IntN(4) == 0
					if packed {
						header = w.packed()
					}
					a.count(t, w.name, a.patiently(t, w, c, w.frame(body, packed), header))
				}
			})
		}
	}
	all.Go(func() {
		random := rand.New(rand.NewPCG(seed, 0))
		for range n {
			a.count(t, "API", a.ask(t.Context(), random))
		}
	})
	all.Wait()
}

// patiently sends a body, with up to 99 retries if the response asks for them.
func (a *attack) patiently(t *testing.T, w way, c *sender, body []byte, header map[string]string) string {
	answer := ""
	for range 100 {
		ctx, cancel := context.WithTimeout(t.Context(), patient)
		answer = w.send(ctx, c, bytes.NewReader(body), header)
		cancel()
		if !again(answer) {
			break
		}
		_ = pause(t.Context(), time.Second)
	}
	return answer
}

// valid returns messages that a receiver accepts, with hostile content.
func (a *attack) valid(t *testing.T, w way) [][]byte {
	t.Helper()
	out := [][]byte{w.good}
	for _, at := range hostileTimes() {
		if w.contentType == "application/json" {
			out = append(out, a.event(at))
		} else {
			out = append(out, a.span(t, at))
		}
	}
	return out
}

// hostileTimes returns the current time, and times that an honest sender does not have.
func hostileTimes() []time.Time {
	now := time.Now().UTC()
	out := []time.Time{now, now.Add(11 * time.Minute), now.Add(-365 * 24 * time.Hour)}
	for _, year := range []int{1, 1677, 1970, 2099, 2262, 2263, 9999} {
		out = append(out, time.Date(year, 1, 1, 0, 0, 0, 0, time.UTC))
	}
	return out
}

// attacker is the user of each forged event.
const attacker = "attacker@example.com"

// event returns an audit event with the attacker as the author of the object's version.
func (a *attack) event(at time.Time) []byte {
	text, err := json.Marshal(map[string]any{
		"kind": "EventList", "apiVersion": "audit.k8s.io/v1", "items": []any{
			map[string]any{
				"level":      "RequestResponse",
				"auditID":    fmt.Sprint(at.UnixNano()),
				"stage":      "ResponseComplete",
				"verb":       "create",
				"requestURI": "/api/v1/namespaces/" + a.object.Namespace + "/configmaps",
				"user":       map[string]any{"username": attacker},
				"userAgent":  "\x1b[31m\x00" + strings.Repeat("a", 5000),
				"objectRef": map[string]any{
					"resource": "configmaps", "namespace": a.object.Namespace, "name": a.object.Name,
					"uid": a.object.UID, "apiVersion": "v1", "resourceVersion": a.object.ResourceVersion,
				},
				"responseStatus": map[string]any{"code": 201},
				"responseObject": map[string]any{
					"kind":       "ConfigMap",
					"apiVersion": "v1",
					"metadata":   a.object,
				},
				"requestReceivedTimestamp": at.Format("2006-01-02T15:04:05.000000Z07:00"),
				"stageTimestamp":           at.Format("2006-01-02T15:04:05.000000Z07:00"),
				"annotations":              map[string]string{"\u202e": strings.Repeat("x", 5000)},
			},
		},
	})
	if err != nil {
		panic(err) // the map is ours
	}
	return text
}

// span returns an export request with a forged span of the object.
func (a *attack) span(t *testing.T, at time.Time) []byte {
	t.Helper()
	doc := ptrace.NewTraces()
	rs := doc.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "kubelet\x1b[2J")
	rs.Resource().Attributes().PutStr("k8s.node.name", strings.Repeat("n", 5000))
	s := rs.ScopeSpans().AppendEmpty().Spans().AppendEmpty()
	s.SetName("syncPod \u202e\x00")
	s.SetTraceID(pcommon.TraceID{9})
	s.SetSpanID(pcommon.SpanID{9, byte(at.Year())})
	s.Attributes().PutStr("k8s.pod.uid", string(a.object.UID))
	s.Attributes().PutStr("k8s.namespace.name", a.object.Namespace)
	s.Attributes().PutStr("objectRef.uid", string(a.object.UID))
	nanos := pcommon.Timestamp(uint64(at.Unix()) * uint64(time.Second)) // may overflow on purpose
	s.SetStartTimestamp(nanos)
	s.SetEndTimestamp(nanos - 1)
	raw, err := ptraceotlp.NewExportRequestFromTraces(doc).MarshalProto()
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// damaged returns a message with up to three random faults; one in four has none.
func damaged(random *rand.Rand, message []byte) []byte {
	out := bytes.Clone(message)
	for range random.IntN(4) {
		if len(out) == 0 {
			return out
		}
		at := random.IntN(len(out))
		switch random.IntN(6) {
		case 0:
			out[at] ^= 1 << random.IntN(8)
		case 1:
			out = out[:at]
		case 2:
			out = slices.Insert(out, at, byte(random.Uint32()), byte(random.Uint32()))
		case 3:
			out = slices.Concat(out[:at], out)
		case 4:
			out = slices.Insert(out, at, bytes.Repeat([]byte{'[', '{', 0xff}[random.IntN(3):][:1], 2000)...)
		case 5:
			out = slices.Insert(out, at, []byte("-9223372036854775809e999")...)
		}
	}
	return out
}

// ask sends one hostile request to the API.
func (a *attack) ask(ctx context.Context, random *rand.Rand) string {
	paths := []string{
		"/api/v1/traces",
		"/api/v1/traces/",
		"/api/v1/watch",
		"/api/v1/traces/00000000000000000000000000000001",
		"/",
		"/api/v1/objects",
	}
	names := []string{"namespace", "kind", "name", "open", "limit", "since", "until", "cursor", "user", "outcome", "x"}
	values := []string{
		"",
		"true",
		"-1",
		"99999999999999999999",
		"'; DROP TABLE traces; --",
		"%",
		"../../etc/passwd",
		"\x00",
		"\x1b[2J",
		"9999-12-31T23:59:59Z",
		"0001-01-01T00:00:00Z",
		strings.Repeat("a", 3000),
		"\xff\xfe",
		"{}",
		"*",
	}
	query := url.Values{}
	for range random.IntN(4) {
		query.Add(names[random.IntN(len(names))], values[random.IntN(len(values))])
	}
	path := paths[random.IntN(len(paths))]
	if random.IntN(3) == 0 {
		path += url.PathEscape(values[random.IntN(len(values))])
	}
	method := []string{
		http.MethodGet, http.MethodGet, http.MethodPost, http.MethodDelete, http.MethodOptions,
	}[random.IntN(5)]
	ctx, cancel := context.WithTimeout(ctx, patient)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, method, "http://"+a.APIAddress()+path+"?"+query.Encode(), http.NoBody)
	if err != nil {
		return err.Error()
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		return err.Error()
	}
	_ = res.Body.Close() // not read, because a stream does not end
	return strconv.Itoa(res.StatusCode)
}

// flood sends requests with many spans of unknown traces.
func (a *attack) flood(t *testing.T, requests, spans int) {
	t.Helper()
	w := a.ways[0]
	var all sync.WaitGroup
	for part := range workers {
		all.Go(func() {
			c := w.client()
			defer c.close()
			for i := part; i < requests; i += workers {
				a.count(t, "flood of spans", a.patiently(t, w, c, w.frame(flooding(t, i, spans), false), nil))
			}
		})
	}
	all.Wait()
}

func flooding(t *testing.T, request, spans int) []byte {
	doc := ptrace.NewTraces()
	rs := doc.ResourceSpans().AppendEmpty()
	rs.Resource().Attributes().PutStr("service.name", "apiserver")
	all := rs.ScopeSpans().AppendEmpty().Spans()
	now := pcommon.NewTimestampFromTime(time.Now())
	for i := range spans {
		s := all.AppendEmpty()
		s.SetName("Update")
		s.SetTraceID(pcommon.TraceID{7, byte(request), byte(request >> 8), byte(request >> 16), byte(i), byte(i >> 8)})
		s.SetSpanID(pcommon.SpanID{1, byte(request), byte(request >> 8), byte(request >> 16), byte(i), byte(i >> 8)})
		s.SetStartTimestamp(now)
		s.SetEndTimestamp(now)
	}
	raw, err := ptraceotlp.NewExportRequestFromTraces(doc).MarshalProto()
	if err != nil {
		t.Error(err)
	}
	return raw
}

// kill kills the server while it receives input, and restarts it.
func (a *attack) kill(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	var all sync.WaitGroup
	for _, w := range a.ways {
		all.Go(func() {
			c := w.client()
			defer c.close()
			random := rand.New(rand.NewPCG(seed, 1))
			for ctx.Err() == nil {
				w.send(ctx, c, bytes.NewReader(w.frame(damaged(random, w.good), false)), nil)
			}
		})
	}
	_ = pause(ctx, 300*time.Millisecond)
	a.Kill(t)
	cancel()
	all.Wait()
	a.Start(t)
	a.locate(t)
}

// lasting checks the server after the attack. It traces an honest change. Stored spans have no time
// in the future, no control characters, and no forged user that looks authentic.
func (a *attack) lasting(t *testing.T, ns string) {
	t.Helper()
	bench.MustKubectl(t, "", "-n", ns, "create", "deployment", "after", "--image=app:1")
	a.TraceOf(t, ns, "after")
	ahead := time.Now().Add(10 * time.Minute)
	for _, sum := range a.List(t, url.Values{}) {
		for _, s := range a.Trace(t, sum.TraceID).Spans {
			if s.Start.After(ahead) || s.End.After(ahead) || s.Start.Before(time.Now().Add(-24*time.Hour)) {
				t.Errorf("trace %s has a span %q with impossible times: %s to %s", sum.TraceID, s.Name, s.Start, s.End)
			}
			if s.Attributes["lifeline.actor.user"] == attacker &&
				s.Attributes["lifeline.actor.user_source"] != "audit_unauthenticated" {
				t.Errorf("trace %s has the attacker as an authentic user: %v", sum.TraceID, s.Attributes)
			}
			if strings.ContainsAny(s.Name, "\x00\x1b\u202e") {
				t.Errorf("trace %s has a span with control characters in its name: %q", sum.TraceID, s.Name)
			}
		}
	}
	for _, fault := range []string{"panic", "goroutine ", "damaged"} {
		if strings.Contains(a.Log(), fault) {
			t.Errorf("the log contains %q", fault)
		}
	}
}
