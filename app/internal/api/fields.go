// SPDX-License-Identifier: Apache-2.0

package api

import (
	"net/http"

	questions "github.com/kube-lifeline/lifeline/app/internal/question"
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
			Name: f.Name, Type: f.Type.String(), Optional: f.Optional, Meaning: f.Meaning, Values: f.Values,
			Facet: f.Facet,
		})
	}
	return out
}
