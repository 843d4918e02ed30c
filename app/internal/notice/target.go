// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"errors"
	"fmt"
	"net/netip"
	"net/url"
	"os"
	"strings"
)

// target returns the URL and the token of a receiver. Files are read for each request. No error has their
// content.
func (s *Sender) target() (to, token string, err error) {
	to = s.URL
	if s.URLFile != "" {
		if to, err = secret(s.URLFile); err != nil {
			return "", "", fmt.Errorf("cannot read urlFile: %w", err)
		}
	}
	if to == "" && s.Format == PagerDuty {
		to = PagerDutyURL
	}
	u, err := url.Parse(to)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" {
		return "", "", errors.New("the receiver has no URL with http or https")
	}
	if s.TokenFile != "" {
		if u.Scheme != "https" && !loopback(u.Hostname()) {
			return "", "", errors.New("a token needs a URL with https, or a loopback address")
		}
		if token, err = secret(s.TokenFile); err != nil {
			return "", "", fmt.Errorf("cannot read tokenFile: %w", err)
		}
	}
	if s.Format == Alertmanager {
		u = u.JoinPath(alertsPath)
	}
	return u.String(), token, nil
}

func secret(file string) (string, error) {
	data, err := os.ReadFile(file)
	return strings.TrimSpace(string(data)), err
}

func loopback(host string) bool {
	ip, _ := netip.ParseAddr(host)
	return host == "localhost" || ip.IsLoopback()
}

// Redacted returns the scheme and the host of a receiver. The rest of its URL may be a secret.
func Redacted(webhook string) string {
	u, err := url.Parse(webhook)
	if err != nil || u.Host == "" {
		return "…"
	}
	return u.Scheme + "://" + u.Host + "/…"
}

// redacted returns the error of a request without its URL.
func redacted(err error) error {
	var of *url.Error
	if errors.As(err, &of) {
		err = of.Err
	}
	return err
}
