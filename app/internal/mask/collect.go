// SPDX-License-Identifier: Apache-2.0

package mask

import (
	"encoding/base64"
	"encoding/json"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/kube-lifeline/lifeline/internal/message"
)

// Object is a JSON object as the dynamic client decodes it.
type Object = map[string]any

// collector gathers the words of an object.
type collector struct {
	key     key
	all     []word
	buf     []byte
	content int
	more    bool
	// known are the names of the object: its traces show them.
	known []string
	// custom means that the object is of a custom kind.
	custom bool
}

// collect returns the words of an object outside its status: environment, arguments, commands, headers,
// annotations and data. In custom resources, these are also the texts below a field whose name suggests a
// credential or values. Names of objects are no such texts.
func collect(k key, obj Object, custom bool) *Words {
	c := &collector{key: k, custom: custom}
	c.object(obj)
	return words(c.all, c.more)
}

func (c *collector) object(obj Object) {
	meta, _ := obj["metadata"].(Object)
	of, _ := obj["kind"].(string)
	c.known = append(c.known, of)
	for _, part := range []string{"name", "namespace"} {
		name, _ := meta[part].(string)
		c.known = append(c.known, name)
	}
	for name, v := range obj {
		switch name {
		case "data":
			switch of {
			case "ConfigMap":
				c.files(v)
			case "Secret": // of a copy in an annotation: a Secret itself is read without its data
				c.decoded(v)
			default:
				c.field("", name, v, false)
			}
		case "apiVersion", "kind", "status":
		case "metadata":
			c.annotations(meta)
		default:
			c.field("", name, v, false)
		}
	}
}

// lastApplied is the annotation with a copy of the object.
const lastApplied = "kubectl.kubernetes.io/last-applied-configuration"

// nameAnnotations are the beginnings of the annotations with names of objects and of components, by which tools
// find their objects.
var nameAnnotations = []string{
	"argocd.argoproj.io/tracking-id", "cert-manager.io/", "deployment.kubernetes.io/", "helm.sh/hook",
	"helm.toolkit.fluxcd.io/", "kustomize.toolkit.fluxcd.io/", "meta.helm.sh/", "pv.kubernetes.io/",
	"volume.beta.kubernetes.io/", "volume.kubernetes.io/",
}

func (c *collector) annotations(meta Object) {
	all, _ := meta["annotations"].(Object)
	for name, v := range all {
		if slices.ContainsFunc(nameAnnotations, func(begin string) bool { return strings.HasPrefix(name, begin) }) {
			continue
		}
		text, _ := v.(string)
		var copied Object
		if name == lastApplied && len(text) < maxContent && json.Unmarshal([]byte(text), &copied) == nil {
			delete(copied, "status")
			c.object(copied)
			continue
		}
		c.value(text)
	}
}

// field gathers the words of a field of an object, in the field in. below means that it is below a field
// with values.
func (c *collector) field(in, name string, v any, below bool) {
	if c.more {
		return
	}
	if meta, is := v.(Object); is && name == "metadata" && !below { // of a template
		c.annotations(meta)
		return
	}
	below = below || c.hasValues(name)
	switch v := v.(type) {
	case Object:
		for key, each := range v {
			c.field(name, key, each, below)
		}
	case []any:
		for _, each := range v {
			if text, is := each.(string); is {
				c.text(in, name, text, below)
			} else {
				c.field(in, name, each, below)
			}
		}
	case string:
		c.text(in, name, v, below)
	default:
		if below {
			c.number(v)
		}
	}
}

func (c *collector) text(in, name, text string, below bool) {
	switch {
	case below && !isName(in, name), name == "path" && strings.ContainsRune(text, '?'): // of a probe, with a token
		c.value(text)
	case strings.Contains(text, "://"):
		for _, at := range userInfo.FindAllStringSubmatch(text, maxReads) {
			c.value(at[1])
		}
	}
}

// userInfo matches the user and the password in a URL.
var userInfo = regexp.MustCompile(`://([^\s/?#]+)@`)

// number gathers a number as a word: a password may consist of digits.
func (c *collector) number(v any) {
	switch v := v.(type) {
	case int64:
		c.value(strconv.FormatInt(v, 10))
	case float64:
		c.value(strconv.FormatFloat(v, 'f', -1, 64))
	}
}

// decoded gathers the words of texts in base64.
func (c *collector) decoded(v any) {
	data, _ := v.(Object)
	for _, each := range data {
		text, _ := each.(string)
		if plain, err := base64.StdEncoding.DecodeString(text); err == nil {
			c.value(string(plain))
		}
	}
}

// isName reports whether a field has the name of an object or of a key, in place of a value.
func isName(in, name string) bool {
	switch name {
	case "name", "namespace", "kind", "apiVersion", "secretName":
		return true
	case "key", "valuesKey", "targetPath":
		return refers(in)
	}
	return refers(name)
}

// refers reports whether a field has the names of other objects.
func refers(name string) bool {
	return slices.Contains(referring, name) ||
		slices.ContainsFunc(references, func(end string) bool { return strings.HasSuffix(name, end) })
}

var (
	// references are the ends of the names of fields with the names of other objects, and referring are further ones.
	references = []string{
		"Ref", "Refs", "Reference", "References", "SecretName", "configMap", "ConfigMap", "configMapName",
		"ConfigMapName",
	}
	referring = []string{"valueFrom", "valuesFrom", "tolerations", "matchExpressions"}
	// valueFields are the fields with values in objects of every kind.
	valueFields = []string{
		"annotations", "args", "binaryData", "command", "data", "env", "headers", "httpHeaders", "options",
		"parameters", "stringData", "volumeAttributes",
	}
	// valueNames are parts of the names of fields with values in custom resources, in lower case.
	valueNames = []string{
		"argument", "config", "connection", "dsn", "header", "option", "override", "param", "setting", "values",
		"variable",
	}
)

