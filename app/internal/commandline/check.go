// SPDX-License-Identifier: Apache-2.0

package commandline

import (
	"net/url"
	"regexp"
	"strings"
)

// check returns the harmless part of a value, or "" if there is none. A nil check hides everything.
type check func(value string) string

func shown(c check, value string) string {
	if c != nil {
		if s := c(value); s != "" {
			return s
		}
	}
	return Hidden
}

const maxWord = 253 // the longest name of a Kubernetes object

var (
	flagName = regexp.MustCompile(`^--[a-zA-Z][a-zA-Z0-9-]{0,62}$`)
	letter   = regexp.MustCompile(`^-[a-zA-Z]$`)
	// object matches names and kinds: web, deployment.v1.apps/web, pod/a,svc/b.
	object = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:,/-]*$`)
	// file matches paths. It excludes "=" and quotes, and therefore assignments.
	file      = regexp.MustCompile(`^[A-Za-z0-9._~/\\@+:-]+$`)
	reference = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/-]*(@[a-z0-9]+:[0-9a-f]+)?$`)
	amount    = regexp.MustCompile(`^-?[0-9]+(\.[0-9]+)?[A-Za-z%]{0,2}([0-9]+[a-z]{1,2})*$`)
	enum      = regexp.MustCompile(`^[a-zA-Z][a-zA-Z-]{0,31}$`)
	quantity  = regexp.MustCompile(`^[a-z0-9./-]+=[0-9.]+[A-Za-z]{0,2}(,[a-z0-9./-]+=[0-9.]+[A-Za-z]{0,2})*$`)
	goal      = regexp.MustCompile(`^(delete|create|condition=[A-Za-z]{1,63}(=(true|false|unknown))?)$`)
	variable  = regexp.MustCompile(`^[A-Za-z0-9_.\-/\[\]]+$`)
)

func matching(re *regexp.Regexp) check {
	return func(value string) string {
		if len(value) <= maxWord && re.MatchString(value) {
			return value
		}
		return ""
	}
}

var (
	name       = matching(object)
	image      = matching(reference)
	number     = matching(amount)
	word       = matching(enum)
	quantities = matching(quantity)
	condition  = matching(goal)
)

// path shows files and the host of a URL. The rest of a URL may be a token.
func path(value string) string {
	if strings.Contains(value, "://") {
		return host(value)
	}
	if strings.Contains(value, "@") && strings.Contains(value, ":") {
		return "" // possibly a user and a password
	}
	if len(value) <= 4096 && file.MatchString(value) {
		return value
	}
	return ""
}

func host(value string) string {
	u, err := url.Parse(value)
	if err != nil || u.Scheme == "" || u.Hostname() == "" || !file.MatchString(u.Host) {
		return ""
	}
	scheme, _, _ := strings.Cut(value, "://")
	short := scheme + "://" + u.Host
	if strings.TrimSuffix(value, "/") == short {
		return short
	}
	return short + "/" + Hidden
}

// key shows the name of an assignment. It does not mistake padded base64 for one.
func key(value string) string { return assignment(value, nil) }

func assignment(value string, c check) string {
	k, v, ok := strings.Cut(value, "=")
	if !ok || v == "" || v[0] == '=' || len(k) > maxWord || !variable.MatchString(k) {
		return ""
	}
	return k + "=" + shown(c, v)
}

// nameOrKey shows objects, and the names of assignments.
func nameOrKey(value string) string {
	if strings.Contains(value, "=") {
		return key(value)
	}
	return name(value)
}

// nameOrImage shows objects, and assignments of images.
func nameOrImage(value string) string {
	if strings.Contains(value, "=") {
		return assignment(value, image)
	}
	return name(value)
}

// keyedFile shows the value of --from-file: a path, or a key and a path.
func keyedFile(value string) string {
	if strings.Contains(value, "=") {
		return assignment(value, path)
	}
	return path(value)
}
