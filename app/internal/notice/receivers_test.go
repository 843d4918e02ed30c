// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cloudevents/sdk-go/v2/event"
)

// routingKey is a key in the form of PagerDuty's.
const routingKey = "0123456789abcdef0123456789abcdef"

// strict reads a document without unknown fields.
func strict(body []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(body))
	d.DisallowUnknownFields()
	return d.Decode(into)
}

// checkEvent checks the rules of CloudEvents.
func checkEvent(r *http.Request, body []byte) error {
	var e event.Event
	if err := json.Unmarshal(body, &e); err != nil {
		return err
	}
	if !strings.HasPrefix(r.Header.Get("Content-Type"), "application/cloudevents+json") || e.Subject() == "" {
		return errors.New("no structured event with a subject")
	}
	return e.Validate()
}

// checkSlack checks the limits of incoming webhooks and of blocks.
func checkSlack(_ *http.Request, body []byte) error {
	var m slackPayload
	if err := strict(body, &m); err != nil {
		return err
	}
	if m.Text == "" || len(m.Text) > 4000 || len(m.Blocks) == 0 || len(m.Blocks) > 50 {
		return errors.New("invalid_payload")
	}
	for _, b := range m.Blocks {
		texts, limit := b.Elements, 2000
		if b.Type == "section" {
			texts, limit = []slackText{*b.Text}, 3000
		}
		if len(texts) == 0 || len(texts) > 10 {
			return errors.New("invalid_blocks")
		}
		for _, text := range texts {
			isLink := text.Type == "mrkdwn" && strings.HasPrefix(text.Text, "<https://lifeline.example/")
			if text.Text == "" || len(text.Text) > limit || text.Type != "plain_text" && !isLink {
				return fmt.Errorf("invalid_blocks: %s", text.Text)
			}
		}
	}
	return nil
}

// checkPagerDuty checks the rules of the Events API v2.
func checkPagerDuty(_ *http.Request, body []byte) error {
	var e pagerDuty
	if err := strict(body, &e); err != nil {
		return err
	}
	switch {
	case e.RoutingKey != routingKey, e.DedupKey == "", len(e.DedupKey) > 255:
		return errors.New("a key is wrong")
	case e.EventAction == "resolve":
		return nil
	case e.EventAction != "trigger", e.Payload == nil, e.Payload.Summary == "", len([]rune(e.Payload.Summary)) > 1024,
		e.Payload.Source == "", e.Payload.Severity != "error":
		return errors.New("the payload is wrong")
	}
	_, err := time.Parse(time.RFC3339, e.Payload.Timestamp)
	return err
}

var labelName = regexp.MustCompile(`^[a-zA-Z_][a-zA-Z0-9_]*$`)

// checkAlerts checks the rules of Alertmanager's API v2.
func checkAlerts(r *http.Request, body []byte) error {
	var all []alert
	if err := strict(body, &all); err != nil {
		return err
	}
	if r.URL.Path != "/hook/api/v2/alerts" || len(all) == 0 {
		return fmt.Errorf("%d alerts for %s", len(all), r.URL.Path)
	}
	for _, a := range all {
		starts, err := time.Parse(time.RFC3339, a.StartsAt)
		ends, err2 := time.Parse(time.RFC3339, a.EndsAt)
		if err := errors.Join(err, err2); err != nil {
			return err
		}
		if a.Labels["alertname"] == "" || ends.Before(starts) {
			return errors.New("no name, or the end is before the start")
		}
		for name, value := range a.Labels {
			if !labelName.MatchString(name) || value == "" {
				return fmt.Errorf("label %s=%s", name, value)
			}
		}
	}
	return nil
}

// TestReceivers delivers over HTTP to receivers that check each request.
func TestReceivers(t *testing.T) {
	key := filepath.Join(t.TempDir(), "key")
	must(t, os.WriteFile(key, []byte(routingKey+"\n"), 0o600))
	for format, check := range map[Format]func(*http.Request, []byte) error{
		CloudEvents: checkEvent, Slack: checkSlack, PagerDuty: checkPagerDuty, Alertmanager: checkAlerts,
	} {
		t.Run(string(format), func(t *testing.T) {
			var mu sync.Mutex
			var resolved bool
			done := make(chan struct{})
			server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				var body bytes.Buffer
				_, err := body.ReadFrom(r.Body)
				if err := errors.Join(err, check(r, body.Bytes())); err != nil || r.Method != http.MethodPost {
					t.Errorf("%s: %v\n%s", r.Method, err, &body)
					w.WriteHeader(http.StatusBadRequest)
				}
				mu.Lock()
				defer mu.Unlock()
				end := regexp.MustCompile(`"p1/resolved"|"Resolved: |"resolve"|"endsAt":"` + stamp(at(200)) + `"`)
				if end.Match(body.Bytes()) && !resolved {
					resolved = true
					close(done)
				}
			}))
			defer server.Close()
			p := example()
			p.ID = "p1"
			b := pending(t, p)
			b.Look(at(200), list(), nil, false)
			b.Stored()
			var log bytes.Buffer
			s := &Sender{
				Board: b, Name: "r", Format: format, URL: server.URL + "/hook", Cluster: "c1",
				Page: "https://lifeline.example", Leads: func() bool { return true },
				Log: slog.New(slog.NewTextHandler(&log, nil)),
			}
			if format == PagerDuty {
				s.TokenFile = key
			}
			transport := &http.Transport{}
			defer transport.CloseIdleConnections()
			s.client.Transport = transport
			ctx, cancel := context.WithCancel(t.Context())
			var running sync.WaitGroup
			running.Go(func() { s.Run(ctx) })
			<-done
			cancel()
			running.Wait()
			if got := s.Stats(); got.Sent[Started] != 1 || got.Refused+got.Failures != 0 {
				t.Errorf("got %+v", got)
			}
			if strings.Contains(log.String(), routingKey) || strings.Contains(log.String(), "/hook") {
				t.Errorf("the log has a secret: %s", &log)
			}
		})
	}
}
