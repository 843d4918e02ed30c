// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"fmt"
	"strings"

	"github.com/cloudevents/sdk-go/v2/event"
)

// schema names the form of the data.
const schema = "https://lifeline.dev/schemas/change/v1"

// Event returns the notice as a CloudEvent in JSON. cluster is the cluster's UID.
func (n *Notice) Event(cluster string) ([]byte, error) {
	e := event.New()
	e.SetID(n.ID)
	e.SetType(string(n.Type))
	e.SetSource("/clusters/" + cluster)
	e.SetTime(n.Time)
	e.SetDataSchema(schema)
	if o := n.Object; o != nil {
		e.SetSubject(strings.Join([]string{o.Kind.Kind, o.Namespace, o.Name}, "/"))
	}
	if n.SpanID != "" { // the extension for distributed tracing
		e.SetExtension("traceparent", fmt.Sprintf("00-%s-%s-01", n.TraceID, n.SpanID))
	}
	if err := e.SetData(event.ApplicationJSON, n); err != nil {
		return nil, fmt.Errorf("cannot write notice %s: %w", n.ID, err)
	}
	if err := e.Validate(); err != nil {
		return nil, fmt.Errorf("notice %s is no valid event: %w", n.ID, err)
	}
	return e.MarshalJSON()
}
