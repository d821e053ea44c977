package expr

import (
	"cel.dev/cel-go/cel"
	"cel.dev/cel-go/common/types"

	"github.com/wexec/wexec/internal/jsonschema"
)

// schemaTypes maps schemas to CEL types. What is not certain becomes dyn, which
// matches everything.
type schemaTypes map[string]*objectType

const (
	maxSchemaDepth = 12
	maxSchemaTypes = 500
)

// object returns the type of an object with known fields, or nil.
func (s schemaTypes) object(n *jsonschema.Schema, name string, depth int) *types.Type {
	n = n.Target()
	if n == nil || n.Properties == nil || depth > maxSchemaDepth || len(s) >= maxSchemaTypes {
		return nil
	}
	if n.Additional != nil && !n.Additional.Never || n.Patterns != nil || n.AllOf != nil || n.AnyOf != nil || n.OneOf != nil || n.If != nil {
		return nil
	}
	t := &objectType{cel: cel.ObjectType("wexec." + name), fields: map[string]objectField{}}
	s["wexec."+name] = t
	for _, field := range n.Names {
		t.fields[field] = objectField{cel: s.typ(n.Properties[field], name+"."+field, depth+1)}
	}
	return t.cel
}

func (s schemaTypes) typ(n *jsonschema.Schema, name string, depth int) *types.Type {
	if n = n.Target(); n == nil || depth > maxSchemaDepth || n.AnyOf != nil || n.OneOf != nil || n.AllOf != nil {
		return cel.DynType
	}
	switch n.Types {
	case jsonschema.String:
		return cel.StringType
	case jsonschema.Integer:
		return cel.IntType
	case jsonschema.Boolean:
		return cel.BoolType
	case jsonschema.Array:
		return cel.ListType(s.typ(n.Items, name+".items", depth+1))
	case jsonschema.Object:
		if t := s.object(n, name, depth); t != nil {
			return t
		}
		return cel.MapType(cel.StringType, cel.DynType)
	}
	return cel.DynType // a number is an int or a double, as its value is
}
