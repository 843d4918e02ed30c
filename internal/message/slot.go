// SPDX-License-Identifier: Apache-2.0

package message

import (
	"regexp"
	"strconv"
	"strings"
)

// slot is a placeholder in a template.
type slot struct {
	// form is the regular expression of matching text, without capturing groups.
	form string
	// clean returns the harmless part of the text; nil keeps all of it.
	clean func(text string, l level) string
	// withoutValues is clean for a message about a Secret or a ConfigMap; nil keeps nothing.
	withoutValues func(text string, l level) string
	// kind means that the text is a kind or a resource.
	kind bool
}

const (
	// name matches the name of an object, a volume or a plugin, or "namespace/name".
	name = `[A-Za-z0-9_](?:[A-Za-z0-9._:/@+#%-]*[A-Za-z0-9_-])?`
	// object matches the name of an object as the API server quotes it.
	object = `[a-z0-9](?:[a-z0-9.:-]*[a-z0-9-])?(?:/[a-z0-9](?:[a-z0-9.:-]*[a-z0-9])?)?`
	// core matches the resources and kinds without an API group, and the kubelet's words for them.
	// Other resources have a group suffix.
	core = `(?:bindings|componentstatuses|configmaps?|endpoints|events|limitranges|namespaces?|nodes?|` +
		`persistentvolumeclaims?|persistentvolumes?|` +
		`pods?|podtemplates|replicationcontrollers|resourcequotas|secrets?|serviceaccounts?|services?)`
	coreKind = `(?:Binding|ConfigMap|Endpoints|Event|LimitRange|Namespace|Node|PersistentVolumeClaim|` +
		`PersistentVolume|Pod|PodTemplate|` +
		`ReplicationController|ResourceQuota|Secret|ServiceAccount|Service)`
	host     = `(?:[A-Za-z0-9_.-]+|\[[0-9a-fA-F:.]+\])(?::[0-9]+)?`
	number   = `-?[0-9]+(?:\.[0-9]+)?`
	quantity = number + `(?:e[0-9]+|[A-Za-z]{1,3}|%)?`
	usage    = `[a-z][A-Za-z0-9._/-]*=` + quantity
	limit    = `(?:minimum|maximum) [a-z][a-z0-9./-]* usage per [A-Za-z]+ is ` + quantity +
		`(?:\.  No (?:request|limit) is specified|, but (?:request|limit) is ` + quantity + `)`
	ratio = `[a-z][a-z0-9./-]* max limit to request ratio per [A-Za-z]+ is ` + quantity +
		`, but (?:no (?:request|limit) is specified or (?:request|limit) is 0|provided ratio is ` + number + `)`
	demand = `[a-z][a-z0-9./,-]* for: ` + name + `(?:,` + name + `)*`
	metric = `(?:` + name + ` (?:container )?resource(?: utilization \(percentage of request\))?|` +
		`(?:pods|external|[A-Z][A-Za-z]*) metric ` + name + `)`
	remaining = `[a-z0-9./-]+ (?:has|in) ` + number + ` (?:resource|object) instances`
	// builtin matches resources that some messages name without their group.
	builtin = `(?:deployments|replicasets|statefulsets|daemonsets|jobs|cronjobs)`
	// choice matches a value that validation permits.
	choice = `(?:"[A-Za-z0-9._/-]{1,63}"|'[A-Za-z0-9._/-]{1,63}')`
	// brackets matches brackets. Quoted text in them may contain brackets.
	brackets = `\[(?:"(?:[^"\\]|\\.)*"|[^\]"])*\]`
	member   = `[A-Za-z_$][A-Za-z0-9_$/~*-]*`
	path     = `\.?` + member + `(?:\.[A-Za-z0-9_$/~*-]+|` + brackets + `)*`
)

// slots holds the slots by name.
var slots map[string]slot

