// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Seldom limits log messages that clients can cause at any rate. It logs a message once per Pause;
// the next line has the number of suppressed ones. Set the fields before use. It is safe for
// concurrent use.
type Seldom struct {
	Log *slog.Logger
	// Pause defaults to a minute.
	Pause time.Duration

	mu   sync.Mutex
	said map[string]*saying
}

// saying is the state of one message.
type saying struct {
	at   time.Time
	left int
}

// Say logs a message with its attributes, or counts it. Use few messages; untrusted text belongs in
// attributes.
func (s *Seldom) Say(level slog.Level, message string, attrs ...slog.Attr) {
	left, ok := s.next(message, time.Now())
	if !ok {
		return
	}
	if left > 0 {
		attrs = append(attrs, slog.Int("leftOut", left))
	}
	s.Log.LogAttrs(context.Background(), level, message, attrs...)
}

// next reports whether the message may be logged now, and the number of suppressed ones.
func (s *Seldom) next(message string, now time.Time) (left int, ok bool) {
	pause := s.Pause
	if pause <= 0 {
		pause = time.Minute
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.said == nil {
		s.said = map[string]*saying{}
	}
	last := s.said[message]
	if last != nil && now.Sub(last.at) < pause {
		last.left++
		return 0, false
	}
	if last != nil {
		left = last.left
	}
	s.said[message] = &saying{at: now}
	return left, true
}

// Writer returns an io.Writer that logs each write as a warning, for a log.Logger about clients'
// errors.
func (s *Seldom) Writer(message string) SeldomWriter { return SeldomWriter{s, message} }

// SeldomWriter is the result of Writer.
type SeldomWriter struct {
	seldom  *Seldom
	message string
}

// Write implements io.Writer.
func (w SeldomWriter) Write(p []byte) (int, error) {
	w.seldom.Say(slog.LevelWarn, w.message, slog.String("error", oneLine(strings.TrimSpace(string(p)))))
	return len(p), nil
}
