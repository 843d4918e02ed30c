// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/go-logr/logr"
	"k8s.io/klog/v2"
)

// levels maps the names of levels in the configuration.
var levels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// NewLogger returns a logger to w. The level (debug, info, warn, error) and the format (text, json)
// are those of the configuration; empty means info and text. The LevelVar changes the level at run
// time. An error names the invalid argument. Writes to w come one at a time.
func NewLogger(w io.Writer, level, format string) (*slog.Logger, *slog.LevelVar, error) {
	at, err := ParseLevel(level)
	if err != nil {
		return nil, nil, err
	}
	var v slog.LevelVar
	v.Set(at)
	o := &slog.HandlerOptions{Level: &v}
	switch format {
	case "", "text":
		return slog.New(slog.NewTextHandler(w, o)), &v, nil
	case "json":
		return slog.New(slog.NewJSONHandler(w, o)), &v, nil
	}
	return nil, nil, fmt.Errorf("log.format %q is not known: use text or json", format)
}

// ParseLevel parses a level in the configuration; empty means info.
func ParseLevel(s string) (slog.Level, error) {
	if s == "" {
		return slog.LevelInfo, nil
	}
	if level, known := levels[strings.ToLower(s)]; known {
		return level, nil
	}
	return 0, fmt.Errorf("log.level %q is not known: use debug, info, warn or error", s)
}

// RouteKlog sends client-go's log to log, for the whole process. It drops details (verbosity above
// 0), as klog does by default. Call it once, before any logging.
func RouteKlog(log *slog.Logger) {
	klog.SetLoggerWithOptions(logr.FromSlogHandler(log.With("from", "client-go").Handler()),
		klog.ContextualLogger(true))
}
