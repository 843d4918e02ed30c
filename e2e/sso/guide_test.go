// SPDX-License-Identifier: Apache-2.0

package sso

import (
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/yaml"

	"github.com/kube-lifeline/lifeline/e2e/internal/harness"
)

// guide is the page whose blocks these tests run, with other addresses.
const guide = "../../docs/guides/sso.md"

// The addresses of the guide.
const (
	guideIssuer   = "https://sso.example.com"
	guidePage     = "https://lifeline.example.com"
	guideUpstream = "https://lifeline.lifeline.svc:7070"
)

// block returns the block of the guide that begins with the name of a file.
func block(file string) (string, error) {
	text, err := os.ReadFile(guide)
	if err != nil {
		return "", err
	}
	_, from, found := strings.Cut(string(text), "```yaml\n# "+file)
	out, _, ended := strings.Cut(from, "```\n")
	if !found || !ended {
		return "", fmt.Errorf("%s has no %s", guide, file)
	}
	return "# " + file + out, nil
}

// authentication returns the API server's configuration, with the address of an issuer and its authority.
func authentication(issuer, authority string) (string, error) {
	text, err := block("authentication.yaml")
	const audiences = "audiences: [" + kubectlClient + "]\n"
	if err == nil && (!strings.Contains(text, guideIssuer) || !strings.Contains(text, audiences)) {
		err = fmt.Errorf("%s has another issuer or audience", guide)
	}
	return strings.NewReplacer(guideIssuer, issuer,
		audiences, audiences+"      certificateAuthority: "+strconv.Quote(authority)+"\n").Replace(text), err
}

// values returns the section api.authentication of the chart's values, with the address of an issuer and the file of
// its authority.
func values(t *testing.T, issuer, authority string) string {
	t.Helper()
	text, err := block("lifeline.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var of struct {
		Config struct {
			API struct {
				Authentication struct {
					OIDC []map[string]string `json:"oidc"`
				} `json:"authentication"`
			} `json:"api"`
		} `json:"config"`
	}
	if err := yaml.Unmarshal([]byte(text), &of); err != nil {
		t.Fatal(err)
	}
	all := of.Config.API.Authentication.OIDC
	if len(all) != 1 || all[0]["issuer"] != guideIssuer || all[0]["clientID"] != pageClient {
		t.Fatalf("%s has the issuers %v", guide, all)
	}
	all[0]["issuer"], all[0]["caFile"] = issuer, authority
	section, err := json.Marshal(map[string]any{"oidc": all})
	if err != nil {
		t.Fatal(err)
	}
	return string(section)
}

// arguments returns those of oauth2-proxy, with other addresses, and files of authorities for its provider and its
// upstream.
func arguments(t *testing.T, address, upstream string, authorities ...string) []string {
	t.Helper()
	text, err := block("oauth2-proxy.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var of appsv1.Deployment
	first, _, _ := strings.Cut(text, "\n---\n")
	if err := yaml.Unmarshal([]byte(first), &of); err != nil {
		t.Fatal(err)
	}
	var out []string
	changed := 0
	for _, arg := range of.Spec.Template.Spec.Containers[0].Args {
		name, value, _ := strings.Cut(arg, "=")
		switch {
		case name == "--http-address":
			arg = name + "=" + address
		case name == "--provider-ca-file":
			arg = name + "=" + authorities[0]
		case name == "--oidc-issuer-url" && value == guideIssuer:
			arg = name + "=" + provider.URL()
		case name == "--redirect-url" && value == guidePage+"/oauth2/callback":
			arg = name + "=http://" + address + "/oauth2/callback"
		case name == "--upstream" && value == guideUpstream:
			arg = name + "=" + upstream
		default:
			changed--
		}
		changed++
		out = append(out, arg)
	}
	if changed != 5 {
		t.Fatalf("%s has other addresses: %q", guide, out)
	}
	for _, file := range authorities[1:] {
		out = append(out, "--provider-ca-file="+file)
	}
	return append(out, "--cookie-secure=false") // the browser has no TLS to it
}

// TestManifests: the API server accepts the manifests of the guide, without unknown fields.
func TestManifests(t *testing.T) {
	harness.Slow(t)
	bench.MustKubectl(t, "", "create", "namespace", "lifeline")
	for _, file := range []string{"oauth2-proxy.yaml", "ingress.yaml"} {
		text, err := block(file)
		if err != nil {
			t.Fatal(err)
		}
		bench.MustKubectl(t, text, "apply", "--dry-run=server", "--validate=strict", "-f", "-")
	}
}
