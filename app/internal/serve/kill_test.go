// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kube-lifeline/lifeline/app/internal/config"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
	"github.com/kube-lifeline/lifeline/app/internal/store"
	"github.com/kube-lifeline/lifeline/app/internal/store/sqlite"
	"github.com/kube-lifeline/lifeline/app/internal/view"
)

// The variables make the test binary a process that stores looks until it is killed.
const (
	asStorer    = "LIFELINE_TEST_STORE"       // the data directory
	storerSends = "LIFELINE_TEST_STORE_SENDS" // the backend
	storerFirst = "LIFELINE_TEST_STORE_FIRST" // the number of the first look; 0 stores none, and ends when all is done
)

// tracesOf returns the traces that a look finishes, and the amendments that it has. Both depend on the
// number of the look only.
func tracesOf(n int) (finished, late []*span.Trace) {
	for i := range n % 3 {
		finished = append(finished, killedTrace(n, i))
	}
	if of := n - 1 - n%4; of > 0 && of%3 > 0 {
		t := killedTrace(of, 0)
		s := *t.Spans[0]
		s.ID, s.Parent, s.Name = span.DeriveID(t.ID, "late", fmt.Sprint(n)), t.Spans[0].ID, "late"
		late = append(late, &span.Trace{ID: t.ID, Spans: []*span.Span{&s}})
	}
	return finished, late
}

func killedTrace(n, i int) *span.Trace {
	b := spantest.New(fmt.Sprint("look ", n, " trace ", i))
	d := b.Deployment(nil, 10*n, 10*n+500)
	for pod := range n % 4 {
		b.Pod(d, fmt.Sprint("pod-", pod), 10*n, 10*n+2000)
	}
	return b.Trace
}

// storeUntilKilled is the way of finished traces through a server: the looks, the archive's writer and
// the outbox. It prints the number of each look before and after its commit.
func storeUntilKilled(dir string) error {
	conf := config.Default()
	conf.DataDir, conf.OTLP.Endpoint = dir, os.Getenv(storerSends)
	ctx := context.Background()
	s, err := startStorage(ctx, conf, "killed", io.Discard)
	if err != nil {
		return err
	}
	r := s.recorder
	if r.discarded != nil {
		return r.discarded
	}
	var first int
	if _, err := fmt.Sscan(os.Getenv(storerFirst), &first); err != nil {
		return err
	}
	if first == 0 {
		for s.archive.Stats().Entries > 0 || s.delivery.outbox.Stats().Entries > 0 {
			time.Sleep(10 * time.Millisecond)
		}
		return s.stop()
	}
	if first%4 > 0 {
		<-s.archive.Opened() // so that it writes during the life
	}
	for n := first; ; n++ {
		now := s.clock.Now()
		l := &look{Changes: &journal.Changes{AsOf: now, State: map[string][]byte{}}, inputs: r.inputs}
		finished, late := tracesOf(n)
		r.finish(l, finished, now)
		r.amend(ctx, l, late)
		data, err := (&chunk{At: now}).encode(newPacker(), quietly)
		if err != nil {
			return err
		}
		r.keep(l, data)
		fmt.Println("begin", n)
		if err := r.journal.Commit(ctx, l.Changes); err != nil {
			return err
		}
		fmt.Println("committed", n)
		r.inputs, r.asOf = l.inputs, now
		s.publishing.stored(l)
		if r.long() {
			if err := r.replaceInputs(ctx); err != nil {
				return err
			}
		}
		time.Sleep(rand.N(12 * time.Millisecond))
	}
}

// backend counts the arrivals of each span.
type backend struct {
	*httptest.Server
	mu  sync.Mutex
	got map[trace.TraceID]map[trace.SpanID]int
}

func newBackend(t *testing.T) *backend {
	b := &backend{got: map[trace.TraceID]map[trace.SpanID]int{}}
	b.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // it was killed
		}
		time.Sleep(rand.N(10 * time.Millisecond))
		var all tracepb.TracesData
		if err := proto.Unmarshal(body, &all); err != nil {
			t.Error(err)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, rs := range all.GetResourceSpans() {
			for _, ss := range rs.GetScopeSpans() {
				for _, s := range ss.GetSpans() {
					id := trace.TraceID(s.GetTraceId())
					if b.got[id] == nil {
						b.got[id] = map[trace.SpanID]int{}
					}
					b.got[id][trace.SpanID(s.GetSpanId())]++
				}
			}
		}
		w.Header().Set("Content-Type", "application/x-protobuf")
	}))
	t.Cleanup(b.Close)
	return b
}

