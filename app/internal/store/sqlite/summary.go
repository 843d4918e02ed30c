// SPDX-License-Identifier: Apache-2.0

package sqlite

import (
	"context"
	"encoding/json"
	"strings"
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/database"
	"github.com/kube-lifeline/lifeline/app/internal/rights"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/store"
)

// summaryColumns are the columns of a trace for its Summary, except for those that change alone.
var summaryColumns = []string{
	"id", "revision", "as_of", "start", "duration", "outcome", "was", "settled", "reason", "name",
	"api_group", "api_version", "kind", "namespace", "object_name", "uid",
	"verb", "command", "actor", "user", "heals", "slowest", "slowest_duration", "stuck", "current",
	"current_duration", "fight", "edits", "category", "work", "earliest", "aftermath",
}

var (
	selectSummary = "SELECT num, spans, pinned, " + strings.Join(summaryColumns, ", ") + " FROM traces"
	upsertSummary = "INSERT INTO traces (num, phase, spans, writes, digest, sole, mentions, " +
		strings.Join(summaryColumns, ", ") + ") VALUES (" + params(7+len(summaryColumns)) +
		") ON CONFLICT (num) DO UPDATE SET phase = excluded.phase, spans = excluded.spans, writes = excluded.writes, " +
		"digest = excluded.digest, sole = excluded.sole, mentions = excluded.mentions, " + setSummary()
)

func setSummary() string {
	set := make([]string, len(summaryColumns))
	for i, name := range summaryColumns {
		set[i] = name + " = excluded." + name
	}
	return strings.Join(set, ", ")
}

// finish stores the finished trace itself, after its spans.
func (c *content) finish(ctx context.Context, sum *store.Summary, h *head) error {
	sole, mentions := c.objects()
	return c.Exec(
		ctx,
		upsertSummary,
		h.num,
		finished,
		len(c.of),
		c.rows.nextWrite,
		h.digest(sum.ID, int64(len(c.of))),
		sole,
		mentions,
		sum.ID[:],
		sum.Revision,
		nanos(sum.AsOf),
		nanos(sum.Start),
		int64(sum.Duration),
		text(string(sum.Outcome)),
		text(string(sum.Was)),
		optional(sum.SettledAt),
		text(sum.Reason),
		text(sum.Name),
		text(sum.Object.Group),
		text(sum.Object.Version),
		text(sum.Object.Kind.Kind),
		text(sum.Object.Namespace),
		text(sum.Object.Name),
		text(string(sum.Object.UID)),
		text(sum.Verb),
		text(sum.Command),
		text(sum.Actor),
		text(sum.User),
		text(sum.Heals),
		text(sum.Slowest),
		int64(sum.SlowestDuration),
		sum.Stuck,
		text(sum.Current),
		int64(sum.CurrentDuration),
		text(sum.Fight),
		text(strings.Join(sum.Edits, "\n")),
		text(sum.Category),
		encodeWork(sum.Work),
		optional(sum.Earliest),
		encodeAftermath(sum.Aftermath),
	)
}

// objects returns what the objects of a trace, with its amendments, mean for scopes: the columns sole and mentions.
func (c *content) objects() (sole any, mentions bool) {
	t := &span.Trace{ID: c.id, Spans: c.all(true)}
	if namespace, is := store.Sole(t); is {
		sole = text(namespace)
	}
	return sole, len(rights.Mentioned(t)) > 0
}

// optional returns the column of a time that may be zero.
func optional(at time.Time) int64 {
	if at.IsZero() {
		return 0
	}
	return nanos(at)
}

// knownMoment is the inverse of optional.
func knownMoment(at int64) time.Time {
	if at == 0 {
		return time.Time{}
	}
	return moment(at)
}

// summaries reads the rows of selectSummary, and the traces' numbers.
func summaries(
	ctx context.Context, from database.Querier, where string, args []any,
) (out []store.Summary, nums []int64, err error) {
	var num, at, asOf, settledAt, earliestAt int64
	var id []byte
	var edits string
	var work, aftermath []byte
	var sum store.Summary
	err = database.Scan(ctx, from, selectSummary+where, args, []any{
		&num,
		&sum.Spans,
		&sum.Pinned,
		&id,
		&sum.Revision,
		&asOf,
		&at,
		(*int64)(&sum.Duration),
		&sum.Outcome,
		&sum.Was,
		&settledAt,
		&sum.Reason,
		&sum.Name,
		&sum.Object.Group,
		&sum.Object.Version,
		&sum.Object.Kind.Kind,
		&sum.Object.Namespace,
		&sum.Object.Name,
		&sum.Object.UID,
		&sum.Verb,
		&sum.Command,
		&sum.Actor,
		&sum.User,
		&sum.Heals,
		&sum.Slowest,
		(*int64)(&sum.SlowestDuration),
		&sum.Stuck,
		&sum.Current,
		(*int64)(&sum.CurrentDuration),
		&sum.Fight,
		&edits,
		&sum.Category,
		&work,
		&earliestAt,
		&aftermath,
	}, func() error {
		sum.Edits = nil
		if edits != "" {
			sum.Edits = strings.Split(edits, "\n")
		}
		sum.Work, sum.Aftermath = decodeWork(work), decodeAftermath(aftermath)
		sum.ID = traceID(id)
		sum.Start, sum.AsOf = moment(at), moment(asOf)
		sum.SettledAt, sum.Earliest = knownMoment(settledAt), knownMoment(earliestAt)
		out, nums = append(out, sum), append(nums, num)
		return nil
	})
	return out, nums, err
}

// encodeAftermath returns the column of an aftermath: JSON, or NULL without one.
func encodeAftermath(a *span.Aftermath) any {
	if a == nil {
		return nil
	}
	data, err := json.Marshal(a)
	if err != nil { // a time outside of the years of JSON: the spans have the facts
		return nil
	}
	return string(data)
}

// decodeAftermath is the inverse of encodeAftermath.
func decodeAftermath(data []byte) *span.Aftermath {
	var a span.Aftermath
	if len(data) == 0 || json.Unmarshal(data, &a) != nil {
		return nil
	}
	return &a
}
