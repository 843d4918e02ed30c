// SPDX-License-Identifier: Apache-2.0

package client

import (
	"context"
	"iter"
	"net/url"
	"strconv"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/api"
)

// Question selects lifecycles. A zero field selects all.
type Question struct {
	// Where is the condition, in CEL.
	Where string
	// Namespace is that of the object; empty selects all.
	Namespace string
	// Since and Until are as in Query, about the start of the lifecycle.
	Since, Until string
	// Sort is the duration or the count that orders lifecycles, the highest first, or with Reverse the lowest. Empty means
	// the latest start first.
	Sort    string
	Reverse bool
	// Limit and After are as in Query.
	Limit int
	After string
}

func (q Question) values() url.Values {
	v := url.Values{}
	set(v, "where", q.Where)
	set(v, "namespace", q.Namespace)
	set(v, "since", q.Since)
	set(v, "until", q.Until)
	set(v, "sort", q.Sort)
	if q.Reverse {
		v.Set("reverse", "true")
	}
	set(v, "after", q.After)
	if q.Limit != 0 {
		v.Set("limit", strconv.Itoa(q.Limit))
	}
	return v
}

// Find returns one page of lifecycles.
func (c *Client) Find(ctx context.Context, q Question) (*api.LifecyclePage, error) {
	out := &api.LifecyclePage{}
	return out, c.json(ctx, "lifecycles", q.values(), out)
}

// FindPages walks all pages of Find; an error ends it.
func (c *Client) FindPages(ctx context.Context, q Question) iter.Seq2[*api.LifecyclePage, error] {
	return func(yield func(*api.LifecyclePage, error) bool) {
		for {
			page, err := c.Find(ctx, q)
			if !yield(page, err) || err != nil || page.Next == "" || page.Next == q.After {
				return
			}
			q.After = page.Next
		}
	}
}

// Grouping asks for statistics. Limit, After and Reverse of the question do not count. Its Sort is "count", or a quantile
// as in "p95"; empty means the newest period first, then the largest group.
type Grouping struct {
	Question
	// By are the keys of the groups: see store.ParseBy. Without any, all are one group.
	By []string
	// Of is the duration that Quantiles are of; empty means "duration". Quantiles are numbers from 0 to
	// 1.
	Of        string
	Quantiles []string
	// Zone is the time zone of periods; empty means UTC.
	Zone string
}

// Groups returns the groups.
func (c *Client) Groups(ctx context.Context, g Grouping) (*api.GroupPage, error) {
	g.Limit, g.After, g.Reverse = 0, "", false
	v := g.values()
	v["by"] = g.By
	set(v, "of", g.Of)
	set(v, "quantiles", strings.Join(g.Quantiles, ","))
	set(v, "tz", g.Zone)
	out := &api.GroupPage{}
	return out, c.json(ctx, "groups", v, out)
}
