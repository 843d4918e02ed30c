// SPDX-License-Identifier: Apache-2.0

package config

import (
	"net"
	"net/url"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// NoticesConfiguration is the section `notices`.
type NoticesConfiguration struct {
	// The webhook that gets each notice: a URL with http or https. Its path and query may be secret: they
	// appear in no log and in no answer of the API. Empty means none.
	URL string `json:"url"`

	// A file with a bearer token for the webhook. It needs https, or a webhook on the same machine.
	TokenFile string `json:"tokenFile"`

	// How long a change may have a [reason](reasons.md) before it counts as stuck, from `1s` to
	// `168h`.
	StuckAfter metav1.Duration `json:"stuckAfter"`
}

func (v *validator) notices(path *field.Path, c NoticesConfiguration) {
	if c.StuckAfter.Duration < time.Second || c.StuckAfter.Duration > 7*24*time.Hour {
		v.invalid(path.Child("stuckAfter"), c.StuckAfter.Duration.String(), "must be between 1s and 168h")
	}
	if c.URL == "" {
		if c.TokenFile != "" {
			v.wrong = append(v.wrong, field.Required(path.Child("url"), "must be set where tokenFile is"))
		}
		return
	}
	u, err := url.Parse(c.URL)
	switch {
	case err != nil, u.Scheme != "http" && u.Scheme != "https", u.Hostname() == "":
		v.invalid(path.Child("url"), "…", "must be a URL with http or https, such as https://hooks.example/lifeline")
	case u.User != nil, u.Fragment != "":
		v.invalid(path.Child("url"), "…", "must not contain credentials or a fragment: a bearer token is in tokenFile")
	case c.TokenFile != "" && u.Scheme == "http" && !loopback(net.JoinHostPort(u.Hostname(), "0")):
		v.invalid(path.Child("url"), "…", "must have https, or a loopback address, where tokenFile is set")
	}
}
