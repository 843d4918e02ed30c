// SPDX-License-Identifier: Apache-2.0

package api

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/answer"
	"github.com/kube-lifeline/lifeline/app/internal/object"
	"github.com/kube-lifeline/lifeline/app/internal/span"
	"github.com/kube-lifeline/lifeline/app/internal/timestamp"
)

// Info describes a server, at /api/v1/info.
type Info struct {
	// Version is the program's version, and Cluster the UID of the watched cluster.
	Version string `json:"version"`
	Cluster string `json:"cluster"`
	// AsOf is the time up to which changes are stored.
	AsOf time.Time `json:"asOf"`
	// WatchingSince is the time since which this process has watched the
	// cluster; nil if it does not.
	WatchingSince *time.Time `json:"watchingSince,omitempty"`
	// Namespaces are those that the server watches and the caller may see; absent if it watches the whole cluster.
	Namespaces []string `json:"namespaces,omitempty"`
	// Visible are the namespaces with changes that the caller may see; absent if the caller may see all. Unasked is
	// the number of further namespaces with changes, whose rights were not asked for.
	Visible []string `json:"visible,omitempty"`
	Unasked int      `json:"unasked,omitempty"`
	// Retention is the longest age of a finished trace, whatever its outcome; 0 if it is not known.
	Retention Seconds `json:"retention,omitempty"`
	// Identity is the server's name among several, for a caller who may see everything, and Mode its mode (single or
	// standby). Leading is true if it sends spans.
	Identity string `json:"identity,omitempty"`
	Mode     string `json:"mode,omitempty"`
	Leading  bool   `json:"leading"`
	Stats    Stats  `json:"stats"`
}

// Stats is the amount of a server's stored data.
type Stats struct {
	Traces int64 `json:"traces"`
	Open   int64 `json:"open"`
	Spans  int64 `json:"spans"`
	Writes int64 `json:"writes"`
	// Bytes is the size of the data on disk.
	Bytes int64 `json:"bytes"`
	// Oldest is the earliest start of a trace; nil without traces.
	Oldest   *time.Time `json:"oldest,omitempty"`
	Revision int64      `json:"revision"`
}

// Summary is a trace in one line; the fields are those of store.Summary.
type Summary struct {
	TraceID string `json:"traceId"`
	Open    bool   `json:"open"`
	Stuck   bool   `json:"stuck,omitempty"`
	// State is the word for the trace: running, held or stuck for an open one, else its outcome.
	State  span.State `json:"state"`
	Pinned bool       `json:"pinned,omitempty"`
	Start  time.Time  `json:"start"`
	// Earliest is the earliest possible start if Start is only the latest possible one; absent otherwise.
	Earliest *time.Time   `json:"earliest,omitempty"`
	Duration Seconds      `json:"duration"`
	Outcome  span.Outcome `json:"outcome,omitempty"`
	// Was is the outcome before a later claim, and SettledAt the time of the newest claim; absent without one.
	Was       span.Outcome `json:"was,omitempty"`
	SettledAt *time.Time   `json:"settledAt,omitempty"`
	Reason    string       `json:"reason,omitempty"`
	// Aftermath is what happened to the Pods of a converged change afterwards; absent without anything.
	Aftermath       *Aftermath  `json:"aftermath,omitempty"`
	Name            string      `json:"name,omitempty"`
	Verb            string      `json:"verb,omitempty"`
	Object          *object.Ref `json:"object,omitempty"`
	Command         string      `json:"command,omitempty"`
	Actor           string      `json:"actor,omitempty"`
	User            string      `json:"user,omitempty"`
	Heals           string      `json:"heals,omitempty"`
	Fight           string      `json:"fight,omitempty"`
	Edits           []string    `json:"edits,omitempty"`
	Category        string      `json:"category,omitempty"`
	Slowest         string      `json:"slowest,omitempty"`
	SlowestDuration Seconds     `json:"slowestDuration,omitempty"`
	Work            []Work      `json:"work,omitempty"`
	Current         string      `json:"current,omitempty"`
	CurrentDuration Seconds     `json:"currentDuration,omitempty"`
	Spans           int         `json:"spans"`
	AsOf            time.Time   `json:"asOf"`
	// Now is the present state of the object of a finished change, or of an object that a command broke; absent if
	// nothing is broken, for an earlier change of the same object in a list, and in the documents of a stream.
	Now *Now `json:"now,omitempty"`
}

