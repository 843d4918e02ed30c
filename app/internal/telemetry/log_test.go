// SPDX-License-Identifier: Apache-2.0

package telemetry

import (
	"bytes"
	"encoding/json"
	"errors"
	"log/slog"
	"strings"
	"testing"

	"k8s.io/klog/v2"
)

func TestNewLogger(t *testing.T) {
	cases := map[string]struct{ reason, level, format, wrong string }{
		"defaults": {"empty is info and text", "", "", ""},
		"json":     {"for machines", "debug", "json", ""},
		"case":     {"people write levels in capitals, too", "WARN", "text", ""},
		"level": {
			"the field is named, and what is known", "loud", "",
			`log.level "loud" is not known: use debug, info, warn or error`,
		},
		"format": {
			"the field is named, and what is known", "", "xml", `log.format "xml" is not known: use text or json`,
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Log(tc.reason)
			_, _, err := NewLogger(&bytes.Buffer{}, tc.level, tc.format)
			if got := errorText(err); got != tc.wrong {
				t.Errorf("got %q, want %q", got, tc.wrong)
			}
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestLevelChangesWhileRunning(t *testing.T) {
	var out bytes.Buffer
	log, level, err := NewLogger(&out, "warn", "json")
	if err != nil {
		t.Fatal(err)
	}
	log.Info("not yet")
	level.Set(slog.LevelDebug)
	log.With("n", 1).Debug("now", "text", "a\nb")
	var got map[string]any
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("%q: %v", out.String(), err)
	}
	if got["msg"] != "now" || got["n"] != 1.0 || got["text"] != "a\nb" {
		t.Errorf("got %v", got)
	}
}

func TestRouteKlog(t *testing.T) {
	var out bytes.Buffer
	log, _, err := NewLogger(&out, "info", "text")
	if err != nil {
		t.Fatal(err)
	}
	RouteKlog(log)
	defer klog.ClearLogger()
	klog.Warningf("watch of %s ended", "pods")
	klog.ErrorS(errors.New("forbidden"), "cannot list", "resource", "secrets")
	klog.V(4).Info("a detail")
	klog.Flush()
	for _, want := range []string{
		"watch of pods ended", "from=client-go", `msg="cannot list"`, "resource=secrets", "level=ERROR", "forbidden",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %q in:\n%s", want, out.String())
		}
	}
	if strings.Contains(out.String(), "a detail") {
		t.Errorf("details are told: %s", out.String())
	}
}
