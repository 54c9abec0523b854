// Package constrain compiles constraints on a text (JSON Schema, arguments of tool calls, regular
// expressions, lists of choices, and sequences of these) to automata over tokens, whose masks say which tokens may
// come next.
//
// A [Compiler] belongs to one vocabulary and caches the grammars it compiles. A [Grammar] gives
// out a [State], which is asked for its mask and moved token by token:
//
//	g, err := compiler.Compile(constrain.JSONSchema(schema, constrain.WhitespaceNone))
//	s := g.Start()
//	mask = s.Mask(mask)          // sample a token among those
//	err = s.Accept(token)
//
// Tokens are judged by their bytes: one may span several parts of a grammar, and a character
// may be split over several. A token is allowed exactly when the text so far, with it, can still
// be completed. The tokens that end a text are allowed exactly when it is complete; nothing,
// not even white space, may follow a complete text that cannot go on.
//
// # JSON Schema
//
// The dialect is 2020-12; the parts of drafts 6, 7 and 2019-09 that mean the same are read too.
// Supported keywords:
//
//   - type, enum, const
//   - minLength, maxLength, pattern (RE2 syntax, searched for as the specification says), format
//   - minimum, maximum, exclusiveMinimum, exclusiveMaximum, multipleOf
//   - properties, required, additionalProperties, patternProperties, propertyNames,
//     minProperties, maxProperties
//   - prefixItems, items, minItems, maxItems
//   - dependentRequired, dependentSchemas
//   - allOf, anyOf, oneOf, not, $ref inside the document (pointers and anchors, recursion), $defs,
//     and true and false as schemas
//
// Annotations (title, description, default, examples and their like, and names that start
// with x-) are skipped. Everything else is ErrUnsupported, with the keyword and its JSON pointer,
// where the schema can reach it. As the specification says, a schema without type allows values
// of every type, and properties that are not listed are allowed unless additionalProperties
// says otherwise.
//
// oneOf is supported where no two alternatives can hold at once, and not where its schema names
// types alone or cannot hold anyway, which is checked on the compiled grammars. The formats date, time, date-time, duration, email, hostname, ipv4, ipv6, uri and uuid
// are enforced, in a form that may be narrower than the format; others are refused.
//
// What is written is narrower than what the schema allows, so that a model finds its way:
//
//   - known properties come in the schema's order, others behind them, no name twice among
//     the known ones;
//   - without white space, or as [Whitespace] says;
//   - whole numbers of the type integer without fraction and exponent; numbers with bounds or
//     multipleOf without exponent; at most 30 digits on each side of the point (more before it if
//     a bound has more) and two of the exponent;
//   - strings under pattern, format, enum and const, and the names of properties where any are
//     treated specially, with only the escapes that JSON requires; all other strings with
//     every valid escape, and never a lone surrogate;
//   - values of enum and const in compact form.
//
// # Arguments
//
// [Arguments] writes the arguments of a tool call in the [Notation] of formats that do not use one
// JSON object for them. It takes the same schemas, with these differences: only the properties that
// the schema lists are written; a name that the notation cannot spell is ErrUnsupported; no string
// holds the notation's mark; and with ValuesText a string is never written that a reader, who tries
// the types that the argument's schema names, would take for one of the others.
package constrain