// Some slots contain messages. Initializing slots in the declaration would be a cycle.
func init() {
	withhold := func(string, level) string { return Withheld }
	slots = map[string]slot{
		"bare":      {form: `[A-Z][A-Za-z0-9]*`, kind: true},
		"demands":   {form: demand + `(?:; ` + demand + `)*`},
		"host":      {form: host},
		"withheld":  {form: regexp.QuoteMeta(Withheld)},
		"metric":    {form: metric},
		"object":    {form: object},
		"remaining": {form: remaining + `(?:, ` + remaining + `)*`},
		"rescale": {
			form: `All metrics below target|Current number of replicas (?:above|below) ` +
				`Spec\.M[a-z]+Replicas|` + metric + ` (?:above|below) target`,
		},
		"amounts":       {form: usage + `(?:,` + usage + `)*`},
		"date":          {form: `[A-Za-z0-9,: +-]+`},
		"duration":      {form: `(?:[0-9.]+(?:h|ms|m|s|µs|us|ns))+`},
		"gotype":        {form: `[A-Za-z0-9_.*\[\]]+`},
		"image":         {form: `[A-Za-z0-9][A-Za-z0-9._:/@+-]*`},
		"kind":          {form: coreKind + `|[A-Z][A-Za-z0-9]*\.[a-z0-9.-]+`, kind: true},
		"limits":        {form: `(?:` + limit + `|` + ratio + `)(?:, (?:` + limit + `|` + ratio + `))*`},
		"method":        {form: `[A-Z][a-z]+`},
		"name":          {form: name},
		"names":         {form: name + `(?:(?:,| |, )` + name + `)*`},
		"number":        {form: number},
		"optional":      {form: `(?:` + name + `)?`},
		"optionalimage": {form: `(?:[A-Za-z0-9][A-Za-z0-9._:/@+-]*)?`},
		"path":          {form: `[A-Za-z0-9._/@-]+`},
		"probe":         {form: `Liveness|Readiness|Startup`},
		"quantity":      {form: quantity},
		"resource": {
			form: `(?:` + core + `|[a-z][a-z0-9]*\.[a-z0-9-]+(?:\.[a-z0-9-]+)*|` + builtin + `)(?:/[a-z]+)?`,
			kind: true,
		},
		"taint": {form: `[A-Za-z0-9._/-]+: ?[A-Za-z0-9._-]*`},
		"user":  {form: `[A-Za-z0-9._:/@+=#-]+`},
		"word":  {form: `[A-Za-z][A-Za-z0-9]*`},

		"apis":      {form: `.*`, clean: cleanAPIs},
		"conflicts": {form: `.*`, clean: cleanConflicts},
		"decoded":   {form: `.*`, clean: func(text string, l level) string { return l.strict().clean(text) }},
		"denied":    {form: `.*`, clean: func(text string, l level) string { return l.ofRefusal().denied(text) }},
		"message":   {form: `.*`, clean: func(text string, l level) string { return l.clean(text) }},
		"network":   {form: `.*`, clean: func(text string, l level) string { return l.network(text) }},
		"output":    {form: `.*`, clean: withhold},
		"probed":    {form: `.*`, clean: func(text string, l level) string { return l.probed(text) }},
		"refusal":   {form: `.*`, clean: func(text string, l level) string { return l.ofRefusal().clean(text) }},
		"text":      {form: `.*`, clean: func(text string, l level) string { return l.text(text) }},
		"quoted":    {form: `".*"`, clean: cleanQuoted},
		"url":       {form: `https?://` + host + `(?:[/?#][^"\s]*)?`, clean: origin},
		"field":     {form: path, clean: cleanField},
		"fields":    {form: `.*`, clean: cleanFields, withoutValues: cleanFieldsOnly},
		"choices":   {form: choice + `(?:(?:, | and )` + choice + `)*`},
		"rest":      {form: `(?:[,;:. \n].*)?`, clean: func(text string, _ level) string { return withheldRest(text) }},
		"typed":     {form: `.*`, clean: cleanTyped},
		"reasons":   {form: `.*`, clean: cleanReasons},
		"policies":  {form: `.*`, clean: cleanPolicies},
	}
}

// withheldRest returns the end of a sentence with unknown text.
func withheldRest(text string) string {
	if text == "" {
		return ""
	}
	return " " + Withheld
}

// cleanQuoted cleans a message in Go quotes.
func cleanQuoted(text string, l level) string {
	inner, err := strconv.Unquote(text)
	if err != nil {
		inner = Withheld
	}
	return strconv.Quote(l.clean(inner))
}

var originForm = regexp.MustCompile(`^https?://` + host)

// origin returns a URL without path and query, because they can contain a token.
func origin(text string, _ level) string { return originForm.FindString(text) }

// nodeReasons matches one item of the scheduler's summary of the nodes.
var nodeReasons = regexp.MustCompile(`^(?:([0-9]+) )?(.*?)(, |\. |\.?$)`)

// cleanReasons cleans the scheduler's summary of the nodes. It is a list of reasons with a count;
// each reason is a message.
func cleanReasons(text string, l level) string {
	var b strings.Builder
	for parts := 0; text != ""; parts++ {
		text = strings.TrimSpace(text)
		if strings.HasPrefix(text, "preemption: ") {
			b.WriteString(l.clean(text))
			break
		}
		at := nodeReasons.FindStringSubmatchIndex(text)
		if at == nil || parts == maxParts {
			b.WriteString(Withheld)
			break
		}
		if at[2] >= 0 {
			b.WriteString(text[at[2]:at[3]] + " ")
		}
		b.WriteString(l.clean(text[at[4]:at[5]]) + text[at[6]:at[7]])
		text = text[at[1]:]
	}
	return b.String()
}

// podSecurity matches a rule of Pod Security admission, in the words of its refusals.
var podSecurity = regexp.MustCompile(
	`^(allowPrivilegeEscalation != false|forbidden AppArmor profiles?|non-default capabilities|` +
		`unrestricted capabilities|host namespaces|hostPath volumes|hostPort|probe or lifecycle host|` +
		`privileged|procMount|restricted volume types|runAsNonRoot != true|runAsUser=0|seLinuxOptions|` +
		`seccompProfile|forbidden sysctls|hostProcess)`,
)

// cleanPolicies keeps the violated rules. It masks their details in parentheses, which quote the Pod,
// or removes them.
func cleanPolicies(text string, l level) string {
	var kept []string
	dropped := false
	for len(kept) < maxParts {
		rule := podSecurity.FindString(text)
		if rule == "" {
			break
		}
		kept = append(kept, rule)
		text = text[len(rule):]
		if details, found := strings.CutPrefix(text, " ("); found {
			details, text, _ = strings.Cut(details, "), ")
			if l.Refused == nil {
				dropped = true
			} else {
				kept[len(kept)-1] += " (" + l.ofRefusal().text(strings.TrimSuffix(details, ")")) + ")"
			}
			continue
		}
		text = strings.TrimPrefix(text, ", ")
	}
	out := strings.Join(kept, ", ")
	if dropped || text != "" {
		out = strings.TrimSpace(out + " " + Withheld)
	}
	return out
}