// Aftermath is what happened to the Pods of a change after its convergence; the fields are those of span.Aftermath.
type Aftermath struct {
	// Text has the facts in words, to follow "since then".
	Text      string    `json:"text"`
	Converged time.Time `json:"converged"`
	Window    Seconds   `json:"window"`
	Over      bool      `json:"over"`
	Latest    time.Time `json:"latest"`
	span.Incidents
	// Before are the incidents of the same workloads in the time BeforeWindow up to the start of the change; absent if
	// the workloads are new.
	Before       *span.Incidents `json:"before,omitempty"`
	BeforeWindow Seconds         `json:"beforeWindow,omitempty"`
}

// Now is a present problem beside the outcome of a change.
type Now struct {
	// State is "still" if the problem is not younger than the end of the change, and "since" if it began after it.
	State string `json:"state"`
	// Problem is the ID of the problem; the others are those of problem.Problem.
	Problem  string     `json:"problem"`
	Category string     `json:"category"`
	Reason   string     `json:"reason"`
	Since    time.Time  `json:"since"`
	Before   bool       `json:"before,omitempty"`
	Object   object.Ref `json:"object"`
}

// Work is one kind of work on the critical path, and its part of the path.
type Work struct {
	Name     string  `json:"name"`
	Duration Seconds `json:"duration"`
}

// Page is a page of traces. Next is for the parameter "after"; empty on the last page.
type Page struct {
	Traces []Summary `json:"traces"`
	Next   string    `json:"next,omitempty"`
	// Incomplete says why stored data may be missing; empty if none is.
	Incomplete string `json:"incomplete,omitempty"`
	// Since is the earliest start that a question was about; nil without a bound or a question.
	Since *time.Time `json:"since,omitempty"`
}

// LifecyclePage is a page of lifecycles.
type LifecyclePage struct {
	Lifecycles []Lifecycle `json:"lifecycles"`
	Next       string      `json:"next,omitempty"`
	// Incomplete and Since are as in Page.
	Incomplete string     `json:"incomplete,omitempty"`
	Since      *time.Time `json:"since,omitempty"`
	// Uses has the fields that the question uses.
	Uses []string `json:"uses"`
	// Sort is the expression that orders the lifecycles, and SortType its type, duration or int. Both are absent in the
	// order of the starts.
	Sort     string `json:"sort,omitempty"`
	SortType string `json:"sortType,omitempty"`
}

// Group is the statistics of the lifecycles with the same values of the keys.
type Group struct {
	// Value is that of the first key, and Values those of all, if there are several.
	Value  string   `json:"value"`
	Values []string `json:"values,omitempty"`
	// Count counts all, and With those that have a value of Of.
	Count int64 `json:"count"`
	With  int64 `json:"with"`
	// Quantiles are those of the page, of the values of Of; absent without values.
	Quantiles []Seconds `json:"quantiles,omitempty"`
}

// GroupPage has the groups: the newest hour, day or week first, then the largest group, or in the order of the request.
type GroupPage struct {
	// By is the first key, and Keys has all, if there are several. Lists are the keys that are lists: a lifecycle counts
	// in the group of each element.
	By    string   `json:"by,omitempty"`
	Keys  []string `json:"keys,omitempty"`
	Lists []string `json:"lists,omitempty"`
	// Of is an expression; it may be empty. Quantiles are fractions.
	Of        string    `json:"of,omitempty"`
	Quantiles []float64 `json:"quantiles,omitempty"`
	Groups    []Group   `json:"groups"`
	// More is the number of further groups.
	More int `json:"more,omitempty"`
	// Open counts the matching lifecycles that have not ended. They are in no group.
	Open int64 `json:"open,omitempty"`
	// Incomplete and Since are as in Page.
	Incomplete string     `json:"incomplete,omitempty"`
	Since      *time.Time `json:"since,omitempty"`
}

// Field is a value that questions may use.
type Field struct {
	Name string `json:"name"`
	// Type is a type of CEL, such as "string".
	Type string `json:"type"`
	// Optional is true if a lifecycle may lack the value.
	Optional bool   `json:"optional"`
	Meaning  string `json:"meaning"`
	// Values are all possible ones, if they are few.
	Values []string `json:"values,omitempty"`
	// Facet is true if the most frequent values of a text complete a question.
	Facet bool `json:"facet,omitempty"`
}

// Fields is the answer of /api/v1/fields.
type Fields struct {
	Fields []Field `json:"fields"`
}

