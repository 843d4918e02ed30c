// SPDX-License-Identifier: Apache-2.0

// Package problem has the objects that do not have their desired state now, whatever became of the
// changes that caused it. Objects that fail for one cause are one problem. It is pure: its input are
// the states of objects, and a time.
package problem

import (
	"time"

	"github.com/kube-lifeline/lifeline/app/internal/object"
)

const (
	// MaxObjects bounds the named objects of one problem. Count has all.
	MaxObjects = 20
	// MaxEarlier bounds the earlier reasons of one problem.
	MaxEarlier = 8
)

// Problem is one cause for which objects do not have their desired state. Its texts are not escaped.
type Problem struct {
	// ID is the same for the whole life of the problem, also after a restart of the server, and with
	// each observer. A problem that comes again after its end has another one.
	ID string `json:"id"`
	// Category is the value of lifeline.reason.
	Category string `json:"category"`
	// Reason is a sentence that begins with Object: "Deployment web cannot pull image web:2: not found".
	Reason string `json:"reason"`
	// Since is the time from which Object lacks its desired state. A retry does not begin it again.
	Since time.Time `json:"since"`
	// Before means that the problem is older than Since: it began before the first observation, and no time of
	// the object shows when.
	Before bool `json:"before,omitempty"`
	// Note means that nothing is broken, as after a cordon.
	Note bool `json:"note,omitempty"`
	// Object is the first object with the problem. Its owners are preferred to it.
	Object object.Ref `json:"object"`
	// Objects are the objects with the problem, the oldest first, at most MaxObjects. Count is their number.
	Objects []object.Ref `json:"objects"`
	Count   int          `json:"count"`
	// Namespaces are those of all objects, sorted, at most MaxObjects; "" stands for objects without one.
	Namespaces []string `json:"namespaces"`
	// Blamed is the object that explains the others: a Pod, a claim, a webhook. Nil means Object itself.
	Blamed *object.Ref `json:"blamed,omitempty"`
	// Image is the image that all objects lack, or "".
	Image string `json:"image,omitempty"`
	// Earlier are the reasons before Reason, the oldest first.
	Earlier []Earlier `json:"earlier,omitempty"`
	// Cause is the change that led to the problem; nil if none is known.
	Cause *Cause `json:"cause,omitempty"`
	// Next is a command that shows more.
	Next string `json:"next,omitempty"`
}

// Earlier is a reason that a problem had before.
type Earlier struct {
	Category string    `json:"category"`
	Reason   string    `json:"reason"`
	Since    time.Time `json:"since"`
}

// Cause is the change that led to a problem.
type Cause struct {
	TraceID string    `json:"traceId"`
	Start   time.Time `json:"start"`
	// Who is the user, or else the component; "" if neither is known.
	Who    string      `json:"who,omitempty"`
	Object *object.Ref `json:"object,omitempty"`
	Verb   string      `json:"verb,omitempty"`
	// Fields are the paths of the changed fields, and Edits the changes in words.
	Fields  []string `json:"fields,omitempty"`
	Edits   []string `json:"edits,omitempty"`
	Command string   `json:"command,omitempty"`
}

// List is the answer of the API: the problems now, the worst first.
type List struct {
	AsOf     time.Time `json:"asOf"`
	Problems []Problem `json:"problems"`
	// More is the number of problems that the list leaves out.
	More int `json:"more,omitempty"`
}
