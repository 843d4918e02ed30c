// SPDX-License-Identifier: Apache-2.0

package stitch_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/stitch"
)

// asks adds a request to the API server for a stream of a Pod, in trace id.
func (f *foreign) asks(id byte, sub, query string, start, end float64) *span.Span {
	path := "/api/v1/namespaces/default/pods/web-1/" + sub
	return f.add("apiserver@cp", "s", "GET /api/v1/namespaces/{:namespace}/pods/{:name}/"+sub, by{id, 1}, 0, start, end,
		attribute.String("http.target", path+"?"+query), attribute.String("url.path", path),
		attribute.String("audit-id", fmt.Sprint("audit-", id)))
}

// answers adds the kubelet's answer in trace id, and its calls to the runtime.
func (f *foreign) answers(id byte, path string, start, end float64) {
	verb, _, _ := strings.Cut(strings.TrimPrefix(path, "/"), "/")
	f.add("kubelet@node-1", "s", "/"+verb+"/{podNamespace}/{podID}", by{id, 1}, 0, start, end,
		attribute.String("url.path", path))
	f.add("kubelet@node-1", "c", "runtime.v1.RuntimeService/Call", by{id, 2}, 1, start+1, start+2)
	f.add("containerd", "s", "runtime.v1.RuntimeService/Call", by{id, 3}, 2, start+1.1, start+1.9)
}

const execWeb = "/exec/default/web-1/web"

// TestStreams checks the parent of a kubelet's answer.
func TestStreams(t *testing.T) {
	cases := map[string]struct {
		reason string
		spans  func(f *foreign)
		// want maps the kubelet's traces to the requests that they answer.
		want map[byte]byte
	}{
		"one": {
			reason: "nothing else can be meant",
			spans: func(f *foreign) {
				f.asks(1, "exec", "command=ls&container=web", 0, 100)
				f.answers(11, execWeb, 5, 98)
			},
			want: map[byte]byte{11: 1},
		},
		"no container named": {
			reason: "the API server takes the only one there is",
			spans: func(f *foreign) {
				f.asks(1, "exec", "command=ls", 0, 100)
				f.answers(11, execWeb, 5, 98)
			},
			want: map[byte]byte{11: 1},
		},
		"clocks apart": {
			reason: "alone within what clocks may differ by",
			spans: func(f *foreign) {
				f.asks(1, "exec", "container=web", 0, 100)
				f.answers(11, execWeb, -700, -600)
			},
			want: map[byte]byte{11: 1},
		},
		"each verb by itself": {
			spans: func(f *foreign) {
				for i, verb := range []struct{ asked, answered string }{
					{"exec", execWeb}, {"attach", "/attach/default/web-1/web"},
					{"log", "/containerLogs/default/web-1/web"},
					{"portforward", "/portForward/default/web-1"},
				} {
					f.asks(byte(1+i), verb.asked, "", 0, 100)
					f.answers(byte(11+i), verb.answered, 5, 98)
				}
			},
			want: map[byte]byte{11: 1, 12: 2, 13: 3, 14: 4},
		},
		"each container by itself": {
			reason: "kubectl logs --all-containers",
			spans: func(f *foreign) {
				f.asks(1, "log", "container=web", 0, 100)
				f.asks(2, "log", "container=side", 0, 100)
				f.answers(11, "/containerLogs/default/web-1/side", 5, 98)
				f.answers(12, "/containerLogs/default/web-1/web", 5, 98)
			},
			want: map[byte]byte{11: 2, 12: 1},
		},
		"one after another": {
			reason: "a script: by clocks that agree there is but one way to pair them",
			spans: func(f *foreign) {
				for i := range byte(5) {
					f.asks(1+i, "exec", "container=web", 200*float64(i), 200*float64(i)+150)
					f.answers(11+i, execWeb, 200*float64(i)+5, 200*float64(i)+149)
				}
			},
			want: map[byte]byte{11: 1, 12: 2, 13: 3, 14: 4, 15: 5},
		},
		"one after another, clocks apart": {
			reason: "the first answer fits no request: the clocks prove nothing",
			spans: func(f *foreign) {
				for i := range byte(5) {
					f.asks(1+i, "exec", "container=web", 200*float64(i), 200*float64(i)+150)
					f.answers(11+i, execWeb, 200*float64(i)-195, 200*float64(i)-51)
				}
			},
		},
		"one inside another": {
			reason: "the longer answer fits the longer request only, and leaves the other",
			spans: func(f *foreign) {
				f.asks(1, "exec", "container=web", 0, 1000)
				f.asks(2, "exec", "container=web", 100, 300)
				f.answers(11, execWeb, 105, 298)
				f.answers(12, execWeb, 5, 998)
			},
			want: map[byte]byte{11: 2, 12: 1},
		},
		"two at once": {
			reason: "either may be meant",
			spans: func(f *foreign) {
				f.asks(1, "exec", "container=web", 0, 100)
				f.asks(2, "exec", "container=web", 1, 101)
				f.answers(11, execWeb, 5, 98)
				f.answers(12, execWeb, 6, 98)
			},
		},
		"two requests, one answer": {
			reason: "the other was not recorded, and may be this one's",
			spans: func(f *foreign) {
				f.asks(1, "exec", "container=web", 0, 100)
				f.asks(2, "exec", "container=web", 150, 300)
				f.answers(11, execWeb, 5, 98)
			},
		},
		"one request, two answers": {
			spans: func(f *foreign) {
				f.asks(1, "exec", "container=web", 0, 100)
				f.answers(11, execWeb, 5, 50)
				f.answers(12, execWeb, 60, 98)
			},
		},
		"too many": {
			reason: "bounded",
			spans: func(f *foreign) {
				for i := range byte(65) {
					f.asks(1+i, "exec", "container=web", 5000*float64(i), 5000*float64(i)+100)
				}
				f.answers(200, execWeb, 5, 98)
			},
		},
		"another time": {
			spans: func(f *foreign) {
				f.asks(1, "exec", "container=web", 0, 100)
				f.answers(11, execWeb, 5000, 5100)
			},
		},
		"others": {
			reason: "another Pod, another namespace, another container, another verb, no path",
			spans: func(f *foreign) {
				f.asks(1, "exec", "container=web&%zz", 0, 100)
				for i, path := range []string{
					"/exec/default/web-2/web", "/exec/other/web-1/web", "/exec/default/web-1/side",
					"/attach/default/web-1/web", "/exec", "/exec/default",
				} {
					f.answers(byte(11+i), path, 5, 98)
				}
			},
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			var f foreign
			c.spans(&f)
			for seed := range uint64(20) {
				s := stitch.New(stitch.Options{})
				for _, batch := range shuffle(f.list, seed) {
					s.Accept(batch, now)
				}
				passed := s.Expire(now.Add(time.Minute))
				got := map[byte]byte{}
				for _, p := range passed {
					for _, one := range p.Spans {
						if one.Origin.TraceID[15] < 11 && one.Service != "kubelet" || one.ID[7] != 1 ||
							one.Service != "kubelet" {
							continue
						}
						if one.Parent.IsValid() {
							got[one.Origin.TraceID[15]] = one.Parent[1]
							if one.Evidence != span.ByTime || one.TraceID != (by{one.Parent[1], 0}).traceID() ||
								len(p.Spans) != 4 {
								t.Errorf("%s: evidence %q, in\n%s", c.reason, one.Evidence, outline(p))
							}
						}
					}
				}
				if diff := cmp.Diff(c.want, got, cmp.Transformer("none", func(m map[byte]byte) []string {
					var out []string
					for a, q := range m {
						out = append(out, fmt.Sprint(a, " answers ", q))
					}
					slices.Sort(out)
					return out
				})); diff != "" {
					t.Fatalf("%s; order %d (-want +got):\n%s", c.reason, seed, diff)
				}
				if st := s.Stats(); st.Buffered != 0 {
					t.Errorf("left over: %+v", st)
				}
			}
		})
	}
}

