// SPDX-License-Identifier: Apache-2.0

package config

import (
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/kube-lifeline/lifeline/app/internal/mask"
)

// The values of the field messages. MessagesClean is an older name of MessagesStrict.
const (
	MessagesMask   = string(mask.Masked)
	MessagesStrict = string(mask.Strict)
	MessagesKeep   = string(mask.Keep)
	MessagesClean  = "clean"
)

// MessagesConfiguration is an element of the list `messagesOf`.
type MessagesConfiguration struct {
	// The API group, such as `cert-manager.io`; empty for the core group.
	Group string `json:"group"`

	// The kind, such as `Certificate`. Empty means all kinds of the group.
	Kind string `json:"kind"`

	// `mask`, `strict` or `keep`.
	Messages string `json:"messages"`
}

// maxMessages bounds the list `messagesOf`.
const maxMessages = 64

// mode returns the mode of a setting.
func mode(setting string) mask.Mode {
	if setting == MessagesClean {
		setting = MessagesStrict
	}
	return mask.Mode(setting)
}

// MessageModes returns the treatment of messages by kind.
func (c *ServerConfiguration) MessageModes() mask.Modes {
	m := mask.Modes{
		Default: mode(c.Messages), Kinds: map[schema.GroupKind]mask.Mode{}, Groups: map[string]mask.Mode{},
	}
	for _, of := range c.MessagesOf {
		if of.Kind == "" {
			m.Groups[of.Group] = mode(of.Messages)
		} else {
			m.Kinds[schema.GroupKind{Group: of.Group, Kind: of.Kind}] = mode(of.Messages)
		}
	}
	return m
}

// Mode returns the treatment of messages in sent spans.
func (c *OTLPConfiguration) Mode() mask.Mode { return mode(c.Messages) }

func (v *validator) messages(path *field.Path, setting string) {
	v.oneOf(path, setting, MessagesMask, MessagesStrict, MessagesKeep, MessagesClean)
}

func (v *validator) messagesOf(path *field.Path, all []MessagesConfiguration) {
	if len(all) > maxMessages {
		v.wrong = append(v.wrong, field.TooMany(path, len(all), maxMessages))
		return
	}
	seen := map[schema.GroupKind]bool{}
	for i, c := range all {
		at, of := path.Index(i), schema.GroupKind{Group: c.Group, Kind: c.Kind}
		switch {
		case c.Kind != "":
			v.objectKind(at, ObjectKindConfiguration{Group: c.Group, Kind: c.Kind})
		case c.Group == "":
			v.wrong = append(v.wrong, field.Required(at.Child("kind"), "must be set for the core group"))
		default:
			v.objectKind(at, ObjectKindConfiguration{Group: c.Group, Kind: "Any"})
		}
		if seen[of] {
			v.wrong = append(v.wrong, field.Duplicate(at, shorten(c.Kind+"."+c.Group)))
		}
		seen[of] = true
		v.messages(at.Child("messages"), c.Messages)
	}
}
