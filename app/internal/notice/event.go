// SPDX-License-Identifier: Apache-2.0

package notice

import (
	"fmt"

	"github.com/cloudevents/sdk-go/v2/event"
)

// schema names the form of the data.
const schema = "https://lifeline.dev/schemas/notice/v1"

// cloudEvent returns the notice as a CloudEvent in JSON.
func cloudEvent(n *Notice, o *origin) ([]byte, error) {
	e := event.New()
	e.SetID(n.ID)
	e.SetType(string(n.Type))
	e.SetSource("/clusters/" + o.cluster)
	e.SetTime(n.Time)
	e.SetDataSchema(schema)
	if of := n.subject(); of != "" {
		e.SetSubject(of)
	}
	data := struct {
		*Notice

		Link string `json:"link,omitempty"`
	}{n, o.link(n)}
	if err := e.SetData(event.ApplicationJSON, data); err != nil {
		return nil, fmt.Errorf("cannot write notice %s: %w", n.ID, err)
	}
	if err := e.Validate(); err != nil {
		return nil, fmt.Errorf("notice %s is no valid event: %w", n.ID, err)
	}
	return e.MarshalJSON()
}