// killSeries is a series of lives of one server, and what must be there after each.
type killSeries struct {
	t       *testing.T
	dir     string
	backend *backend
	// next is the number of the next look. begun is the look whose commit a kill may have cut off; 0
	// without one.
	next, begun int
	committed   map[int]bool
	// spans are those of the first counted looks, by trace, and look has the look of each trace.
	spans   map[trace.TraceID]map[trace.SpanID]bool
	look    map[trace.TraceID]int
	counted int

	kills, cutOff, logged, waiting int
}

// TestKilledBetweenLogAndArchive kills a server again and again: while it commits a look, writes the
// archive, marks entries in the log, and sends them. After each kill, the log and the archive together
// have every trace of the committed looks, complete and once for readers, and no other. In the end all
// were sent.
func TestKilledBetweenLogAndArchive(t *testing.T) {
	kills := 300
	if testing.Short() {
		kills = 7
	}
	k := &killSeries{
		t: t, dir: t.TempDir(), backend: newBackend(t), next: 1, committed: map[int]bool{},
		spans: map[trace.TraceID]map[trace.SpanID]bool{}, look: map[trace.TraceID]int{},
	}
	random := rand.New(rand.NewPCG(1, 2))
	for k.kills < kills && !t.Failed() {
		later := time.Duration(0) // during a commit
		if random.IntN(3) > 0 {
			later = time.Duration(1 + random.IntN(int(40*time.Millisecond)))
		}
		if k.kills%6 == 5 { // the outbox marks what it has sent after a second
			later = time.Duration(random.IntN(int(2 * time.Second)))
		}
		k.live(1+random.IntN(20), later)
		k.check(k.next - 60)
		if k.kills%50 == 0 {
			t.Logf("%d kills, %d looks", k.kills, len(k.committed))
		}
	}
	k.finish()
}

// start starts a process.
func (k *killSeries) start(first int) (*exec.Cmd, *bufio.Scanner) {
	k.t.Helper()
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(
		os.Environ(),
		asStorer+"="+k.dir, storerSends+"="+k.backend.URL, fmt.Sprintf("%s=%d", storerFirst, first),
	)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	must(k.t, err)
	must(k.t, cmd.Start())
	return cmd, bufio.NewScanner(out)
}

// live starts a process, and kills it some time after some looks, or during the commit of the next.
func (k *killSeries) live(looks int, later time.Duration) {
	k.t.Helper()
	cmd, lines := k.start(k.next)
	killing := sync.OnceFunc(func() { time.AfterFunc(later, func() { _ = cmd.Process.Kill() }) })
	for n := 0; lines.Scan(); {
		var what string
		var look int
		if _, err := fmt.Sscan(lines.Text(), &what, &look); err != nil {
			k.t.Errorf("the process ended: %s", lines.Text())
			break
		}
		if k.begun, k.next = look, look+1; what == "committed" {
			k.committed[look], k.begun = true, 0
			n++
		}
		switch {
		case n < looks:
		case later > 0:
			killing()
		case what == "begin":
			_ = cmd.Process.Kill()
		}
	}
	_ = cmd.Wait() // it was killed
	k.kills++
}

// want returns the spans of all committed looks, by trace.
func (k *killSeries) want() map[trace.TraceID]map[trace.SpanID]bool {
	out := k.spans
	for ; k.counted+1 < k.next; k.counted++ {
		n := k.counted + 1
		if !k.committed[n] {
			continue
		}
		finished, late := tracesOf(n)
		for _, t := range finished {
			out[t.ID] = map[trace.SpanID]bool{}
			k.look[t.ID] = n
		}
		for _, t := range append(finished, late...) {
			if out[t.ID] == nil {
				continue // an amendment of a look that was not committed
			}
			for _, s := range t.Spans {
				out[t.ID][s.ID] = true
			}
		}
	}
	return out
}

