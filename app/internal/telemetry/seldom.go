// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"context"
	"log/slog"
	"strings"
	"sync"
	"time"
)

// Seldom logs what others may cause as often as they like: one line of a message,
// and then no more of it for Pause; the next line says how many were left out. Set
// the fields before its use. It is safe for concurrent use.
type Seldom struct {
	Log *slog.Logger
	// Pause is a minute if it is 0.
	Pause time.Duration

	mu   sync.Mutex
	said map[string]*saying
}

// saying is one message.
type saying struct {
	at   time.Time
	left int
}

// Say logs a message with its attributes, or counts it. Messages are few, and
// never hold what somebody else says: that is for attributes.
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

// next reports whether the message may be logged now, and how many were not.
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

// Writer returns an io.Writer each of whose writes is a warning: for a log.Logger
// that tells of what clients do.
func (s *Seldom) Writer(message string) SeldomWriter { return SeldomWriter{s, message} }

// SeldomWriter is what Writer returns.
type SeldomWriter struct {
	seldom  *Seldom
	message string
}

// Write implements io.Writer.
func (w SeldomWriter) Write(p []byte) (int, error) {
	w.seldom.Say(slog.LevelWarn, w.message, slog.String("error", oneLine(strings.TrimSpace(string(p)))))
	return len(p), nil
}