// hasValues reports whether a field has values that messages must not show.
func (c *collector) hasValues(name string) bool {
	if slices.Contains(valueFields, name) || !c.custom {
		return slices.Contains(valueFields, name)
	}
	lower := strings.ToLower(name)
	return message.ConfidentialField(name) ||
		slices.ContainsFunc(valueNames, func(part string) bool { return strings.Contains(lower, part) })
}

// value gathers the words of a value.
func (c *collector) value(text string) {
	if c.content += len(text); c.content > maxContent || c.isFull() {
		c.more = true
		return
	}
	if begin := strings.TrimSpace(text); strings.HasPrefix(begin, "{") || strings.HasPrefix(begin, "[") {
		var v any
		if json.Unmarshal([]byte(text), &v) == nil {
			c.texts(v)
			return
		}
	}
	if strings.IndexFunc(text, unicode.IsSpace) < 0 {
		c.chunk(text, false)
		return
	}
	chunks := strings.Fields(text)
	if len(chunks) > 1 && len(text) <= maxWord {
		c.word(strings.Join(chunks, " "))
	}
	for _, chunk := range chunks {
		c.chunk(chunk, len(chunks) > 1)
	}
}

// isFull reports whether the object has too many different words. It removes repeated ones from time to time.
func (c *collector) isFull() bool {
	if len(c.all) <= 2*maxWords {
		return false
	}
	slices.SortFunc(c.all, word.compare)
	c.all = slices.Compact(c.all)
	return len(c.all) > maxWords
}

// files gathers the words of the content of a ConfigMap. Of a file with several lines, these are the values of
// settings, and the words that are more than letters: most others are words of any sentence.
func (c *collector) files(v any) {
	data, _ := v.(Object)
	for _, each := range data {
		file, _ := each.(string)
		if !strings.Contains(strings.TrimSpace(file), "\n") || json.Valid([]byte(file)) {
			c.value(file)
			continue
		}
		for line := range strings.Lines(file) {
			if at := setting.FindStringSubmatch(strings.TrimSpace(line)); at != nil {
				c.value(at[2])
				continue
			}
			c.value(strings.Join(unusual.FindAllString(line, -1), "\n"))
		}
	}
}

var (
	// setting matches a line of a file with a name and a value.
	setting = regexp.MustCompile(`^(?:export\s+|- )?["']?([A-Za-z_][A-Za-z0-9_.-]*)["']?\s*[:=]\s*(\S.*)$`)
	// unusual matches a word with another character than letters.
	unusual = regexp.MustCompile(`\S*[^\pL\s.,;:!?'"()\[\]-]\S*`)
)

// texts gathers the words of all texts in a value.
func (c *collector) texts(v any) {
	switch v := v.(type) {
	case Object:
		for _, each := range v {
			c.texts(each)
		}
	case []any:
		for _, each := range v {
			c.texts(each)
		}
	case string:
		if len(v) > 0 {
			c.value(v)
		}
	default:
		c.number(v)
	}
}

var (
	// flag matches a flag without a value, and assigned the name before a value.
	flag     = regexp.MustCompile(`^--[a-z][a-z-]*$`)
	assigned = regexp.MustCompile(`^-{0,2}[A-Za-z_][A-Za-z0-9_.-]*=`)
	// keyOf matches the key of a value in YAML.
	keyOf = regexp.MustCompile(`^[A-Za-z_][A-Za-z_./-]*:$`)
)

// quotes surround words, and separators are between them.
const (
	quotes     = `"'` + "`" + `,;()[]{}<>`
	separators = quotes + `=:&?@|\`
)

// nameIn returns the name and the sign at the beginning of an assignment, or "".
func nameIn(text string) string {
	if strings.IndexByte(text, '=') < 0 {
		return ""
	}
	return assigned.FindString(text)
}

// chunk gathers the words of a part without white space: the part, and its parts.
func (c *collector) chunk(text string, several bool) {
	if len(text) < minWord {
		return
	}
	if text[0] == '-' && flag.MatchString(text) || several && text[len(text)-1] == ':' && keyOf.MatchString(text) {
		return
	}
	text = strings.Trim(text, quotes)
	if name := nameIn(text); name != "" && len(name) < len(text) {
		value := strings.Trim(text[len(name):], quotes)
		if len(value) < minWord {
			c.word(text) // the value alone is too short
		}
		text = value
	}
	if strings.HasPrefix(text, "-") && !strings.HasPrefix(text, "--") {
		c.word(text[min(2, len(text)):])
	}
	c.word(text)
	apart := separators
	if !strings.HasPrefix(text, "/") && !strings.HasPrefix(text, "./") {
		apart += "/"
	}
	if strings.ContainsAny(text, apart) {
		for len(text) >= minWord {
			part := text
			if at := strings.IndexAny(text, apart); at >= 0 {
				part, text = text[:at], text[at+1:]
			} else {
				text = ""
			}
			c.word(part)
		}
	}
}

func (c *collector) word(text string) {
	if len(text) < minWord || len(text) > maxWord || slices.Contains(c.known, text) {
		return
	}
	c.buf = canonical(c.buf[:0], text)
	b := c.buf
	if len(b) < minWord {
		return
	}
	letters := true
	for _, x := range b {
		letters = letters && x >= 'a' && x <= 'z'
	}
	c.all = append(c.all, word{
		sum: c.key.sum(b), head: c.key.head(b), letters: letters,
		size: uint16(min(len(b), math.MaxUint16)),
	})
}
