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

// levels and their names in the configuration.
var levels = map[string]slog.Level{
	"debug": slog.LevelDebug, "info": slog.LevelInfo, "warn": slog.LevelWarn, "error": slog.LevelError,
}

// NewLogger returns a logger to w, with level (debug, info, warn, error) and
// format (text, json) as the configuration has them; empty are info and text.
// The LevelVar changes the level while it runs. An error names what is wrong.
// Writes to w come one at a time.
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

// ParseLevel reads a level as the configuration has it; empty is info.
func ParseLevel(s string) (slog.Level, error) {
	if s == "" {
		return slog.LevelInfo, nil
	}
	if level, known := levels[strings.ToLower(s)]; known {
		return level, nil
	}
	return 0, fmt.Errorf("log.level %q is not known: use debug, info, warn or error", s)
}

// RouteKlog sends what client-go logs to log, for the whole process. Its details
// (verbosity above 0) are dropped, as klog does by default. Call it once, before
// anything logs.
func RouteKlog(log *slog.Logger) {
	klog.SetLoggerWithOptions(logr.FromSlogHandler(log.With("from", "client-go").Handler()),
		klog.ContextualLogger(true))
}
