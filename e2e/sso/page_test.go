// SPDX-License-Identifier: Apache-2.0

package sso

import (
	"bytes"
	"cmp"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
	"github.com/kube-lifeline/lifeline/e2e/internal/program"
	"github.com/kube-lifeline/lifeline/e2e/sso/internal/oauth2proxy"
)

// picturesVariable names the directory of the screenshots. Unset, they go with the test.
const picturesVariable = "LIFELINE_SSO_PICTURES"

// checkPages opens the page of a server in a browser as each person, behind oauth2-proxy, and the same change.
func checkPages(t *testing.T, s *harness.Server, authority, address string) {
	t.Helper()
	path, err := oauth2proxy.Build(t.Context(), t.Logf)
	if err != nil {
		t.Fatal(err)
	}
	program.Run(t, program.Call{
		Path: path,
		Args: arguments(t, address, "https://"+s.APIAddress(), provider.CAFile, authority),
		Env: []string{
			"OAUTH2_PROXY_CLIENT_SECRET=" + pageSecret,
			"OAUTH2_PROXY_COOKIE_SECRET=0123456789abcdef0123456789abcdef",
		},
	})
	harness.Eventually(t, "oauth2-proxy answering", func() bool {
		code, _, err := harness.Get(t.Context(), "http://"+address+"/ping")
		return err == nil && code == http.StatusOK
	})
	needsBrowser(t)
	pictures := cmp.Or(os.Getenv(picturesVariable), t.TempDir())
	for person := range people {
		seen := browse(t, visit{
			URL: "http://" + address, User: person, Password: password, Trace: traceID,
			Picture: filepath.Join(pictures, person+".png"),
		})
		check(t, person, "the list", seen.List, true)
		check(t, person, "the trace", seen.Trace, false)
		check(t, person, "the page of the trace", seen.Text, false)
		if info, err := os.Stat(filepath.Join(pictures, person+".png")); err != nil || info.Size() < 10_000 {
			t.Errorf("%s: no screenshot: %v", person, err)
		}
	}
}

// visit is one login and a look at the change.
type visit struct {
	URL      string `json:"url"`
	User     string `json:"user"`
	Password string `json:"password"`
	Trace    string `json:"trace"`
	Picture  string `json:"picture"`
}

// seen is what the browser got: answers of the API, and the text on the page of the trace.
type seen struct {
	List, Trace, Text string
}

// web has the driver of the browser.
const web = "../../web"

// needsBrowser skips the rest of a test without Node, the driver or Chromium.
func needsBrowser(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip("SKIP: the page in a browser: there is no Node (20.19 or 22.12)")
	}
	if _, err := os.Stat(filepath.Join(web, "node_modules", "playwright-core")); err != nil {
		t.Skip("SKIP: the page in a browser: there is no driver (cd web && npm ci)")
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if _, err := exec.LookPath(name); err == nil || os.Getenv("CHROMIUM") != "" {
			return
		}
	}
	t.Skip("SKIP: the page in a browser: there is no Chromium (apt-get install chromium)")
}

// browse logs a person in with a new browser, and returns what it shows.
func browse(t *testing.T, v visit) seen {
	t.Helper()
	asked, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	var out, complaint bytes.Buffer
	cmd := exec.CommandContext(t.Context(), "node", "test/sso.mjs")
	cmd.Dir, cmd.Stdout, cmd.Stderr = web, &out, &complaint
	cmd.Env = append(os.Environ(), "LIFELINE_SSO="+string(asked))
	if err := cmd.Run(); err != nil {
		t.Fatalf("the browser of %s: %v\n%s", v.User, err, strings.TrimSpace(complaint.String()))
	}
	var got seen
	if err := json.Unmarshal(out.Bytes(), &got); err != nil {
		t.Fatalf("the browser of %s printed %.200s: %v", v.User, out.String(), err)
	}
	return got
}