// Density is the number of traces over time.
type Density struct {
	// Since is the start of the first bucket, and Width the length of each.
	Since   time.Time `json:"since"`
	Width   Seconds   `json:"width"`
	Buckets []Bucket  `json:"buckets"`
	// Incomplete says why stored data may be missing; empty if none is.
	Incomplete string `json:"incomplete,omitempty"`
}

// Bucket counts the traces with a start in one part of the time.
type Bucket struct {
	Count  int64 `json:"count"`
	Failed int64 `json:"failed,omitempty"`
	Open   int64 `json:"open,omitempty"`
}

// Detail is the member "lifeline" of a trace's document, for data without a place in OTLP.
type Detail struct {
	Summary Summary `json:"summary"`
	// OpenSpans are the IDs of spans without an end at the summary's AsOf. In the document they end
	// then.
	OpenSpans []string `json:"openSpans"`
}

// Write is one stored API write; the fields are those of store.Write.
type Write struct {
	TraceID         string          `json:"traceId"`
	SpanID          string          `json:"spanId"`
	Object          object.Ref      `json:"object"`
	Verb            string          `json:"verb,omitempty"`
	Part            string          `json:"part,omitempty"`
	Subresource     string          `json:"subresource,omitempty"`
	ResourceVersion int64           `json:"resourceVersion,omitempty"`
	BasedOn         int64           `json:"basedOn,omitempty"`
	Generation      int64           `json:"generation,omitempty"`
	Actor           string          `json:"actor,omitempty"`
	User            string          `json:"user,omitempty"`
	AuditID         string          `json:"auditId,omitempty"`
	Start           time.Time       `json:"start"`
	End             time.Time       `json:"end"`
	Source          span.TimeSource `json:"source,omitempty"`
	// Changes are the changed fields of an update, at most 16, and MoreChanges is the number of further
	// ones.
	Changes     []FieldChange `json:"changes,omitempty"`
	MoreChanges int64         `json:"moreChanges,omitempty"`
}

// FieldChange is the change of one field; the fields are those of span.FieldChange.
type FieldChange struct {
	Path string `json:"path"`
	// Operation is add, remove or replace.
	Operation span.Operation `json:"operation"`
	From      string         `json:"from,omitempty"`
	To        string         `json:"to,omitempty"`
}

// WritePage is a page of writes.
type WritePage struct {
	Writes []Write `json:"writes"`
	Next   string  `json:"next,omitempty"`
	// Incomplete says why stored data may be missing; empty if none is.
	Incomplete string `json:"incomplete,omitempty"`
}

// Cause is one edge from a span to its cause; the fields are those of store.Cause.
type Cause struct {
	TraceID  string        `json:"traceId"`
	SpanID   string        `json:"spanId"`
	OfTrace  string        `json:"ofTrace"`
	OfSpan   string        `json:"ofSpan"`
	Parent   bool          `json:"parent"`
	Evidence span.Evidence `json:"evidence,omitempty"`
	Reason   string        `json:"reason,omitempty"`
}

// Causes is the answer of /api/v1/traces/{traceID}/causes.
type Causes struct {
	Causes []Cause `json:"causes"`
}

// Why is the answer of /api/v1/traces/{traceID}/why: how an object is after a change, and why.
type Why struct {
	answer.Answer
	// AsOf is the time of the answer.
	AsOf time.Time `json:"asOf"`
	// Text has the same in sentences, one a line.
	Text string `json:"text"`
}

// Problem is the body of every error response.
type Problem struct {
	Error Error `json:"error"`
}

// Error is an error of a request or of the server. It implements error.
type Error struct {
	// Code is the HTTP status.
	Code int `json:"code"`
	// Message is a sentence for people: the problem, and the next step.
	Message string `json:"message"`
	// Parameter is "where", "of", "by" or "sort" for an error in the expression of that parameter; empty otherwise.
	Parameter string `json:"parameter,omitempty"`
	// Index is the number of the value of a repeated parameter, from 0.
	Index int `json:"index,omitempty"`
	// Line and Column are the place of an error in an expression, from 1; 0 in other errors. A column is
	// a character. Hint is a way out; it may be empty.
	Line   int    `json:"line,omitempty"`
	Column int    `json:"column,omitempty"`
	Hint   string `json:"hint,omitempty"`
}

// Error returns the message.
func (e *Error) Error() string { return e.Message }

// Seconds is a duration that is a number of seconds in JSON.
type Seconds = timestamp.Seconds
