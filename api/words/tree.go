package words

import (
	"slices"
	"strconv"
	"strings"
	"text/template/parse"
)

var (
	// attributes are those whose values people read or hear.
	attributes = []string{"aria-label", "title", "placeholder", "alt", "data-label", "data-say"}
	// inline are elements that stand within a sentence.
	inline = []string{"a", "strong", "em", "code", "kbd", "span", "bdi", "b"}
	// verbatim are elements whose text is no language.
	verbatim = []string{"code", "kbd", "pre"}
	// splitting are functions whose values are no words of a sentence.
	splitting = []string{"icon"}
	// counting are functions whose arguments are the texts for one and for several.
	counting = []string{"plural"}
	// partial are templates that are a part of a tag.
	partial = []string{"class", "invalid", "domain-invalid", "qr-described", "wrong"}
)

// Keys returns the keys of a template's tree, each once.
func Keys(tree *parse.Tree) (keys []string) {
	c := Every(func(key string) string {
		if !slices.Contains(keys, key) {
			keys = append(keys, key)
		}
		return key
	})
	c.Translate(tree.Copy())
	return keys
}

// Translate puts the texts of c into a template's tree; nil: of a template that is not there.
func (c *Catalog) Translate(tree *parse.Tree) {
	if c != nil && tree != nil && !slices.Contains(partial, tree.Name) {
		c.list(tree.Root, &place{})
	}
}

// A place is where HTML is: in text, in a tag, or in the value of an attribute.
type place struct {
	where    where
	name     string // of the tag, while it is read, or of the attribute
	tag      string // of the tag
	verbatim string // the element, if its text is no language
}

type where uint8

const (
	inText where = iota
	inTag
	inValue // between quotation marks
)

// read reports whether people read what is at p.
func (p *place) read() bool {
	return p.where == inText && p.verbatim == "" || p.where == inValue && slices.Contains(attributes, p.name)
}

// A part of a run is a text, or what is a hole of the key: a value, or a tag within a sentence.
type part struct {
	text  *parse.TextNode
	value []parse.Node
	depth int // 1: the tag begins an element, -1: it ends one
}

// A run is the parts of one key.
type run struct {
	catalog *Catalog
	parts   []part
	tag     *part // within a sentence, which is read at present; nil: none
	value   *run  // of an attribute of that tag that people read; nil: none
	out     []parse.Node
}

// list translates a list that begins at p, and moves p to its end.
func (c *Catalog) list(l *parse.ListNode, p *place) {
	if l == nil {
		return
	}
	r := run{catalog: c}
	for _, node := range l.Nodes {
		switch n := node.(type) {
		case *parse.TextNode:
			r.text(n, p)
		case *parse.ActionNode:
			r.action(n, p)
		default:
			c.branches(n, *p)
			r.endText(p)
			r.put(n)
		}
	}
	if r.tag != nil { // a tag that ends in another template
		r.parts, r.tag = append(r.parts, *r.tag), nil
	}
	r.end(p)
	l.Nodes = r.out
}

// branches translates what is inside a node. All branches begin and end at one place, as html/template asks for.
func (c *Catalog) branches(node parse.Node, p place) {
	var b *parse.BranchNode
	switch n := node.(type) {
	case *parse.IfNode:
		b = &n.BranchNode
	case *parse.RangeNode:
		b = &n.BranchNode
	case *parse.WithNode:
		b = &n.BranchNode
	default:
		return
	}
	for _, l := range []*parse.ListNode{b.List, b.ElseList} {
		begin := p
		c.list(l, &begin)
	}
}

// put takes a node that is no text for people.
func (r *run) put(n parse.Node) {
	switch {
	case r.value != nil:
		r.value.out = append(r.value.out, n)
	case r.tag != nil:
		r.tag.value = append(r.tag.value, n)
	default:
		r.out = append(r.out, n)
	}
}

// endText ends the text that is read at present, which may be the value of an attribute of a tag within a sentence.
func (r *run) endText(p *place) {
	switch {
	case r.value != nil:
		r.value.end(p)
	case r.tag == nil:
		r.end(p)
	}
}

// action takes an action: a value of the run, or its end.
func (r *run) action(n *parse.ActionNode, p *place) {
	name := r.function(n)
	switch {
	case !p.read() && p.where == inText && len(r.parts) > 0:
		r.parts = append(r.parts, part{value: []parse.Node{n}}) // in <code> within a sentence
	case p.read() && len(n.Pipe.Decl) == 0 && !slices.Contains(splitting, name) && r.value != nil:
		r.value.parts = append(r.value.parts, part{value: []parse.Node{n}})
	case p.read() && len(n.Pipe.Decl) == 0 && !slices.Contains(splitting, name) && r.tag == nil:
		r.parts = append(r.parts, part{value: []parse.Node{n}})
	default:
		r.endText(p)
		r.put(n)
	}
}

// function returns the last function of an action, and tells the catalog the texts of a count.
func (r *run) function(n *parse.ActionNode) (name string) {
	for _, cmd := range n.Pipe.Cmds {
		id, ok := cmd.Args[0].(*parse.IdentifierNode)
		if !ok {
			continue
		}
		name = id.Ident
		if !slices.Contains(counting, name) || r.catalog.every == nil {
			continue
		}
		for _, arg := range cmd.Args[1:] {
			if s, ok := arg.(*parse.StringNode); ok {
				r.catalog.of(s.Text)
			}
		}
	}
	return name
}

