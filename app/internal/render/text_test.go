// SPDX-License-Identifier: Apache-2.0

package render

import (
	"strconv"
	"strings"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/span/spantest"
)

func TestEscape(t *testing.T) {
	cases := map[string]struct{ reason, in, want string }{
		"plain":     {"text stays", "web-6cf-x7", "web-6cf-x7"},
		"unicode":   {"other scripts stay", "тест 日本語 é", "тест 日本語 é"},
		"colour":    {"ANSI is shown", "\x1b[31m", `\x1b[31m`},
		"c1":        {"so is its 8-bit form", "\u009b31m", `\u009b31m`},
		"lines":     {"lines stay one", "a\nb\r\tc", `a\nb\r\tc`},
		"bidi":      {"nothing changes direction", "\u202egnp\u2066", `\u202egnp\u2066`},
		"invisible": {"nothing is invisible", "a\u200bb\ufeff\U000e0041", `a\u200bb\ufeff\U000e0041`},
		"separator": {"Unicode's line ends are none", "a\u2028b\u0085", `a\u2028b\u0085`},
		"emoji":     {"what makes a character wide by itself is shown", "❤\ufe0f", `❤\ufe0f`},
		"broken":    {"bytes that are no text are shown", "a\xff\xc3", `a\xff\xc3`},
		"replaced":  {"the replacement character is text", "\uFFFD", "\uFFFD"},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if diff := cmp.Diff(tc.want, escape(tc.in)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func FuzzEscape(f *testing.F) {
	for _, s := range []string{"", "web", "\x1b[2J", "日本\u202e", "\xff", strings.Repeat("é\n", 900)} {
		f.Add(s, 10)
	}
	f.Fuzz(func(t *testing.T, s string, n int) {
		n &= 0xff
		got := escape(s)
		if !utf8.ValidString(got) {
			t.Fatalf("%q is no UTF-8", got)
		}
		for _, r := range got {
			if !unicode.IsPrint(r) {
				t.Fatalf("%q holds %q", got, r)
			}
		}
		for what, short := range map[string]string{
			"cut": cut(got, n), "squeeze": squeeze(got, n), "head": head(got, n), "tail": tail(got, n),
		} {
			if cells(short) > n || !utf8.ValidString(short) {
				t.Fatalf("%s(%q, %d) is %q of %d cells", what, got, n, short, cells(short))
			}
		}
		for _, l := range wrap(got, n+2) {
			if cells(l) > n+2 {
				t.Fatalf("wrap(%q, %d) has %q of %d cells", got, n+2, l, cells(l))
			}
		}
		if joined := strings.Join(wrap(got, n+2), ""); strings.ReplaceAll(joined, " ", "") != strings.ReplaceAll(got,
			" ", "") {
			t.Fatalf("wrap(%q, %d) lost text: %q", got, n+2, joined)
		}
	})
}

func TestShorten(t *testing.T) {
	cases := map[string]struct{ reason, got, want string }{
		"fits": {"nothing to do", squeeze("reconcile Pod web", 17), "reconcile Pod web"},
		"middle": {
			"generated names differ at their end", squeeze("reconcile Pod web-6cf9d8-x7k2p", 20),
			"reconcile Pod…-x7k2p",
		},
		"wide":        {"a wide character is never halved", squeeze("デプロイメント", 9), "デプロ…ト"},
		"cut":         {"the end gives way", cut("deployment-controller", 12), "deployment-…"},
		"cut wide":    {"at most so many cells", cut("日本語", 4), "日…"},
		"cut to none": {"no room is no text", cut("abc", 0), ""},
		"combining":   {"marks take no room", pad("e\u0301", 2), "e\u0301 "},
		"wrap": {
			"broken at blanks, long words anywhere", strings.Join(wrap("an unbreakable-word here", 8), "|"),
			"an|unbreaka|ble-word|here",
		},
		"tail of marks": {"no mark without its letter", tail("ae\u0301", 0), ""},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			if tc.got != tc.want {
				t.Errorf("%s: got %q, want %q", tc.reason, tc.got, tc.want)
			}
		})
	}
}

func TestDurations(t *testing.T) {
	cases := map[time.Duration][2]string{
		-time.Second:                            {"-1.0s", "-1.0s"},
		0:                                       {"0ms", "0ms"},
		300 * time.Microsecond:                  {"<1ms", "<1ms"},
		12 * time.Millisecond:                   {"12ms", "12ms"},
		499600 * time.Microsecond:               {"500ms", "500ms"},
		900 * time.Millisecond:                  {"0.9s", "0.90s"},
		4210 * time.Millisecond:                 {"4.2s", "4.21s"},
		9999 * time.Millisecond:                 {"10.0s", "10.0s"},
		59960 * time.Millisecond:                {"1m00s", "1m00s"},
		125 * time.Second:                       {"2m05s", "2m05s"},
		59*time.Minute + 59700*time.Millisecond: {"1h00m", "1h00m"},
		187 * time.Minute:                       {"3h07m", "3h07m"},
		52 * time.Hour:                          {"2d4h", "2d4h"},
	}
	for d, want := range cases {
		if got := [2]string{brief(d), precise(d)}; got != want {
			t.Errorf("%v is written %v, want %v", d, got, want)
		}
	}
}

// TestLinesFit: no line of a tree is wider than requested, for any trace.
func TestLinesFit(t *testing.T) {
	traces := append(spantest.Healing(), spantest.Apply(), spantest.CrashLoop(), spantest.Unschedulable(),
		spantest.Many(20), spantest.Hostile(), spantest.Rollout())
	for _, trace := range traces {
		for width := minWidth; width < 200; width += 3 {
			for d := unlimited; d <= countEnded; d++ {
				o := Options{Width: width, Now: spantest.Epoch.Add(time.Minute)}
				for _, l := range treeLines(trace, o, d) {
					if text := l.string(false); cells(text) > width {
						t.Errorf("%d cells, want at most %d: %s", cells(text), width, text)
					}
				}
			}
		}
	}
}

// TestNothingIsLost: without folding, every span of any trace is drawn.
func TestNothingIsLost(t *testing.T) {
	a, b := spantest.New("circle"), spantest.New("orphan")
	one := a.Add(nil, "one", "x", spantest.Ref("", "Pod", "one"), 0, 10)
	two := a.Add(one, "two", "x", spantest.Ref("", "Pod", "two"), 0, 10)
	three := a.Add(two, "three", "x", spantest.Ref("", "Pod", "three"), 0, 10)
	one.Parent = three.ID
	root := b.Add(nil, "root", "x", spantest.Ref("", "Pod", "root"), 0, 10)
	b.Add(root, "orphan", "x", spantest.Ref("", "Pod", "orphan"), 0, 10)
	b.Trace.Spans[1].Parent[0] ^= 1
	for _, trace := range []*span.Trace{a.Trace, b.Trace} {
		var text strings.Builder
		if err := Tree(&text, []*span.Trace{trace}, Options{Full: true}); err != nil {
			t.Fatal(err)
		}
		for _, s := range trace.Spans {
			if !strings.Contains(text.String(), "─ "+s.Name) {
				t.Errorf("%s is missing:\n%s", s.Name, text.String())
			}
		}
	}
}

func BenchmarkTree(b *testing.B) {
	for _, pods := range []int{1000, 5000} {
		b.Run(strconv.Itoa(pods), func(b *testing.B) {
			trace := []*span.Trace{spantest.Many(pods)}
			b.ReportAllocs()
			for b.Loop() {
				if err := Tree(&strings.Builder{}, trace, Options{Color: true}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
