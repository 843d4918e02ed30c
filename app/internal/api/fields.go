// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/http"

	questions "github.com/kube-lifeline/lifeline/app/internal/question"
	"github.com/kube-lifeline/lifeline/app/internal/reason"
)

func (s *Server) fields(r *http.Request) (any, error) {
	if err := s.params(r).done(); err != nil {
		return nil, err
	}
	return Fields{QuestionFields()}, nil
}

// QuestionFields returns the fields of questions, in the order of the documents.
func QuestionFields() []Field {
	var out []Field
	for _, f := range questions.Fields() {
		out = append(out, Field{
			Name: f.Name, Type: f.Type.String(), Optional: f.Optional, Meaning: f.Meaning, Values: valuesOf(f.Name),
		})
	}
	return out
}

// valuesOf returns the values of a field that has few.
func valuesOf(name string) []string {
	var out []string
	switch name {
	case "outcome":
		for _, o := range outcomes {
			out = append(out, string(o))
		}
	case "reason":
		for _, c := range reason.Names() {
			out = append(out, string(c))
		}
	case "verb":
		out = []string{"create", "update", "delete"}
	}
	return out
}