// text takes HTML.
func (r *run) text(n *parse.TextNode, p *place) {
	from := 0
	cut := func(to int, read bool) {
		if from < to {
			r.take(like(n, string(n.Text[from:to])), read, p)
		}
		from = to
	}
	for i := 0; i < len(n.Text); i++ {
		b := n.Text[i]
		switch {
		case p.where == inText && b == '<':
			cut(i, p.read())
			r.beginTag(tagAt(n.Text[i+1:]), p)
		case p.where == inTag && b == '>':
			cut(i+1, false)
			r.endTag(p)
		case p.where == inTag && b == '"':
			cut(i+1, false)
			p.where = inValue
			if r.tag != nil && p.read() {
				r.value = &run{catalog: r.catalog}
			}
		case p.where == inTag && (b == ' ' || b == '\n'):
			p.name = ""
		case p.where == inTag && b != '=':
			p.name += string(b)
		case p.where == inValue && b == '"':
			cut(i, p.read())
			r.endValue(p)
			p.where, p.name = inTag, ""
		}
	}
	cut(len(n.Text), p.read())
}

// take takes a piece of HTML.
func (r *run) take(n *parse.TextNode, read bool, p *place) {
	switch {
	case r.value != nil:
		r.value.parts = append(r.value.parts, part{text: n})
	case read:
		r.parts = append(r.parts, part{text: n})
	case p.where == inText && len(r.parts) > 0: // verbatim, within a sentence
		r.parts = append(r.parts, part{value: []parse.Node{n}})
	default:
		r.put(n)
	}
}

// endValue ends the value of an attribute.
func (r *run) endValue(p *place) {
	if !p.read() {
		return
	}
	r.endText(p)
	if r.value != nil {
		r.tag.value, r.value = append(r.tag.value, r.value.out...), nil
	}
}

// tagAt returns the name of the tag that begins before html, with a slash if it ends an element.
func tagAt(html []byte) string {
	text := string(html)
	if i := strings.IndexAny(text, " \n>"); i >= 0 {
		text = text[:i]
	}
	return text
}

func (r *run) beginTag(tag string, p *place) {
	name := strings.TrimPrefix(tag, "/")
	if slices.Contains(inline, name) {
		depth := 1
		if name != tag {
			depth = -1
		}
		r.tag = &part{depth: depth}
	} else {
		r.end(p)
	}
	p.where, p.tag, p.name = inTag, tag, ""
}

func (r *run) endTag(p *place) {
	p.where = inText
	switch name := strings.TrimPrefix(p.tag, "/"); {
	case p.verbatim == "" && name == p.tag && slices.Contains(verbatim, name):
		p.verbatim = name
	case p.verbatim == name && name != p.tag:
		p.verbatim = ""
	}
	if r.tag != nil {
		r.parts, r.tag = append(r.parts, *r.tag), nil
	}
}

func like(n *parse.TextNode, text string) *parse.TextNode {
	node := n.Copy().(*parse.TextNode)
	node.Text = []byte(text)
	return node
}

// end translates the run, and begins the next. A run is one key if it has words outside the elements in it. Else each
// of these elements has a key of its own.
func (r *run) end(p *place) {
	parts := r.parts
	r.parts = nil
	for len(parts) > 0 {
		n := len(parts)
		if !isSentence(parts) {
			n = slices.IndexFunc(parts, func(q part) bool { return q.depth != 0 })
			switch n {
			case 0:
				r.out = append(r.out, parts[0].value...)
				parts = parts[1:]
				continue
			case -1:
				n = len(parts)
			}
		}
		r.key(parts[:n], p)
		parts = parts[n:]
	}
}

// isSentence reports whether parts have words outside the elements in them, and all elements begin and end there.
func isSentence(parts []part) bool {
	depth, words := 0, false
	for _, q := range parts {
		if depth += q.depth; depth < 0 {
			return false
		}
		words = words || depth == 0 && q.text != nil && isText(string(q.text.Text))
	}
	return words && depth == 0
}

// key translates parts.
func (r *run) key(parts []part, p *place) {
	var text strings.Builder
	var values [][]parse.Node
	var origin *parse.TextNode
	for _, q := range parts {
		if q.text != nil {
			text.Write(q.text.Text)
			origin = q.text
			continue
		}
		text.WriteString("{" + strconv.Itoa(len(values)) + "}")
		values = append(values, q.value)
	}
	whole := spaces.ReplaceAllString(text.String(), " ")
	key := keyOf(whole)
	said := key
	if origin != nil && isText(key) {
		said = r.catalog.of(key)
	}
	if said == key { // byte for byte as it was
		for _, q := range parts {
			if q.text != nil {
				r.out = append(r.out, q.text)
			} else {
				r.out = append(r.out, q.value...)
			}
		}
		return
	}
	if p.where == inValue {
		said = strings.ReplaceAll(said, `"`, "&#34;")
	}
	r.fill(strings.Replace(whole, key, said, 1), values, origin)
}

// fill puts out a translation with its values.
func (r *run) fill(said string, values [][]parse.Node, origin *parse.TextNode) {
	at := 0
	put := func(to int) {
		if at < to {
			r.out = append(r.out, like(origin, said[at:to]))
		}
	}
	for _, m := range hole.FindAllStringSubmatchIndex(said, -1) {
		put(m[0])
		if n, _ := strconv.Atoi(said[m[2]:m[3]]); n < len(values) {
			for _, v := range values[n] {
				r.out = append(r.out, v.Copy())
			}
		}
		at = m[1]
	}
	put(len(said))
}
