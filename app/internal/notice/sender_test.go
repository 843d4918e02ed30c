// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"io"
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"encoding/json"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"

	"github.com/kube-lifeline/lifeline/app/internal/problem"
	"github.com/kube-lifeline/lifeline/app/internal/span"
)

var update = flag.Bool("update", false, "rewrite the golden payloads")

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// post is one request to a receiver.
type post struct {
	url, auth, body string
	at              time.Duration
}

// endpoint is a receiver without a network. answer returns the answer to the request with that number;
// nil accepts all.
type endpoint struct {
	mu     sync.Mutex
	began  time.Time
	got    []post
	answer func(n int, p post) (*http.Response, error)
}

func answers(code int) *http.Response {
	return &http.Response{StatusCode: code, Body: http.NoBody, Header: http.Header{}}
}

func (e *endpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return nil, err
	}
	e.mu.Lock()
	p := post{r.URL.String(), r.Header.Get("Authorization"), string(body), time.Since(e.began)}
	e.got = append(e.got, p)
	n := len(e.got)
	e.mu.Unlock()
	if e.answer == nil {
		return answers(http.StatusAccepted), nil
	}
	return e.answer(n, p)
}

// posts returns the requests so far.
func (e *endpoint) posts() []post {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.got)
}

// delivery is a running sender in a bubble of fake time.
type delivery struct {
	*Sender
	*endpoint

	log bytes.Buffer
}

// start runs a sender over the board until the end of the test.
func start(t *testing.T, b *Board, change func(*Sender), answer func(int, post) (*http.Response, error)) *delivery {
	t.Helper()
	d := &delivery{endpoint: &endpoint{began: time.Now(), answer: answer}}
	d.Sender = &Sender{
		Board: b, Name: "r", Format: CloudEvents, URL: "https://hooks.example/T0/secret", Cluster: "c1",
		Leads: func() bool { return true }, Log: slog.New(slog.NewTextHandler(&d.log, nil)),
	}
	d.client.Transport = d.endpoint
	if change != nil {
		change(d.Sender)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { d.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		running.Wait()
		if strings.Contains(d.log.String(), "secret") {
			t.Errorf("the log has a secret: %s", &d.log)
		}
	})
	return d
}

// pending returns a board with notices about these problems for a receiver.
func pending(t *testing.T, problems ...problem.Problem) *Board {
	t.Helper()
	b := newBoard(t, everything(), nil)
	b.Look(at(100), list(problems...), nil, false)
	b.Stored()
	return b
}

func TestSender(t *testing.T) {
	token := filepath.Join(t.TempDir(), "token")
	must(t, os.WriteFile(token, []byte("letmein\n"), 0o600))
	synctest.Test(t, func(t *testing.T) {
		d := start(t, pending(t, broken("p1", "image_pull", 0, "web")), func(s *Sender) { s.TokenFile = token }, nil)
		synctest.Wait()
		got := d.posts()
		if len(got) != 1 || got[0].url != "https://hooks.example/T0/secret" || got[0].auth != "Bearer letmein" ||
			!strings.Contains(got[0].body, `"id":"p1/started"`) {
			t.Errorf("got %+v", got)
		}
		if s := d.Stats(); s.Sent[Started] != 1 || s.Waiting != 0 || s.Receiver != "r" {
			t.Errorf("got %+v", s)
		}
	})
}

// TestSenderOthers: a notice that is not accepted delays no other problem, and keeps the order of its own.
func TestSenderOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := pending(t, broken("p1", "image_pull", 0, "web"), broken("p2", "crash_loop", 0, "api"))
		b.Look(at(200), list(), nil, false)
		b.Stored()
		d := start(t, b, nil, func(n int, p post) (*http.Response, error) {
			if strings.Contains(p.body, `"id":"p1/started"`) && n < 6 {
				return answers(http.StatusInternalServerError), nil
			}
			return answers(http.StatusOK), nil
		})
		synctest.Wait()
		if s := d.Stats(); s.Sent[Started] != 1 || s.Sent[Resolved] != 1 || s.Failures != 1 || s.Waiting != 2 {
			t.Errorf("at once: %+v", s)
		}
		time.Sleep(10 * time.Second) // of fake time
		synctest.Wait()
		if s := d.Stats(); s.Sent[Started] != 2 || s.Sent[Resolved] != 2 || s.Failures != 3 || s.Waiting != 0 {
			t.Errorf("later: %+v", s)
		}
		var order []string
		for _, p := range d.posts() {
			if strings.Contains(p.body, `"problem":"p1"`) {
				order = append(order, p.at.String())
			}
		}
		if want := []string{"0s", "1s", "3s", "7s", "7s"}; !slices.Equal(order, want) {
			t.Errorf("the problem p1 has requests at %v, want %v", order, want)
		}
		if n := strings.Count(d.log.String(), "notices wait"); n < 1 || n > 2 {
			t.Errorf("the log has %d failures: %s", n, &d.log)
		}
	})
}

