package wire

// ShapeOf tells which shape the body of a request has, for servers that take several on one path:
// questions in an object, or a state, are System One; a list whose first question has an id, a
// question or the type yes_no is SGLang's; any other list is OpenAI's. It does not say that the body
// is right. The error is an Error for what is no JSON object with questions.
func ShapeOf(body []byte) (Shape, error) {
	root, err := scan(body, Limits{Body: maxBody, Depth: maxDepth})
	if err != nil {
		return 0, err
	}
	var state, questions node
	if err := root.fields(map[string]*node{"state": &state, "questions": &questions}, ignore); err != nil {
		return 0, err
	}
	if state.kind() != ' ' || questions.kind() == '{' {
		return SystemOneShape, nil
	}
	if err := questions.want("[", "an object or an array"); err != nil {
		return 0, err
	}
	for _, first := range questions.elements() {
		for key, v := range first.members() {
			if key == "id" || key == "question" || (key == "type" && v.text == `"yes_no"`) {
				return SGLangShape, nil
			}
		}
		break
	}
	return OpenAIShape, nil
}
