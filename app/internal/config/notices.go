// SPDX-License-Identifier: Apache-2.0

package config

import (
	"net"
	"net/url"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// The formats of notices.
const (
	NoticesCloudEvents  = "cloudevents"
	NoticesSlack        = "slack"
	NoticesPagerDuty    = "pagerduty"
	NoticesAlertmanager = "alertmanager"
)

// The types of notices.
const (
	NoticeProblemStarted  = "problem.started"
	NoticeProblemChanged  = "problem.changed"
	NoticeProblemResolved = "problem.resolved"
	NoticeChangeFailed    = "change.failed"
	NoticeChangeWorse     = "change.worse"

	NoticeRegressionStarted = "regression.started"
	NoticeRegressionEnded   = "regression.ended"
)

// NoticesConfiguration is the section `notices`.
type NoticesConfiguration struct {
	// How long a problem lasts before its notice, from `1s` to `168h`.
	After metav1.Duration `json:"after"`

	// The URL of the page, such as `https://lifeline.example`: notices have a link to the cause. Empty means
	// no link.
	Page string `json:"page"`

	// The receivers, at most 16.
	Receivers []NoticeReceiverConfiguration `json:"receivers"`
}

// NoticeReceiverConfiguration is an element of the list `notices.receivers`.
type NoticeReceiverConfiguration struct {
	// The unique name, a DNS label: it is in the log, in metrics, and in the saved state. Under a new name,
	// a receiver gets a notice of each present problem.
	Name string `json:"name"`

	// `cloudevents`, `slack` (an incoming webhook), `pagerduty` (Events API v2) or `alertmanager` (API v2).
	Format string `json:"format"`

	// The URL, with http or https. Its path and query may be secret: they appear in no log and in no answer of
	// the API. For `alertmanager` it is the URL without `/api/v2/alerts`. For `pagerduty`, empty means
	// PagerDuty's own.
	URL string `json:"url"`

	// A file with the URL, in place of `url`.
	URLFile string `json:"urlFile"`

	// A file with a bearer token, or for `pagerduty` with the routing key, which is required there. It needs
	// https, or a receiver on the same machine. `slack` has none.
	TokenFile string `json:"tokenFile"`

	// The types of notices: `problem.started`, `problem.resolved`, `problem.changed`, `change.failed`,
	// `change.worse`, `regression.started` and `regression.ended`. Those of changes are for `cloudevents` and
	// `slack` only. Empty means `problem.started` and `problem.resolved`.
	Types []string `json:"types"`

	// The namespaces of the problems. Empty means all problems, also those of objects without a namespace.
	Namespaces []string `json:"namespaces"`

	// In place of `notices.after`; `0s` means that one.
	After metav1.Duration `json:"after"`
}

// maxNoticeReceivers bounds the list `notices.receivers`.
const maxNoticeReceivers = 16

// TypesOrDefault returns the types of the notices.
func (c *NoticeReceiverConfiguration) TypesOrDefault() []string {
	if len(c.Types) > 0 {
		return c.Types
	}
	return []string{NoticeProblemStarted, NoticeProblemResolved}
}

// AfterOrDefault returns the time that a problem lasts before its notice.
func (c *NoticeReceiverConfiguration) AfterOrDefault(all *NoticesConfiguration) time.Duration {
	if c.After.Duration > 0 {
		return c.After.Duration
	}
	return all.After.Duration
}

func (v *validator) notices(path *field.Path, c NoticesConfiguration) {
	v.noticeAfter(path.Child("after"), c.After)
	if c.Page != "" {
		u, err := url.Parse(c.Page)
		if err != nil || !web(u) || u.User != nil || u.RawQuery != "" || u.Fragment != "" {
			v.invalid(path.Child("page"), "…", "must be a URL with http or https, such as https://lifeline.example")
		}
	}
	at := path.Child("receivers")
	if len(c.Receivers) > maxNoticeReceivers {
		v.wrong = append(v.wrong, field.TooMany(at, len(c.Receivers), maxNoticeReceivers))
		return
	}
	names := map[string]bool{}
	for i, r := range c.Receivers {
		if names[r.Name] {
			v.wrong = append(v.wrong, field.Duplicate(at.Index(i).Child("name"), shorten(r.Name)))
		}
		names[r.Name] = true
		v.noticeReceiver(at.Index(i), &r)
	}
}

func (v *validator) noticeAfter(path *field.Path, d metav1.Duration) {
	if d.Duration < time.Second || d.Duration > 7*24*time.Hour {
		v.invalid(path, d.Duration.String(), "must be between 1s and 168h")
	}
}

func (v *validator) noticeReceiver(path *field.Path, c *NoticeReceiverConfiguration) {
	v.label(path.Child("name"), c.Name)
	v.oneOf(path.Child("format"), c.Format,
		NoticesCloudEvents, NoticesSlack, NoticesPagerDuty, NoticesAlertmanager)
	v.noticeURL(path, c)
	switch token := path.Child("tokenFile"); {
	case c.Format == NoticesPagerDuty && c.TokenFile == "":
		v.wrong = append(v.wrong, field.Required(token, "must be a file with the routing key"))
	case c.Format == NoticesSlack && c.TokenFile != "":
		v.wrong = append(v.wrong, field.Forbidden(token, "slack has no token: its URL is the secret"))
	}
	v.each(path.Child("types"), c.Types, func(at *field.Path, value string) {
		v.oneOf(at, value, NoticeProblemStarted, NoticeProblemResolved, NoticeProblemChanged, NoticeChangeFailed,
			NoticeChangeWorse, NoticeRegressionStarted, NoticeRegressionEnded)
		if (value == NoticeChangeFailed || value == NoticeChangeWorse) &&
			(c.Format == NoticesPagerDuty || c.Format == NoticesAlertmanager) {
			v.invalid(at, value, "must not be with format "+c.Format+": nothing would end its alert")
		}
	})
	if types := c.TypesOrDefault(); (c.Format == NoticesPagerDuty || c.Format == NoticesAlertmanager) &&
		!paired(types) {
		v.invalid(
			path.Child("types"),
			"…",
			"must have problem.started and problem.resolved, or regression.started and "+
				"regression.ended, with format "+c.Format+": an alert needs its end",
		)
	}
	v.each(path.Child("namespaces"), c.Namespaces, func(at *field.Path, value string) {
		if len(validation.IsDNS1123Label(value)) > 0 {
			v.invalid(at, value, "must be the name of a namespace")
		}
	})
	if c.After.Duration != 0 {
		v.noticeAfter(path.Child("after"), c.After)
	}
}

// paired reports whether types begin alerts, and end each of them.
func paired(types []string) bool {
	has := func(name string) bool { return slices.Contains(types, name) }
	problems := has(NoticeProblemStarted) && has(NoticeProblemResolved)
	regressions := has(NoticeRegressionStarted) && has(NoticeRegressionEnded)
	ofProblems := has(NoticeProblemStarted) || has(NoticeProblemResolved) || has(NoticeProblemChanged)
	ofRegressions := has(NoticeRegressionStarted) || has(NoticeRegressionEnded)
	return (problems || regressions) && problems == ofProblems && regressions == ofRegressions
}

// noticeURL checks the URL of a receiver. Errors do not repeat the value, because it may be a secret.
func (v *validator) noticeURL(path *field.Path, c *NoticeReceiverConfiguration) {
	at := path.Child("url")
	if c.URL == "" {
		if c.URLFile == "" && c.Format != NoticesPagerDuty {
			v.wrong = append(v.wrong, field.Required(at, "must be set, or urlFile"))
		}
		return
	}
	if c.URLFile != "" {
		v.wrong = append(v.wrong, field.Forbidden(path.Child("urlFile"), "must not be set where url is"))
	}
	u, err := url.Parse(c.URL)
	switch {
	case err != nil || !web(u):
		v.invalid(at, "…", "must be a URL with http or https, such as https://hooks.example/lifeline")
	case u.User != nil, u.Fragment != "":
		v.invalid(at, "…", "must not contain credentials or a fragment: a bearer token is in tokenFile")
	case c.TokenFile != "" && u.Scheme == "http" && !loopback(net.JoinHostPort(u.Hostname(), "0")):
		v.invalid(at, "…", "must have https, or a loopback address, where tokenFile is set")
	}
}

// web reports whether a URL has a host, and http or https.
func web(u *url.URL) bool { return (u.Scheme == "http" || u.Scheme == "https") && u.Hostname() != "" }