// TestSenderHangs: a receiver that does not answer one request gets the others.
func TestSenderHangs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := pending(t, broken("p1", "image_pull", 0, "web"), broken("p2", "crash_loop", 0, "api"))
		d := start(t, b, nil, func(n int, _ post) (*http.Response, error) {
			if n == 1 {
				time.Sleep(answerTime) // of fake time
				return nil, errors.New("timeout")
			}
			return answers(http.StatusOK), nil
		})
		synctest.Wait()
		if s := d.Stats(); s.Sent[Started] != 1 {
			t.Errorf("at once: %+v", s)
		}
		time.Sleep(answerTime + 2*time.Second)
		synctest.Wait()
		if s := d.Stats(); s.Sent[Started] != 2 {
			t.Errorf("later: %+v", s)
		}
	})
}

// TestSenderAnswers repeats after an error that may pass, and gives up after one that stays.
func TestSenderAnswers(t *testing.T) {
	for code, again := range map[int]bool{
		500: true, 503: true, 429: true, 408: true, 401: true, 403: true, 404: true,
		400: false, 302: true, 410: false,
	} {
		synctest.Test(t, func(t *testing.T) {
			b := pending(t, broken("p1", "image_pull", 0, "web"))
			d := start(t, b, nil, func(n int, _ post) (*http.Response, error) {
				a := answers(http.StatusOK)
				if n == 1 {
					a = answers(code)
					a.Header.Set("Retry-After", "20")
				}
				return a, nil
			})
			time.Sleep(time.Minute)
			synctest.Wait()
			s, got := d.Stats(), d.posts()
			switch {
			case again && (len(got) != 2 || got[0].body != got[1].body || got[1].at != 20*time.Second),
				again && s.Failures != 1:
				t.Errorf("%d: %+v, %+v", code, got, s)
			case !again && (len(got) != 1 || s.Refused != 1 || s.Waiting != 0):
				t.Errorf("%d: %+v, %+v", code, got, s)
			}
		})
	}
}

// TestSenderWaits: a server that does not lead delivers nothing until it does.
func TestSenderWaits(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b, leads := pending(t, broken("p1", "image_pull", 0, "web")), false
		d := start(t, b, func(s *Sender) { s.Leads = func() bool { return leads } }, nil)
		time.Sleep(time.Hour)
		synctest.Wait()
		if n := len(d.posts()); n != 0 {
			t.Errorf("%d requests", n)
		}
		leads = true
		b.Stored()
		synctest.Wait()
		if n := len(d.posts()); n != 1 {
			t.Errorf("%d requests", n)
		}
	})
}

// TestSenderCause: a notice, and its repetition, have the cause as its trace shows it.
func TestSenderCause(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := broken("p1", "image_pull", 0, "web")
		p.Cause = &problem.Cause{TraceID: "4bf92f3577b34da6a3ce929d0e0e4736"}
		d := start(t, pending(t, p), func(s *Sender) {
			s.Format, s.URL = Alertmanager, "http://am:9093"
			s.Cause = func(_ context.Context, c problem.Cause) problem.Cause {
				c.Who, c.Edits = "jane\x1b", []string{"image web:1 → web:2"}
				return c
			}
		}, nil)
		time.Sleep(90 * time.Second)
		synctest.Wait()
		got := d.posts()
		if len(got) != 3 {
			t.Fatalf("got %+v", got)
		}
		for _, one := range got {
			if !strings.Contains(one.body, `"cause":"jane : image web:1 → web:2"`) {
				t.Errorf("got %s", one.body)
			}
		}
	})
}

// TestAlertsRepeat: Alertmanager gets an alert every minute while its problem lasts, and then its end.
func TestAlertsRepeat(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		b := pending(t, broken("p1", "image_pull", 0, "web"))
		d := start(t, b, func(s *Sender) { s.Format, s.URL = Alertmanager, "http://am:9093/prefix/" }, nil)
		time.Sleep(150 * time.Second)
		synctest.Wait()
		got := d.posts()
		if len(got) != 4 || got[0].url != "http://am:9093/prefix/api/v2/alerts" || got[3].at != 2*time.Minute {
			t.Fatalf("got %+v", got)
		}
		b.Look(at(300), list(), nil, false)
		b.Stored()
		time.Sleep(10 * time.Minute)
		synctest.Wait()
		if all := d.posts(); len(all) != 5 || !strings.Contains(all[4].body, `"endsAt":"`+stamp(at(300))+`"`) {
			t.Errorf("got %+v", all[4:])
		}
	})
}

