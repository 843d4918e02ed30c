// SPDX-License-Identifier: Apache-2.0

package serve

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"sync/atomic"
	"testing"
	"time"

	"go.opentelemetry.io/otel/trace"
	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/journal"
	"github.com/kube-lifeline/lifeline/app/internal/lifecycle"
	"github.com/kube-lifeline/lifeline/app/internal/source/otlp"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
)

// asReceiver makes the test binary a process that receives OTLP, and keeps what
// waits in the store that it names.
const asReceiver = "LIFELINE_TEST_RECEIVE"

// receiveOn is the server's path of spans, without a cluster. It receives until it is killed, and
// prints its address.
func receiveOn(path string) error {
	ctx := context.Background()
	l, err := journal.Open(ctx, path)
	if err != nil {
		return err
	}
	j := &joining{stitch: stitch.New(stitch.Options{Kept: true}), stats: func(joiningStats) {}}
	r, err := restore(
		ctx,
		l,
		recorderOptions{Engine: lifecycle.Options{Cluster: "recorded"}, Sampling: keepAll, Warn: quietly, Joining: j},
		forever,
	)
	if err != nil {
		return err
	}
	looping := loopOver(r.recorder)
	go func() {
		for h := range looping.in.spans {
			looping.takeSpans(ctx, h)
		}
	}()
	in, err := otlp.New(ctx, otlp.Options{HTTP: httpserve.Endpoint{Address: "127.0.0.1:0"}, Sink: looping.in})
	if err != nil {
		return err
	}
	fmt.Println(in.HTTPAddr())
	return in.Run(ctx)
}

// TestKilledWhileSpansWait kills a receiver at random moments while components
// send to it. Every span that was acknowledged is taken in by the next start.
func TestKilledWhileSpansWait(t *testing.T) {
	const kills, senders = 4, 3
	random := rand.New(rand.NewPCG(1, 0))
	dir := t.TempDir()
	path := journalFile(dir)
	var acknowledged atomic.Int64
	for life := range kills {
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), asReceiver+"="+path)
		cmd.Stderr = os.Stderr
		out, err := cmd.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		lines := bufio.NewScanner(out)
		if !lines.Scan() {
			t.Fatal("the receiver has not printed its address")
		}
		url := "http://" + lines.Text() + otlp.DefaultPath
		enough := acknowledged.Load() + 1 + random.Int64N(40)
		ended := make(chan struct{})
		for sender := range senders {
			go func() {
				defer func() { ended <- struct{}{} }()
				for n := 0; sendOne(url, byte(life*senders+sender), n); n++ {
					if acknowledged.Add(1) == enough {
						_ = cmd.Process.Kill()
					}
				}
			}()
		}
		for range senders {
			<-ended
		}
		_ = cmd.Wait() // it was killed
	}
	http.DefaultClient.CloseIdleConnections()

	w := newWorld(t, dir)
	chunks := w.states(t, copiesState)
	found := map[trace.SpanID]bool{}
	for _, s := range readCopies(chunks, func(name string, err error) { t.Error(name, err) }) {
		found[s.ID] = true
	}
	// Each sender's spans are complete. Besides the acknowledged ones, at most the one in flight is
	// there.
	n := acknowledged.Load()
	if got := int64(len(found)); got < n || got > n+kills*senders {
		t.Errorf("%d spans are there, %d were acknowledged", got, n)
	}
	for id := range found {
		if id[7] > 0 && !found[trace.SpanID{1, id[1], 7: id[7] - 1}] {
			t.Errorf("of sender %d span %d is missing", id[1], id[7]-1)
		}
	}
	j := &joined{w: w}
	j.start(t)
	j.mustLook(t, time.Now())
	if got := j.joining.stitch.Stats().Buffered; got != len(found) {
		t.Errorf("%d spans wait after the restart, want %d", got, len(found))
	}
}

// sendOne sends one span and reports whether it was acknowledged.
func sendOne(url string, sender byte, n int) bool {
	at := uint64(time.Now().UnixNano())
	id := trace.SpanID{1, sender, 7: byte(n)}
	body, err := proto.Marshal(&tracepb.TracesData{
		ResourceSpans: []*tracepb.ResourceSpans{{ScopeSpans: []*tracepb.ScopeSpans{{Spans: []*tracepb.Span{
			{
				TraceId: append(
					[]byte{9, sender, byte(n)},
					make([]byte, 13)...),
				SpanId:            id[:],
				Name:              "syncPod",
				StartTimeUnixNano: at,
				EndTimeUnixNano:   at,
			},
		}}}}},
	})
	if err != nil || n > 255 {
		return false
	}
	res, err := http.Post(url, "application/x-protobuf", bytes.NewReader(body))
	if err != nil {
		return false
	}
	defer res.Body.Close()
	_, _ = io.Copy(io.Discard, res.Body)
	return res.StatusCode == http.StatusOK
}
