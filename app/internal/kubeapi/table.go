// SPDX-License-Identifier: Apache-2.0

package kubeapi

import (
	"time"

	"go.opentelemetry.io/otel/trace"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"github.com/kube-lifeline/lifeline/app/internal/api"
	"github.com/kube-lifeline/lifeline/app/internal/render"
)

// columns returns the columns of a table. Those with a priority need -o wide.
func (t target) columns() []metav1.TableColumnDefinition {
	column := func(name, meaning string, priority int32) metav1.TableColumnDefinition {
		return metav1.TableColumnDefinition{Name: name, Type: "string", Description: meaning, Priority: priority}
	}
	name := column("Name", "The trace ID of the change.", 0)
	name.Format = "name"
	out := []metav1.TableColumnDefinition{name}
	if t.visible {
		out = append(out, column("Namespace", "The namespace of the changed object.", 0))
	}
	return append(out,
		column("Age", "The time since the start. \"~\" marks the latest possible start.", 0),
		column("Who", "The user and the component.", 0),
		column("What", "The command, or the verb and the object.", 0),
		column("State", "running, held, stuck, or the outcome.", 0),
		column("Took", "The duration so far, with \"…\", or until the end.", 0),
		column("Reason", "Why the change failed, or what it waits for.", 0),
		column("Changed", "The changed fields.", 1),
		column("Slowest", "The slowest part, and its share.", 1),
	)
}

// row returns the row of a change, at the time now.
func (t target) row(s *api.Summary, now time.Time, include metav1.IncludeObjectPolicy) metav1.TableRow {
	stored := s.Stored().At(now)
	options := render.ListOptions{Namespace: t.namespace}
	options.Now = now
	if p := s.Now; p != nil {
		options.Present = map[trace.TraceID]render.Present{stored.ID: {
			Still: p.State == api.Still, Since: p.Since, Before: p.Before, Reason: p.Reason,
		}}
	}
	texts := render.TextsOf(&stored, options)
	cells := []any{s.TraceID}
	if t.visible {
		cells = append(cells, namespaceOf(s))
	}
	row := metav1.TableRow{Cells: append(cells,
		texts.Age, texts.Who, texts.What, texts.State, texts.Took, texts.Reason, texts.Changed, texts.Slowest)}
	c := t.changeOf(s)
	switch include {
	case metav1.IncludeNone:
	case metav1.IncludeObject:
		row.Object = runtime.RawExtension{Raw: encode(c)}
	default:
		row.Object = runtime.RawExtension{Raw: encode(metadataOf(c))}
	}
	return row
}

// metadataOf returns the metadata of a change alone.
func metadataOf(c *Change) *metav1.PartialObjectMetadata {
	return &metav1.PartialObjectMetadata{
		TypeMeta:   metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "PartialObjectMetadata"},
		ObjectMeta: c.ObjectMeta,
	}
}

// table returns a table of rows.
func (t target) table(rows []metav1.TableRow, meta metav1.ListMeta) *metav1.Table {
	if rows == nil {
		rows = []metav1.TableRow{}
	}
	return &metav1.Table{
		TypeMeta: metav1.TypeMeta{APIVersion: "meta.k8s.io/v1", Kind: "Table"}, ListMeta: meta,
		ColumnDefinitions: t.columns(), Rows: rows,
	}
}
