// SPDX-License-Identifier: Apache-2.0

package reason

import (
	"fmt"
	"strings"

	"github.com/kube-lifeline/lifeline/app/internal/history"
	"github.com/kube-lifeline/lifeline/app/internal/kind/judge"
	"github.com/kube-lifeline/lifeline/app/internal/observation"
	"github.com/kube-lifeline/lifeline/internal/message"
)

// startup is the reason of a Pod with a container that has not started.
func startup(v *history.Version, events []*history.Event) Reason {
	if v.Pod == nil || v.Pod.Phase == "Failed" || judge.Holds(v, judge.PodReady) {
		return Reason{}
	}
	for i, list := range [][]*observation.Container{v.Pod.Init, v.Pod.Containers} {
		for _, c := range list {
			if r := waiting(c, i == 0); r.Text != "" {
				r.Container = c.Name
				return r
			}
		}
	}
	if Created(v) {
		return Reason{}
	}
	e := newest(
		events,
		"FailedMount",
		"FailedAttachVolume",
		"FailedMapVolume",
		"FailedCreatePodSandBox",
		"NetworkNotReady",
	)
	if e == nil {
		return Reason{}
	}
	return unprepared(e)
}

// Created reports whether a container of the Pod was ever created.
func Created(v *history.Version) bool {
	for _, list := range [][]*observation.Container{v.Pod.Init, v.Pod.Containers} {
		for _, c := range list {
			if c.State != nil && !c.State.Waiting || c.Last != nil {
				return true
			}
		}
	}
	return false
}

// waiting is the reason of a container that waits for something that is not to be expected soon.
func waiting(c *observation.Container, init bool) Reason {
	if c.State == nil || !c.State.Waiting {
		return Reason{}
	}
	name := called(c, init)
	why := explained(c.State.Reason, c.State.Message)
	switch c.State.Reason {
	case "ErrImagePull", "ImagePullBackOff", "RegistryUnavailable", "ErrImageNeverPull", "InvalidImageName":
		return Reason{
			Category: pull(c.State.Reason, why), For: "image " + c.Image,
			Text: fmt.Sprintf("cannot pull image %s of %s: %s", c.Image, name, innermost(why)),
		}
	case "CreateContainerConfigError":
		why, _, _ = strings.Cut(why, " (pod: ")
		return Reason{
			Category: configuration(why), For: "the configuration of " + name,
			Text: fmt.Sprintf("cannot create %s: %s", name, why),
		}
	case "CreateContainerError", "RunContainerError", "PreStartHookError", "PostStartHookError":
		return notStarted(c, init, why)
	}
	return Reason{}
}

// notStarted is the reason of a container that the runtime cannot create or start.
func notStarted(c *observation.Container, init bool, why string) Reason {
	name := called(c, init)
	r := Reason{
		Category: ContainerNotStarted, For: "the start of " + name,
		Text: fmt.Sprintf("cannot start %s: %s", name, innermost(why)),
	}
	if has(why, "executable file not found", "no such file or directory", "no command specified", "exec format error",
		"permission denied") {
		r.Category = InvalidCommand
	}
	return r
}

// called names a container in a sentence.
func called(c *observation.Container, init bool) string {
	if init {
		return "init container " + c.Name
	}
	return "container " + c.Name
}

// pull returns the category of a failed pull.
func pull(reason, text string) Category {
	switch {
	case reason == "ErrImageNeverPull":
		return ImageNeverPulled
	case reason == "InvalidImageName":
		return ImageInvalid
	case has(text, "not found", "manifest unknown"):
		return ImageNotFound
	case has(text, "unauthorized", "authorization", "denied", "forbidden", "credentials", ": 401 ", ": 403 "):
		return ImageUnauthorized
	case has(text, "connection refused", "no such host", "timeout", "deadline exceeded", "no route to host", "eof"):
		return RegistryUnreachable
	}
	return ImagePull
}

// configuration returns the category of a container that lacks a ConfigMap, a Secret or a key.
func configuration(text string) Category {
	switch {
	case has(text, "couldn't find key", "non-existent"):
		return KeyMissing
	case has(text, "secret") && has(text, "not found"):
		return SecretMissing
	case has(text, "configmap") && has(text, "not found"):
		return ConfigMapMissing
	}
	return ContainerNotStarted
}

// unprepared is the reason of a Pod whose volumes or network are not there.
func unprepared(e *history.Event) Reason {
	why := innermost(explained(e.Reason, e.Note))
	switch e.Reason {
	case "FailedCreatePodSandBox":
		r := Reason{Category: SandboxFailed, For: "its sandbox", Text: "cannot create its sandbox: " + why}
		switch {
		case has(e.Note, "no runtime for"):
			r.Category = RuntimeClassMissing
		case has(e.Note, "network", "plugin type", "cni"):
			r.Category = NetworkFailed
		}
		return r
	case "NetworkNotReady":
		return Reason{
			Category: NetworkFailed,
			For:      "the network of its node",
			Text:     "waits for the network of its node: " + why,
		}
	case "FailedAttachVolume":
		return unattached(e.Note, why)
	}
	r := Reason{Category: VolumeNotMounted, For: "a volume", Text: "cannot mount a volume: " + why}
	switch {
	case has(e.Note, "configmap", "secret") && has(e.Note, "not found", "non-existent"):
		if r.Category = configuration(e.Note); r.Category == ContainerNotStarted {
			r.Category = VolumeNotMounted
		}
	case has(e.Note, "csi driver", "driver name"):
		r.Category = VolumeDriverMissing
	}
	return r
}

// ending returns the last n parts of a chain of errors.
func ending(text string, n int) string {
	parts := strings.Split(text, ": ")
	return message.Requote(strings.Join(parts[max(0, len(parts)-n):], ": "))
}

// innermost returns the last part of a chain of errors: the first cause.
func innermost(text string) string {
	if i := strings.LastIndex(text, " desc = "); i >= 0 {
		text = text[i+len(" desc = "):]
	}
	parts := strings.Split(text, ": ")
	last := parts[len(parts)-1]
	if len(parts) > 1 && (last == "" || last == "unknown" || len(last) < 4) {
		last = parts[len(parts)-2]
	}
	return message.Requote(last)
}
