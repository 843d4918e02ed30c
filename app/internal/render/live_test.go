// SPDX-License-Identifier: Apache-2.0

package render

import (
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

// screen implements the terminal functions that Live uses: wrapping at the right edge, scrolling,
// moving up, and clearing the rest of a line.
type screen struct {
	t             *testing.T
	width, height int
	rows          [][]rune
	wrapped       []bool // the row continues on the next line
	x, y          int
	top           int // the first visible row
}

func newScreen(t *testing.T, width, height int) *screen {
	return &screen{t: t, width: width, height: height, rows: make([][]rune, 1), wrapped: make([]bool, 1)}
}

func (s *screen) size() (int, int) { return s.width, s.height }

func (s *screen) Write(p []byte) (int, error) {
	for text := string(p); text != ""; {
		if rest, ok := strings.CutPrefix(text, "\x1b["); ok {
			end := strings.IndexFunc(rest, func(r rune) bool { return r >= '@' && r <= '~' })
			s.control(rest[:end], rest[end])
			text = rest[end+1:]
			continue
		}
		for _, r := range text {
			s.print(r)
			text = text[len(string(r)):]
			break
		}
	}
	return len(p), nil
}

func (s *screen) control(arg string, kind byte) {
	switch kind {
	case 'A':
		n := 0
		if _, err := fmt.Sscan(arg, &n); err != nil {
			s.t.Fatalf("cursor up by %q", arg)
		}
		s.y = max(s.top, s.y-n)
	case 'K':
		s.rows[s.y] = s.rows[s.y][:s.index()]
		s.wrapped[s.y] = false
	case 'h', 'l', 'm':
	default:
		s.t.Fatalf("unknown control sequence %q %c", arg, kind)
	}
}

func (s *screen) print(r rune) {
	switch r {
	case '\n':
		s.down(false)
		s.x = 0
	case '\r':
		s.x = 0
	default:
		if s.x+cell.RuneWidth(r) > s.width {
			s.down(true)
			s.x = 0
		}
		i := s.index()
		s.rows[s.y] = append(s.rows[s.y][:i:i], append([]rune{r}, s.rows[s.y][min(i+1, len(s.rows[s.y])):]...)...)
		s.x += cell.RuneWidth(r)
	}
}

// index returns the index of the rune at the cursor.
func (s *screen) index() int {
	x := 0
	for i, r := range s.rows[s.y] {
		if x >= s.x {
			return i
		}
		x += cell.RuneWidth(r)
	}
	return len(s.rows[s.y])
}

func (s *screen) down(wrapped bool) {
	s.wrapped[s.y] = wrapped
	s.y++
	if s.y == len(s.rows) {
		s.rows, s.wrapped = append(s.rows, nil), append(s.wrapped, false)
	}
	s.top = max(s.top, s.y-s.height+1)
}

// resize wraps lines again, as most terminals do.
func (s *screen) resize(width, height int) {
	old := *s
	*s = *newScreen(s.t, width, height)
	for i, row := range old.rows {
		for _, r := range row {
			s.print(r)
		}
		if i < len(old.rows)-1 && !old.wrapped[i] {
			s.print('\n')
		}
	}
}

func (s *screen) text() string {
	var lines []string
	for _, row := range s.rows {
		lines = append(lines, string(row))
	}
	return strings.TrimRight(strings.Join(lines, "\n"), "\n")
}

func (s *screen) visible() []string { return strings.Split(s.text(), "\n")[min(s.top, len(s.rows)-1):] }

func draw(t *testing.T, l *Live, seconds int, traces ...*span.Trace) {
	t.Helper()
	if err := l.Draw(traces, spantest.Epoch.Add(time.Duration(seconds)*time.Second)); err != nil {
		t.Fatal(err)
	}
}

func TestLiveReplacesItsDrawing(t *testing.T) {
	s := newScreen(t, 100, 40)
	fmt.Fprint(s, "$ lifeline run\n")
	l := NewLive(s, s.size, Options{Color: true})
	for i := range 5 {
		draw(t, l, 5+i, spantest.Unschedulable())
	}
	draw(t, l, 30, spantest.Apply())
	var want strings.Builder
	if err := Tree(&want, []*span.Trace{spantest.Apply()}, Options{Width: 99}); err != nil {
		t.Fatal(err)
	}
	if got := s.text(); got != strings.TrimRight("$ lifeline run\n"+want.String(), "\n") {
		t.Errorf("the screen shows:\n%s", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if got := s.text(); got != "$ lifeline run" {
		t.Errorf("after Close the screen shows:\n%s", got)
	}
	draw(t, l, 31, spantest.Apply())
	if got := s.text(); got != "$ lifeline run" {
		t.Errorf("after Close and Draw the screen shows:\n%s", got)
	}
}

func TestLiveLeavesOthersOutputAbove(t *testing.T) {
	s := newScreen(t, 100, 40)
	l := NewLive(s, s.size, Options{})
	draw(t, l, 1, spantest.Apply())
	for _, text := range []string{"deployment.apps/web ", "created\n", "service/web created\nPassword: "} {
		if _, err := io.WriteString(l, text); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := s.text(), "deployment.apps/web created\nservice/web created\nPassword: "; got != want {
		t.Errorf("below an unfinished line is a tree:\n%s", got)
	}
	draw(t, l, 2, spantest.Apply())
	if got := s.text(); strings.Contains(got, "reconcile") {
		t.Errorf("below an unfinished line is a tree:\n%s", got)
	}
	if _, err := io.WriteString(l, "ok\n"); err != nil {
		t.Fatal(err)
	}
	got := s.text()
	if !strings.HasPrefix(got, "deployment.apps/web created\nservice/web created\nPassword: ok\nkubectl apply") ||
		strings.Count(got, "kubectl apply") != 1 {
		t.Errorf("the screen shows:\n%s", got)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(l, "done\n"); err != nil {
		t.Fatal(err)
	}
	if got, want := s.text(), "deployment.apps/web created\nservice/web created\nPassword: ok\ndone"; got != want {
		t.Errorf("after Close the screen shows:\n%s", got)
	}
}

func TestLiveSurvivesResize(t *testing.T) {
	for name, size := range map[string][2]int{
		"narrower": {70, 40}, "wider": {150, 40}, "lower": {100, 8}, "higher": {100, 60},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScreen(t, 100, 40)
			fmt.Fprint(s, "$ lifeline run\n")
			l := NewLive(s, s.size, Options{})
			draw(t, l, 30, spantest.Apply())
			s.resize(size[0], size[1])
			draw(t, l, 31, spantest.Apply())
			got := s.text()
			if n := strings.Count(got, "kubectl apply"); n != 1 && name != "lower" {
				t.Errorf("%d trees are on the screen:\n%s", n, got)
			}
			for _, row := range s.wrapped {
				if row {
					t.Errorf("a line is broken:\n%s", got)
					break
				}
			}
		})
	}
}

func TestLiveFitsTheScreen(t *testing.T) {
	open := spantest.Many(40)
	for i, s := range open.Spans {
		if i == 0 || s.Name == "reconcile Deployment" || s.Name == "reconcile ReplicaSet" ||
			s.Object.Name == "web-6cf-0017" && s.Name != "schedule" {
			s.End, s.Outcome = span.Time{}, ""
		}
	}
	open.Outcome = span.Unfinished
	for height := 3; height < 60; height++ {
		s := newScreen(t, 100, height)
		l := NewLive(s, s.size, Options{})
		draw(t, l, 3, open)
		draw(t, l, 4, open)
		if s.top > 0 {
			t.Fatalf("at height %d the tree scrolled:\n%s", height, s.text())
		}
		if got := s.visible(); height > 15 && !strings.Contains(strings.Join(got, "\n"), "reconcile Pod web-6cf-0017") {
			t.Fatalf("at height %d what is open is not shown:\n%s", height, s.text())
		}
	}
}

func TestLiveNewestFirst(t *testing.T) {
	stuck, older := spantest.Unschedulable(), spantest.CrashLoop()
	fresh := spantest.New("fresh")
	fresh.Deployment(nil, 95_000, 0)
	fresh.Trace.Outcome = span.Unfinished
	s := newScreen(t, 100, 40)
	l := NewLive(s, s.size, Options{})
	draw(t, l, 100, stuck, older, fresh.Trace)
	got := strings.Split(s.text(), "\n")
	if !strings.HasPrefix(got[0], "reconcile Deployment default/web") {
		t.Errorf("the newest trace is not the first:\n%s", s.text())
	}
	if n := len(got); n < 4 || got[n-3] != "" || !strings.HasPrefix(got[n-2], "kubectl apply -f web.yaml  ") ||
		!strings.HasPrefix(got[n-1], "kubectl apply -f web.yaml  ") {
		t.Errorf("traces without progress are not one line each:\n%s", s.text())
	}
	draw(t, l, 100, stuck)
	if got := s.text(); strings.Count(got, "\n") < 5 {
		t.Errorf("a single trace without progress is not a tree:\n%s", got)
	}
}

func TestLiveWatchesForCrashes(t *testing.T) {
	s := newScreen(t, 160, 40)
	draw(t, NewLive(s, s.size, Options{Settle: 2 * time.Second}), 5, spantest.Apply())
	if got := s.text(); !strings.Contains(got, "converged in 4.21s   watching 2s for crashes   2026-03-01") {
		t.Errorf("the reason for the wait is missing:\n%s", got)
	}
}

func TestPlainTellsEachSpanOnce(t *testing.T) {
	var out strings.Builder
	p := NewPlain(&out, Options{})
	for i := range 3 {
		if err := p.Draw([]*span.Trace{spantest.Unschedulable()}, spantest.At(1000*i).Time); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := io.WriteString(p, "deployment.apps/web created\n"); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := p.Draw(append(spantest.Healing(), &span.Trace{}), spantest.At(9000).Time); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.Close(); err != nil {
		t.Fatal(err)
	}
	want := `+17ms   create Deployment web  kubectl  12ms
stuck: Pod web-6cf-x7 cannot be scheduled: 0/3 nodes are available: 3 Insufficient memory. ` +
		`preemption: 0/3 nodes are available: 3 No preemption victims found for incoming pod.
deployment.apps/web created
+31ms   delete Pod web-6cf-x7  kubectl  11ms
+1.3s   reconcile Pod web-6cf-x7  kubelet  1.3s  deleted
+1.3s   terminate web-6cf-x7  kubelet  1.3s
+78ms   schedule web-6cf-k2  kube-scheduler  18ms
+288ms  sandbox web-6cf-k2  kubelet  210ms
+1.5s   pull image web-6cf-k2 nginx:1.27  kubelet  1.2s
+1.5s   start container web-6cf-k2 web  kubelet  47ms
+2.4s   reconcile Pod web-6cf-k2  kubelet  2.3s
+2.4s   readiness web-6cf-k2  kubelet  0.9s
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}