// TestStreamOfChange: a change's request to the kubelet has its answer in the change's trace. No
// other identity follows from it.
func TestStreamOfChange(t *testing.T) {
	ours, deployment, _ := web()
	var f foreign
	asked := f.asks(1, "exec", "container=web", 0, 100)
	asked.TraceID, asked.Parent = ours.ID, deployment.ID
	f.answers(11, execWeb, -500, -400)
	var first string
	for seed := range uint64(10) {
		s := stitch.New(stitch.Options{})
		s.Join(ours.Trace, false, now)
		for _, batch := range shuffle(f.list, seed) {
			s.Accept(batch, now)
		}
		got := s.Join(ours.Trace, true, now)
		if first == "" {
			first = document(got)
			answer := find(t, got, "/exec/{podNamespace}/{podID}", true)
			if answer.Parent != asked.ID || answer.Evidence != span.ByTime || !answer.Start.Equal(at(-500)) {
				t.Errorf("the kubelet's part is below %s, evidence %q, from %s on:\n%s", answer.Parent, answer.Evidence,
					answer.Start, outline(got))
			}
		}
		if diff := cmp.Diff(first, document(got)); diff != "" {
			t.Errorf("order %d (-first +now):\n%s", seed, diff)
		}
	}
	untouched := stitch.New(stitch.Options{Mode: stitch.Link})
	untouched.Accept(f.list, now)
	untouched.Join(ours.Trace, true, now)
	for _, p := range untouched.Expire(now.Add(time.Hour)) {
		for _, s := range p.Spans {
			if s.Service == "kubelet" && s.TraceID != (by{11, 0}).traceID() {
				t.Errorf("in mode link %s was put into trace %s", s.Name, s.TraceID)
			}
		}
	}
}

