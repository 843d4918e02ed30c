// SPDX-License-Identifier: Apache-2.0

package api

import questions "github.com/kube-lifeline/lifeline/app/internal/question"

func listFields(r *request) (any, error) {
	if err := r.params.done(); err != nil {
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
