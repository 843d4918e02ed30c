// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.opentelemetry.io/otel/trace"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// TestGraphEdges checks the edges of a graph, one a line.
func TestGraphEdges(t *testing.T) {
	link := func(id trace.TraceID, to trace.SpanID, reason string) span.Link {
		return span.Link{TraceID: id, SpanID: to, Reason: reason}
	}
	add := func(b *spantest.Builder, up *span.Span, n int) *span.Span {
		return b.Add(up, "reconcile Pod", "kubelet", spantest.Ref("", "Pod", fmt.Sprint("p", n)), 10+n, 100+2*n)
	}
	cases := map[string]struct {
		reason string
		make   func(b *spantest.Builder, root *span.Span)
		full   bool
		want   string
	}{
		"Part": {"a link of a phase belongs to its reconciliation", func(b *spantest.Builder, root *span.Span) {
			pod := add(b, root, 1)
			b.Add(pod, "web reconcile", "operator", pod.Object, 20, 30).Links = []span.Link{
				link(pod.TraceID, pod.ID, "object"), link(trace.TraceID{0xab}, trace.SpanID{1}, "trigger"),
			}
		}, false, "Deployment web -owner-> Pod p1\ntrace ab000000 .trigger.> Pod p1"},
		"SameWork": {"a second record of the same work is no cause", func(_ *spantest.Builder, root *span.Span) {
			root.Links = []span.Link{link(trace.TraceID{0xab}, trace.SpanID{1}, span.LinkServer)}
		}, false, ""},
		"Nested": {"a reconciliation below a phase is below its reconciliation", func(
			b *spantest.Builder, root *span.Span,
		) {
			pod := add(b, root, 1)
			phase := b.Add(pod, "web reconcile", "operator", pod.Object, 20, 30)
			add(b, phase, 2).Evidence = span.ByAnnotation
		}, false, "Deployment web -owner-> Pod p1\nPod p1 -annotation-> Pod p2"},
		"Folded": {"folded spans share their edges", func(b *spantest.Builder, root *span.Span) {
			for n := range 20 {
				pod := add(b, root, n)
				pod.Links = []span.Link{link(trace.TraceID{0xab}, trace.SpanID{1}, "heals")}
				if n == 0 {
					root.Links = []span.Link{link(pod.TraceID, pod.ID, "owner")}
				}
			}
		}, false, `Deployment web -owner-> Pod p17
Deployment web -owner-> Pod p18
Deployment web -owner-> Pod p19
Deployment web -owner-> … 17 more reconcile Pod
… 17 more reconcile Pod .owner.> Deployment web
trace ab000000 .heals.> Pod p17
trace ab000000 .heals.> Pod p18
trace ab000000 .heals.> Pod p19
trace ab000000 .heals ×17.> … 17 more reconcile Pod`},
		"Outside": {"so do other traces", func(_ *spantest.Builder, root *span.Span) {
			for n := range 20 {
				root.Links = append(root.Links, link(trace.TraceID{byte(n), 1}, trace.SpanID{1}, "heals"))
			}
			root.Links = append(root.Links, link(trace.TraceID{0xab}, trace.SpanID{1}, "owner"))
		}, false, "20 other traces .heals ×20.> Deployment web\ntrace ab000000 .owner.> Deployment web"},
		"Full": {"nothing is folded", func(b *spantest.Builder, root *span.Span) {
			for n := range foldAbove + 1 {
				add(b, root, n)
			}
		}, true, `Deployment web -owner-> Pod p0
Deployment web -owner-> Pod p1
Deployment web -owner-> Pod p2
Deployment web -owner-> Pod p3
Deployment web -owner-> Pod p4
Deployment web -owner-> Pod p5
Deployment web -owner-> Pod p6`},
		"Circle": {"a span may be its own cause", func(b *spantest.Builder, root *span.Span) {
			one := add(b, root, 1)
			two := add(b, one, 2)
			one.Parent = two.ID
		}, false, "Pod p2 -owner-> Pod p1\nPod p1 -owner-> Pod p2"},
		"Missing": {"a cause that is not in its trace", func(b *spantest.Builder, root *span.Span) {
			add(b, root, 1).Links = []span.Link{link(b.Trace.ID, trace.SpanID{7}, "owner")}
		}, false, "Deployment web -owner-> Pod p1\nspan 0700000000000000 .owner.> Pod p1"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			b := spantest.New("graph")
			tc.make(b, b.Deployment(nil, 0, 500))
			g := newGraph([]*span.Trace{b.Trace}, Options{Now: spantest.Epoch.Add(time.Minute), Full: tc.full})
			var got []string
			for _, e := range g.edges {
				arrow := "-%s->"
				if e.link {
					arrow = ".%s.>"
				}
				got = append(got, e.from.lines[0]+" "+fmt.Sprintf(arrow, e.text())+" "+e.to.lines[0])
			}
			if diff := cmp.Diff(tc.want, strings.Join(got, "\n")); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestGraphIsStable: the same traces give the same bytes, whatever the order of maps.
func TestGraphIsStable(t *testing.T) {
	traces := append(spantest.Healing(), spantest.Causes(), spantest.Many(300), spantest.Rollout(), spantest.Joined())
	for n := range 20 {
		for i, s := range traces[3].Spans {
			s.Links = []span.Link{{TraceID: trace.TraceID{byte(i)}, SpanID: trace.SpanID{1}}}
		}
		var first, again strings.Builder
		for _, out := range []*strings.Builder{&first, &again} {
			if err := Mermaid(out, traces, Options{Full: n%2 == 1}); err != nil {
				t.Fatal(err)
			}
			if err := DOT(out, traces, Options{Full: n%2 == 1}); err != nil {
				t.Fatal(err)
			}
		}
		if diff := cmp.Diff(first.String(), again.String()); diff != "" {
			t.Fatal(diff)
		}
	}
}

// hostile are texts with a meaning in Mermaid or in DOT.
var hostile = []string{
	"", "web-6cf-x7", "a\nb", `\`, `a\`, `\N \G`, `"`, `\"`, `"]
  n1 --> n2`, "&quot; &amp;lt;", "#quot; #35;", "a#b;",
	"<img src=x onerror=alert(1)>", "<br/>", "`code` **b** _a_ ~~x~~", "[x](http://a)", "1. list", "1) list", "- list",
	"---", "===", "    code", "a  ", "www.example.com", "a@b.example", "fa:fa-car", "$$x$$", "ﬂ°lt¶ß", "ﬂ°°60¶ß",
	"%% comment", "%%{init: {}}%%", "style a:#35;b;", "classDef a:#35;", "{{x}}", "|a|", "end", "日本\u202e", "\xff",
}

func FuzzDOTString(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := dotString(s, "next")
		if want := escape(s) + "\n" + "next"; readDOT(t, got) != want {
			t.Fatalf("%s reads as %q, want %q", got, readDOT(t, got), want)
		}
	})
}

// readDOT reads a quoted string as Graphviz does for a label.
func readDOT(t *testing.T, quoted string) string {
	t.Helper()
	var b strings.Builder
	rest, ok := strings.CutPrefix(quoted, `"`)
	for ok && rest != `"` {
		switch {
		case strings.HasPrefix(rest, `\\`), strings.HasPrefix(rest, `\"`):
			b.WriteByte(rest[1])
			rest = rest[2:]
		case strings.HasPrefix(rest, `\n`):
			b.WriteByte('\n')
			rest = rest[2:]
		case strings.HasPrefix(rest, "&amp;"):
			b.WriteByte('&')
			rest = rest[len("&amp;"):]
		case rest == "" || strings.ContainsAny(rest[:1], "\"\\&\n"):
			t.Fatalf("%s is no string: %q", quoted, rest)
		default:
			b.WriteByte(rest[0])
			rest = rest[1:]
		}
	}
	return b.String()
}

// mermaidCode is a code, and mermaidPlain a text without any.
var (
	mermaidCode  = regexp.MustCompile(`#([0-9]+);`)
	mermaidPlain = regexp.MustCompile(`^[\pL\p{Nd} :=./,()…·×-]*$`)
)

func FuzzMermaidString(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got := mermaidString(s, "next")
		text, ok := strings.CutPrefix(got, `"`)
		text, last := strings.CutSuffix(text, `<br/>next"`)
		if !ok || !last || !mermaidPlain.MatchString(mermaidCode.ReplaceAllString(text, "")) {
			t.Fatalf("%q becomes %s", s, got)
		}
		read := mermaidCode.ReplaceAllStringFunc(strings.ReplaceAll(text, zeroWidth, ""), func(code string) string {
			r, err := strconv.Atoi(code[1 : len(code)-1])
			if err != nil {
				t.Fatal(err)
			}
			return string(rune(r))
		})
		if read != escape(s) {
			t.Fatalf("%s reads as %q, want %q", got, read, escape(s))
		}
	})
}
