// SPDX-License-Identifier: Apache-2.0

package run

import (
	"strings"
	"testing"
)

func TestCommandText(t *testing.T) {
	tests := map[string]struct {
		reason, command, want string
	}{
		"plain":        {"what holds no secret stays as it is", "kubectl -n shop apply -f app.yaml --context=prod", "kubectl -n shop apply -f app.yaml --context=prod"},
		"literal":      {"the data of a Secret never enters a trace", "kubectl create secret generic db --from-literal=password=hunter2", "kubectl create secret generic db --from-literal=password=…"},
		"literal word": {"nor does it as a word of its own", "kubectl create secret generic db --from-literal password=hunter2", "kubectl create secret generic db --from-literal password=…"},
		"token":        {"a token has no name to show", "kubectl --token=abc.def get pods", "kubectl --token=… get pods"},
		"token word":   {"nor has it as a word of its own", "kubectl --token abc.def get pods", "kubectl --token … get pods"},
		"set env":      {"the name of a variable stays, its value does not", "kubectl set env deployment/web PASSWORD=hunter2", "kubectl set env deployment/web PASSWORD=…"},
		"helm":         {"helm's values may be secrets", "helm upgrade db ./chart --set auth.password=hunter2 --set-string x=hunter2", "helm upgrade db ./chart --set auth.password=… --set-string x=…"},
		"patch":        {"a patch is data", `kubectl patch secret db -p {"data":{"p":"aHVudGVyMg=="}}`, "kubectl patch secret db -p …"},
		"label":        {"a label is no secret", "kubectl label pod a tier=web", "kubectl label pod a tier=web"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			if got := commandText(strings.Fields(tt.command)); got != tt.want {
				t.Errorf("%s: %q, want %q", tt.reason, got, tt.want)
			}
		})
	}
}