// check compares log and archive with the committed looks. It reads the spans of the traces of looks
// since the given one.
func (k *killSeries) check(since int) {
	k.t.Helper()
	dir, err := place(k.dir, "killed")
	must(k.t, err)
	j, err := journal.Open(k.t.Context(), journalFile(dir))
	must(k.t, err)
	defer j.Close()
	archive, err := sqlite.Open(k.t.Context(), store.Config{Path: archiveFile(dir)})
	must(k.t, err)
	defer archive.Close()
	if aside := j.Opening().SetAside + archive.Opening().SetAside; aside != "" {
		k.t.Fatalf("a kill has damaged a file: %s", aside)
	}
	items, err := j.Pending(k.t.Context(), journal.Archive|journal.Sender)
	must(k.t, err)
	k.decide(j, items)
	w := &world{Journal: j}
	w.view = view.New(j.Read, func() (store.Stored, error) { return archive, nil })
	left, err := j.Pending(k.t.Context(), journal.Archive)
	must(k.t, err)
	w.view.Restore(left)
	w.view.Publish(time.Now(), 1, nil, nil)
	want, got := k.want(), map[trace.TraceID]bool{}
	for _, sum := range w.list(k.t, store.Query{Limit: 500}) {
		if got[sum.ID] {
			k.t.Errorf("trace %s is in the list twice", sum.ID)
		}
		got[sum.ID] = true
		if want[sum.ID] == nil {
			k.t.Errorf("trace %s was not committed", sum.ID)
			continue
		}
		if k.look[sum.ID] >= since {
			k.complete(sum.ID, want[sum.ID], w.trace(k.t, sum.ID).Trace.Spans)
		}
	}
	for id := range want {
		if !got[id] {
			k.t.Errorf("trace %s is missing", id)
		}
	}
	for _, i := range items {
		if i.For&journal.Archive != 0 {
			k.logged++
		}
		if i.For&journal.Sender != 0 {
			k.waiting++
		}
	}
}

// decide finds out whether the look was committed whose commit the kill may have cut off. None of its
// entries can be done yet.
func (k *killSeries) decide(j *journal.Journal, items []journal.Item) {
	k.t.Helper()
	if k.begun == 0 {
		return
	}
	k.cutOff++
	finished, late := tracesOf(k.begun)
	for _, i := range items {
		one, err := j.Read(k.t.Context(), i.Seq)
		must(k.t, err)
		for _, t := range append(finished, late...) {
			k.committed[k.begun] = k.committed[k.begun] || one.Spans[0].ID == t.Spans[0].ID
		}
	}
	k.begun = 0
}

// complete checks that a trace has its spans, each once.
func (k *killSeries) complete(id trace.TraceID, want map[trace.SpanID]bool, spans []*span.Span) {
	k.t.Helper()
	got := map[trace.SpanID]bool{}
	for _, s := range spans {
		if got[s.ID] || !want[s.ID] {
			k.t.Errorf("trace %s: span %s is there twice or was not committed", id, s.ID)
		}
		got[s.ID] = true
	}
	if len(got) != len(want) {
		k.t.Errorf("trace %s has %d of %d spans", id, len(got), len(want))
	}
}

// finish lets a process write and send the rest.
func (k *killSeries) finish() {
	k.t.Helper()
	cmd, lines := k.start(0)
	for lines.Scan() {
		k.t.Errorf("the last process: %s", lines.Text())
	}
	must(k.t, cmd.Wait())
	k.check(0)
	dir, err := place(k.dir, "killed")
	must(k.t, err)
	w := newWorldOver(k.t, dir, nil)
	if left, err := w.Pending(k.t.Context(), journal.Archive|journal.Sender); err != nil || len(left) > 0 {
		k.t.Errorf("%d entries (%v) are left", len(left), err)
	}
	want, sent, repeated := k.want(), 0, 0
	k.backend.mu.Lock()
	defer k.backend.mu.Unlock()
	for id, spans := range want {
		for s := range spans {
			n := k.backend.got[id][s]
			if n == 0 {
				k.t.Errorf("span %s of trace %s was not sent", s, id)
			}
			sent++
			repeated += max(0, n-1)
		}
	}
	for id, spans := range k.backend.got {
		for s := range spans {
			if !want[id][s] {
				k.t.Errorf("span %s of trace %s was sent, and not committed", s, id)
			}
		}
	}
	k.t.Logf(
		"%d kills, %d of them during a commit; %d looks, %d traces, %d spans; after the kills %d entries "+
			"waited for the archive and %d for the backend; %d spans were sent again",
		k.kills,
		k.cutOff,
		len(k.committed),
		len(want),
		sent,
		k.logged,
		k.waiting,
		repeated,
	)
}

// storing runs a process of this file, if the test binary is one.
func storing() {
	dir := os.Getenv(asStorer)
	if dir == "" {
		return
	}
	if err := storeUntilKilled(dir); err != nil {
		fmt.Println(strings.ReplaceAll(err.Error(), "\n", " "))
		os.Exit(1)
	}
	os.Exit(0)
}