// TestStreamLeft: a span that left unpaired may have been the partner of a remaining one.
func TestStreamLeft(t *testing.T) {
	var early, late, more foreign
	early.asks(1, "exec", "container=web", 0, 100)
	late.asks(2, "exec", "container=web", 150, 300)
	late.answers(11, execWeb, 155, 298) // or the first's, if its clock is ahead
	more.asks(3, "exec", "container=web", 90000, 90100)
	more.answers(13, execWeb, 90005, 90098)
	s := stitch.New(stitch.Options{})
	s.Accept(early.list, now)
	s.Accept(late.list, now.Add(time.Second))
	first := s.Expire(now.Add(time.Minute)) // only the first request is old enough
	s.Accept(more.list, now.Add(time.Minute))
	rest := s.Expire(now.Add(2 * time.Minute))
	pairs := 0
	for _, p := range append(first, rest...) {
		for _, one := range p.Spans {
			if one.Evidence != span.ByTime {
				continue
			}
			if pairs++; one.Origin.TraceID != (by{13, 0}).traceID() {
				t.Errorf("the answer is put into trace %s:\n%s", p.ID, outline(p))
			}
		}
	}
	if len(first) != 1 || len(rest) != 3 || pairs != 1 {
		t.Errorf("%d and %d traces, %d pairs; want 1 and 3, and the later two in one", len(first), len(rest), pairs)
	}
}

// TestLongStream: a session lasts longer than the window, so the kubelet's first spans have been
// passed on when it ends. The two traces stay separate and link to each other.
func TestLongStream(t *testing.T) {
	var begun, ended foreign
	begun.asks(1, "portforward", "", 0, 600_000)
	begun.answers(11, "/portForward/default/web-1", 5, 599_990)
	for i, one := range begun.list {
		if one.ID[7] == 1 { // a long span is sent at its end
			ended.list = append(ended.list, begun.list[i])
		}
	}
	begun.list = slices.DeleteFunc(begun.list, func(one *span.Span) bool { return one.ID[7] == 1 })
	s := stitch.New(stitch.Options{})
	s.Accept(begun.list, now)
	if early := s.Expire(now.Add(time.Minute)); len(early) != 1 || len(early[0].Spans) != 2 {
		t.Fatalf("at the beginning: %v", early)
	}
	s.Accept(ended.list, now.Add(10*time.Minute))
	passed := s.Expire(now.Add(11 * time.Minute))
	if len(passed) != 2 {
		t.Fatalf("at the end: %v", passed)
	}
	for i, p := range passed {
		other := passed[1-i]
		links := p.Spans[0].Links
		if len(p.Spans) != 1 || len(links) != 1 || links[0].TraceID != other.ID ||
			links[0].SpanID != other.Spans[0].ID {
			t.Errorf("trace %s: links %v, want one to %s:\n%s", p.ID, links, other.ID, outline(p))
		}
	}
}

// TestStreamsRecorded: exec, logs and port-forward of real components are one trace each, from the
// API server through the kubelet to the runtime. The order of spans does not matter.
func TestStreamsRecorded(t *testing.T) {
	spans := load(t, "recording-streams").spans
	for seed := range uint64(5) {
		streamsRecorded(t, spans, seed)
	}
}

func streamsRecorded(t *testing.T, spans []*span.Span, seed uint64) {
	t.Helper()
	s := stitch.New(stitch.Options{})
	for _, batch := range shuffle(spans, seed) {
		s.Accept(batch, now)
	}
	found := map[string]int{}
	for _, p := range s.Expire(now.Add(time.Minute)) {
		byID := map[trace.SpanID]*span.Span{}
		for _, one := range p.Spans {
			byID[one.ID] = one
		}
		for _, one := range p.Spans {
			path := one.Name
			if one.Service != "kubelet" || !strings.HasPrefix(path, "/") {
				continue
			}
			verb, _, _ := strings.Cut(path[1:], "/")
			up := byID[one.Parent]
			if up == nil || up.Service != "apiserver" || one.Evidence != span.ByTime {
				t.Errorf("%s is below %v, evidence %q", path, up, one.Evidence)
				continue
			}
			_, asked, _ := strings.Cut(up.Name, "{:name}/")
			found[asked+" "+verb]++
			if verb == "exec" && !slices.ContainsFunc(p.Spans, func(s *span.Span) bool {
				return s.Service == "containerd" && strings.HasSuffix(s.Name, "/Exec")
			}) {
				t.Errorf("an exec does not lead to the runtime:\n%s", outline(p))
			}
		}
	}
	if want := map[string]int{"exec exec": 2, "log containerLogs": 1, "portforward portForward": 1}; !cmp.Equal(found,
		want) {
		t.Errorf("order %d: found %v, want %v", seed, found, want)
	}
}
