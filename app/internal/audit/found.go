// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"cmp"
	"slices"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
)

// IsComponent reports whether the user is a component of Kubernetes.
func IsComponent(user string) bool {
	return strings.HasPrefix(user, "system:node:") || strings.HasPrefix(user, "system:kube-") ||
		strings.HasPrefix(user, "system:serviceaccount:kube-system:") || user == "system:apiserver"
}

// Find finds the requests behind the state that the first list showed, among those from before the end of that
// list: each certainly made the state or an earlier one. The writes of Kubernetes' components do not count: they
// are steps, and their cause may be older than the observer. An earlier request without a resourceVersion has no
// place among the others.
func (j *Joins) Find(t *history.Record, list []*observation.Write) {
	if len(t.Versions) == 0 || !t.Versions[0].Baseline || t.Folded {
		return
	}
	v := t.Versions[0]
	for _, q := range list {
		if !q.Unlisted || q.Failed() || Unnamed(q) || IsComponent(q.User) || !ChangesObject(q) || !made(v, q) ||
			j.has(q) {
			continue
		}
		how := byUID
		switch {
		case q.ResourceVersion > 0:
			how = byVersion
		case q.UID == "":
			how = byName
		}
		j.Found = append(j.Found, Joined{q, how})
	}
	slices.SortStableFunc(j.Found, func(a, b Joined) int {
		if a.ResourceVersion > 0 && b.ResourceVersion > 0 {
			return cmp.Compare(a.ResourceVersion, b.ResourceVersion)
		}
		return a.Start.Compare(b.Start)
	})
	if n := len(j.Found); n > 1 {
		last := j.Found[n-1].Write
		j.Found = slices.DeleteFunc(j.Found, func(q Joined) bool { return q.ResourceVersion == 0 && q.Write != last })
	}
}

// has reports whether the request is joined to a write.
func (j *Joins) has(q *observation.Write) bool {
	if j.Removal.Write == q || slices.ContainsFunc(j.Found, func(known Joined) bool { return known.Write == q }) {
		return true
	}
	for _, known := range j.Version {
		if known.Write == q {
			return true
		}
	}
	for _, known := range j.Missed {
		if known.Write == q {
			return true
		}
	}
	return false
}

// ChangesObject reports whether the request may have changed the desired state or the metadata.
func ChangesObject(q *observation.Write) bool { return q.Subresource == "" || q.Subresource == "scale" }

// made reports whether the request made the state v or an earlier one: by the version in its response, or by the
// object's own data.
func made(v *history.Version, q *observation.Write) bool {
	begin, end := q.Start.Add(-second-Skew), q.End.Add(Skew)
	verb := history.RequestVerb(q)
	switch {
	case q.Start.After(v.Seen.Add(Skew)):
		return false
	case verb == history.Deleted:
		at := (&Slot{Version: v, prev: &history.Version{Intent: &history.Intent{Leave: &history.Leave{}}}}).deleted()
		return !at.IsZero() && !at.Before(begin) && !at.After(end)
	case !v.Deleting.IsZero():
		return false
	case q.ResourceVersion > 0:
		return q.ResourceVersion <= v.ObjectVersion()
	case verb == history.Created:
		return !v.Created.Before(begin) && !v.Created.After(end)
	}
	for _, m := range v.Managers {
		if m.Name == q.Manager && m.Subresource == q.Subresource &&
			(m.Time.IsZero() || !m.Time.Before(begin) && !m.Time.After(end)) {
			return true
		}
	}
	return false
}
