// SPDX-License-Identifier: Apache-2.0

package export

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
)

// TestBacklogCounts runs random operations of an Outbox. After each, the sum must be right and the
// order kept, and every item must leave once, for one reason.
func TestBacklogCounts(t *testing.T) {
	for seed := range uint64(200) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, 2))
			var b backlog
			gone := map[uint64]string{}
			leaves := func(seq uint64, why string) {
				if was := gone[seq]; was != "" {
					t.Fatalf("%d goes as %q and as %q", seq, was, why)
				}
				gone[seq] = why
			}
			last := uint64(0)
			now := time.Unix(1_000_000, 0)
			var asked []*span.Span // by a request that was not answered
			for range 300 {
				switch random.IntN(6) {
				case 0, 1:
					now = now.Add(time.Second)
					last++
					b.add(item{seq: last, spans: 1 + random.IntN(9), queued: now})
				case 2:
					if b.request == 0 {
						load(&b, random)
						asked = b.next(b.request)
					} else if again := b.next(b.request); !slices.Equal(asked, again) {
						t.Fatalf(
							"a request of %d spans is repeated with %d, or with other ones",
							len(asked),
							len(again),
						)
					}
					b.busy = b.request > 0
				case 3:
					if b.busy && random.IntN(2) == 0 { // otherwise the request fails
						for _, seq := range b.consume(len(b.next(1 + random.IntN(b.request)))) {
							leaves(seq, "sent")
						}
					}
					b.busy = false
				case 4:
					before, most := now.Add(-time.Duration(random.IntN(60))*time.Second), random.IntN(200)
					b.shed(most, before, func(i *item, spans int, why DropReason) {
						leaves(i.seq, string(why))
						if spans < 1 {
							t.Errorf("%d is dropped with %d spans", i.seq, spans)
						}
					})
					if len(b.queue) > 0 && (b.spans > most || b.queue[0].queued.Before(before)) {
						t.Fatalf("%d spans are left, of %s on", b.spans, b.queue[0].queued)
					}
				case 5:
					if random.IntN(5) == 0 {
						before := now.Add(-time.Duration(random.IntN(20)) * time.Second)
						b.forget(
							func(i *item) bool { return i.queued.Before(before) },
							func(i *item) { leaves(i.seq, "forgotten") },
						)
					}
				}
				check(t, &b, gone, last)
			}
		})
	}
}

// load reads some of the head, as an Outbox does before sending.
func load(b *backlog, random *rand.Rand) {
	for i := range 1 + random.IntN(3) {
		if i == len(b.head) && !b.advance() {
			break
		}
		if !b.head[i].read {
			spans := make([]*span.Span, 1+random.IntN(9))
			for n := range spans {
				spans[n] = &span.Span{ID: trace.SpanID{byte(n)}}
			}
			b.fill(i, spans)
		}
	}
	b.request = len(b.next(20))
}

func check(t *testing.T, b *backlog, gone map[uint64]string, last uint64) {
	t.Helper()
	sum := 0
	var there []uint64
	for i := range b.head {
		sum += b.head[i].waiting()
		there = append(there, b.head[i].seq)
	}
	for i := range b.queue {
		sum += b.queue[i].spans
		there = append(there, b.queue[i].seq)
	}
	if sum != b.spans {
		t.Fatalf("%d spans wait, it says %d", sum, b.spans)
	}
	var want []uint64
	for seq := uint64(1); seq <= last; seq++ {
		if gone[seq] == "" {
			want = append(want, seq)
		}
	}
	if d := cmp.Diff(want, there); d != "" || !slices.IsSorted(there) {
		t.Fatalf("waiting (-want +got):\n%s", d)
	}
}