// TestTarget: no error has a secret.
func TestTarget(t *testing.T) {
	file := func(text string) string {
		path := filepath.Join(t.TempDir(), "file")
		must(t, os.WriteFile(path, []byte(text+"\n"), 0o600))
		return path
	}
	missing, notThere := filepath.Join(t.TempDir(), "missing"), ": no such file or directory"
	const noURL = "the receiver has no URL with http or https"
	const noTLS = "a token needs a URL with https, or a loopback address"
	for name, c := range map[string]struct {
		sender    *Sender
		url, fail string
	}{
		"URL":            {&Sender{URL: "https://a.example/x?y=z"}, "https://a.example/x?y=z", ""},
		"file":           {&Sender{URLFile: file("https://a.example/secret")}, "https://a.example/secret", ""},
		"PagerDuty":      {&Sender{Format: PagerDuty, TokenFile: file("key")}, PagerDutyURL, ""},
		"bad file":       {&Sender{URLFile: file("https://a.example:secret/")}, "", noURL},
		"other scheme":   {&Sender{URLFile: file("ftp://secret")}, "", noURL},
		"no file":        {&Sender{URLFile: missing}, "", "cannot read urlFile: open " + missing + notThere},
		"token in clear": {&Sender{URLFile: file("http://a.example/secret"), TokenFile: file("secret")}, "", noTLS},
		"loopback":       {&Sender{URL: "http://127.0.0.1:1/x", TokenFile: file("secret")}, "http://127.0.0.1:1/x", ""},
	} {
		got, _, err := c.sender.target()
		text := ""
		if err != nil {
			text = err.Error()
		}
		if got != c.url || text != c.fail {
			t.Errorf("%s: got %q, %q", name, got, text)
		}
	}
	for in, want := range map[string]string{
		"https://hooks.example/T0/B0/secret?a=b": "https://hooks.example/…",
		"https://user:pass@hooks.example":        "https://hooks.example/…",
		"::":                                     "…",
	} {
		if got := Redacted(in); got != want {
			t.Errorf("%s: got %s", in, got)
		}
	}
}

// example is a problem with hostile texts.
func example() problem.Problem {
	p := broken("8f3a", "image_not_found", 0, "web", "api")
	p.Reason = "Deployment web cannot pull image <!channel>&web:2: *not* found <https://evil.example|here>\n\x1b[31m"
	p.Blamed, p.Image, p.Next = &p.Objects[1], "web:2", "kubectl -n shop describe deployment/web"
	p.Cause = &problem.Cause{
		TraceID: "4bf92f3577b34da6a3ce929d0e0e4736", Start: at(-5), Who: "jane", Object: &p.Object, Verb: "update",
		Fields: []string{"spec.template.spec.containers[name=web].image"}, Edits: []string{"image web:1 → web:2"},
	}
	return p
}

// TestPayloads compares the payloads with golden files, and checks the limits of each API.
func TestPayloads(t *testing.T) {
	p := example()
	started := about(Started, p.ID, &p, at(300))
	resolved := (&told{notice: started}).end(at(900))
	failure := aboutChange(ended(deployment(1, "job_failed", 0), span.Failed), at(300))
	o := &origin{cluster: "c1", page: "https://lifeline.example/", key: "R0UTE"}
	for name, n := range map[string]*Notice{"started": &started, "resolved": &resolved, "failed": &failure} {
		for _, f := range []Format{CloudEvents, Slack, PagerDuty, Alertmanager} {
			if n.Type == Failed && (f == PagerDuty || f == Alertmanager) {
				continue // a change does not end again
			}
			body, _, err := encode(f, n, o)
			must(t, err)
			var text bytes.Buffer
			must(t, json.Indent(&text, append(body, '\n'), "", "  "))
			golden(t, filepath.Join("testdata", string(f)+"-"+name+".json"), text.String())
		}
	}
}

// TestLongPayloads: the limits of the APIs hold for long texts.
func TestLongPayloads(t *testing.T) {
	p := example()
	long := strings.Repeat("<&>ä", 5000)
	p.Reason, p.Next, p.Cause.Who, p.Cause.Edits = long, long, long, []string{long, long}
	n := about(Started, p.ID, &p, at(300))
	o := &origin{cluster: "c1", key: "R0UTE"}
	body, err := slackMessage(&n, o)
	must(t, err)
	var m slackPayload
	must(t, json.Unmarshal(body, &m))
	if got := len(m.Blocks[0].Text.Text); got > 3000 || got < 2000 {
		t.Errorf("the section has %d bytes", got)
	}
	if strings.ContainsAny(m.Text+m.Blocks[0].Text.Text, "<>") {
		t.Error("a text is not escaped")
	}
	body, err = pagerDutyEvent(&n, o)
	must(t, err)
	var e pagerDuty
	must(t, json.Unmarshal(body, &e))
	if got := len([]rune(e.Payload.Summary)); got > 1024 || len(body) > 512<<10 {
		t.Errorf("the summary has %d characters, the event %d bytes", got, len(body))
	}
}

// golden compares a text with a file.
func golden(t *testing.T, file, got string) {
	t.Helper()
	if *update {
		must(t, os.WriteFile(file, []byte(got), 0o600))
	}
	want, err := os.ReadFile(file)
	must(t, err)
	if diff := cmp.Diff(string(want), got); diff != "" {
		t.Errorf("%s: -want +got\n%s", file, diff)
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
