// SPDX-License-Identifier: Apache-2.0

package httpserve_test

import (
	"log/slog"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/app/internal/httpserve"
	"github.com/kube-lifeline/lifeline/app/internal/httpserve/httpservetest"
)

const goodToken, nextToken = "0123456789abcdef", "fedcba9876543210-fedcba"

func with(authorization string) *http.Request {
	r := &http.Request{Header: http.Header{}}
	if authorization != "" {
		r.Header.Set("Authorization", authorization)
	}
	return r
}

func TestToken(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	httpservetest.Write(t, file, []byte(goodToken+"\n"))
	token, err := httpserve.Endpoint{Address: "127.0.0.1:0", TokenFile: file}.Token(httpserve.Purpose{Name: "spans"})
	if err != nil {
		t.Fatal(err)
	}
	for name, tc := range map[string]struct {
		authorization string
		in            bool
	}{
		"right":        {"Bearer " + goodToken, true},
		"small scheme": {"bearer " + goodToken, true},
		"none":         {"", false},
		"wrong":        {"Bearer " + nextToken, false},
		"shorter":      {"Bearer " + goodToken[:15], false},
		"longer":       {"Bearer " + goodToken + "0", false},
		"no scheme":    {goodToken, false},
		"other scheme": {"Basic " + goodToken, false},
		"only scheme":  {"Bearer", false},
	} {
		t.Run(name, func(t *testing.T) {
			if token.Admits(with(tc.authorization)) != tc.in {
				t.Errorf("admitted: %t", !tc.in)
			}
		})
	}
	open, err := httpserve.Endpoint{Address: "127.0.0.1:0"}.Token(httpserve.Purpose{Name: "spans"})
	if err != nil || !open.Admits(with("")) {
		t.Errorf("without a token file, a request is refused, or there is an error: %v", err)
	}
}

// TestTokenRenewed: the next request uses the changed file. An unusable file leaves the last token
// valid.
func TestTokenRenewed(t *testing.T) {
	file := filepath.Join(t.TempDir(), "token")
	httpservetest.Write(t, file, []byte(goodToken))
	var log logged
	token, err := httpserve.Endpoint{
		TokenFile: file,
	}.Token(httpserve.Purpose{Name: "spans", Log: slog.New(slog.NewTextHandler(&log, nil))})
	if err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name      string
		change    func()
		old, next bool
		warnings  int
	}{
		{"first", func() {}, true, false, 0},
		{"renewed", func() { httpservetest.Write(t, file, []byte(nextToken)) }, false, true, 0},
		{"empty", func() { httpservetest.Write(t, file, nil) }, false, true, 1},
		{"removed", func() { _ = os.Remove(file) }, false, true, 2},
		{"restored", func() { httpservetest.Write(t, file, []byte(goodToken)) }, true, false, 2},
	} {
		step.change()
		for range 2 {
			if old, next := token.Admits(with("Bearer "+goodToken)), token.Admits(
				with("Bearer "+nextToken),
			); old != step.old ||
				next != step.next {
				t.Errorf("%s: the first token is admitted: %t, the next: %t", step.name, old, next)
			}
		}
		if got := strings.Count(log.String(), "the last one stays"); got != step.warnings {
			t.Errorf("%s: %d warnings, want %d:\n%s", step.name, got, step.warnings, log.String())
		}
	}
	if strings.Contains(log.String(), goodToken) || strings.Contains(log.String(), nextToken) {
		t.Errorf("the log contains a token:\n%s", log.String())
	}
}

func TestTokenFile(t *testing.T) {
	for name, tc := range map[string]struct {
		content string
		err     string
	}{
		"missing":     {"", "cannot listen for spans: cannot read the token file: open "},
		"empty":       {" \n", "it is empty"},
		"short":       {"0123456789abcde\n", "its token has 15 bytes, but at least 16 are required"},
		"two lines":   {goodToken + "\n" + nextToken, "must be one line of printable ASCII without spaces"},
		"binary":      {goodToken + "\x00", "must be one line"},
		"a directory": {"", "cannot read the token file"},
		"large":       {strings.Repeat("x", 5000), "it has more than 4096 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			file := filepath.Join(t.TempDir(), "token")
			switch name {
			case "missing":
			case "a directory":
				file = filepath.Dir(file)
			default:
				httpservetest.Write(t, file, []byte(tc.content))
			}
			_, err := httpserve.Endpoint{TokenFile: file}.Token(httpserve.Purpose{Name: "spans"})
			if err == nil || !strings.Contains(err.Error(), tc.err) || !strings.Contains(err.Error(), file) ||
				strings.Contains(err.Error(), goodToken) {
				t.Errorf("got %v, want %q and the file's name", err, tc.err)
			}
		})
	}
}

// TestPublicToken: a token file that every local user can read is logged.
func TestPublicToken(t *testing.T) {
	for mode, warned := range map[os.FileMode]bool{0o600: false, 0o640: false, 0o644: true} {
		file := filepath.Join(t.TempDir(), "token")
		httpservetest.Write(t, file, []byte(goodToken))
		if err := os.Chmod(file, mode); err != nil {
			t.Fatal(err)
		}
		var log logged
		if _, err := (httpserve.Endpoint{TokenFile: file}).Token(
			httpserve.Purpose{Name: "spans", Log: slog.New(slog.NewTextHandler(&log, nil))},
		); err != nil {
			t.Fatal(err)
		}
		if strings.Contains(log.String(), "can read the token") != warned {
			t.Errorf("mode %o: the log is %q", mode, log.String())
		}
	}
}
